"""Why a call read from the prompt cache what it read: three steps, cheap ones first, and a verdict each.

Models: counters; times, markers, floors and parameters; bytes in render order. Over lists of calls
(:func:`diagnose`), and live on a client of the SDK (:func:`watch`).
Does not model: what breaks a prefix in source code or in one request (:mod:`ctxlab.breakers`).
Source: both documents' part on diagnosing a dead cache; each module names its own.

    diagnose([Exchange(request, answer, started_s, responded_s), …])[1].verdict
    client = watch(client, live=True)
"""

from ctxlab.diagnose.counters import COUNTER_TABLE as COUNTER_TABLE
from ctxlab.diagnose.counters import Counters as Counters
from ctxlab.diagnose.counters import counters as counters
from ctxlab.diagnose.diagnosing import diagnose as diagnose
from ctxlab.diagnose.exchange import Exchange as Exchange
from ctxlab.diagnose.exchange import from_recording as from_recording
from ctxlab.diagnose.exchange import from_session as from_session
from ctxlab.diagnose.reasons import CacheMissReason as CacheMissReason
from ctxlab.diagnose.sketch import Sketch as Sketch
from ctxlab.diagnose.verdicts import VERDICTS as VERDICTS
from ctxlab.diagnose.verdicts import Cause as Cause
from ctxlab.diagnose.verdicts import Diagnosis as Diagnosis
from ctxlab.diagnose.verdicts import Verdict as Verdict
from ctxlab.diagnose.views import Views as Views
from ctxlab.diagnose.views import compare_bytes as compare_bytes
from ctxlab.diagnose.watched import Watched as Watched
from ctxlab.diagnose.watching import watch as watch
