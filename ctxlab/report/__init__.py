"""Findings for people and for programs: text, JSON, SARIF, a baseline, and two requests drawn as strips.

Models: one :class:`Report`, which every command that finds breakers fills and every format prints; the exit
code that follows from it; fingerprints that survive a move of lines; the two strips of a broken prefix.
Does not model: how a breaker is found (:mod:`ctxlab.breakers`), or the words of the command line.
"""

from ctxlab.report.baseline import Baseline as Baseline
from ctxlab.report.places import Sources as Sources
from ctxlab.report.result import Report as Report
from ctxlab.report.result import Withheld as Withheld
from ctxlab.report.stability import assert_prefix_stable as assert_prefix_stable
from ctxlab.report.stability import unstable as unstable
from ctxlab.report.strips import drawn as drawn
