"""The page each notebook leaves behind: the lesson's question, asked of the learner's own files.

Models: reading one request or one folder of logs, and a short Markdown page of counts, shares and digests.
One module per page, and three they share: ``files`` (what is read and written), ``logs`` (the messages of a
log), ``markdown`` (the layout).
Does not model: text. None is shown, none is written, and nothing leaves the machine.
"""

from ctxlab.takeaways.bill_page import bill_page
from ctxlab.takeaways.break_even_sheet import break_even_sheet
from ctxlab.takeaways.image_check import image_check
from ctxlab.takeaways.marker_plan import marker_plan
from ctxlab.takeaways.prefix_guard import prefix_guard
from ctxlab.takeaways.true_bill_page import true_bill_page
from ctxlab.takeaways.window_map import window_map

__all__ = [
    "bill_page",
    "break_even_sheet",
    "image_check",
    "marker_plan",
    "prefix_guard",
    "true_bill_page",
    "window_map",
]
