"""The commands that find prefix breakers: ``ctxlab lint``, ``ctxlab diff`` and ``ctxlab diagnose``.

Models: words to a :class:`~ctxlab.report.Report`, and the report to a stream or a file, in one of three
formats.
Does not model: the grammar of the words (:mod:`ctxlab.cli`), finding (:mod:`ctxlab.breakers`,
:mod:`ctxlab.diagnose`), formats (:mod:`ctxlab.report`).
"""
