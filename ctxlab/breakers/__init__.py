"""What breaks a cached prefix, found before and after it costs money.

Models: one :class:`Finding` type and its codes.
Does not model: why a particular call missed (see :mod:`ctxlab.diagnose`), floors of source code, anything
that needs the API.
"""

from ctxlab.breakers.dumps import DumpDifference as DumpDifference
from ctxlab.breakers.dumps import sorted_dump_difference as sorted_dump_difference
from ctxlab.breakers.finding import BREAKERS as BREAKERS
from ctxlab.breakers.finding import Breaker as Breaker
from ctxlab.breakers.finding import Certainty as Certainty
from ctxlab.breakers.finding import Finding as Finding
from ctxlab.breakers.finding import any_confirmed as any_confirmed
from ctxlab.breakers.finding import finding as finding
from ctxlab.breakers.request import scan_request as scan_request
from ctxlab.breakers.sequence import Comparison as Comparison
from ctxlab.breakers.sequence import compare as compare
from ctxlab.breakers.source import Scan as Scan
from ctxlab.breakers.source import SourceError as SourceError
from ctxlab.breakers.source import scan_source as scan_source
from ctxlab.breakers.source import scan_text as scan_text
from ctxlab.breakers.stabilise import Stabilised as Stabilised
from ctxlab.breakers.stabilise import stabilise as stabilise
from ctxlab.breakers.suppressions import Suppression as Suppression
from ctxlab.breakers.suppressions import suppressions as suppressions
