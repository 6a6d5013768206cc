"""What breaks a cached prefix, found before and after it costs money.

Models: one :class:`Finding` type and its codes.
Does not model: why a particular call missed (see :mod:`ctxlab.diagnose`), floors of source code, anything
that needs the API.
"""

from ctxlab.breakers.finding import BREAKERS as BREAKERS
from ctxlab.breakers.finding import Breaker as Breaker
from ctxlab.breakers.finding import Certainty as Certainty
from ctxlab.breakers.finding import Finding as Finding
from ctxlab.breakers.finding import any_confirmed as any_confirmed
from ctxlab.breakers.finding import finding as finding
