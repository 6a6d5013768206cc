"""Surroundings of every test run: notebooks import this clone, and answers end with their kernel.

Without the second, a notebook run by nbval would find the record of the run before and say so.
Property tests have no deadline (seconds are for benchmarks), and CI draws the same examples every time.
"""

import os
from pathlib import Path

from hypothesis import settings

settings.register_profile("ctxlab", deadline=None, database=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("ctxlab")

_ROOT = str(Path(__file__).resolve().parent)
_LISTED = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]

os.environ["CTXLAB_RECORD"] = ":memory:"
os.environ["PYTHONPATH"] = os.pathsep.join([_ROOT, *(place for place in _LISTED if place != _ROOT)])
