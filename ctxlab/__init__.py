"""ctxlab: what to send an LLM this turn, what to keep, what it costs, and why the cache died.

Public names load on first use, so that ``import ctxlab`` costs next to nothing. This file parses on any
Python, so that ``python -m ctxlab`` can say which one it needs.
"""

__version__ = "0.1.0"

# public name -> module that defines it
_HOME = {
    "Bill": "cost",
    "CacheRules": "cache",
    "Call": "cost",
    "Emulator": "emulator",
    "Finding": "breakers",
    "Layout": "cache",
    "ManualClock": "clock",
    "Model": "catalogue",
    "Problem": "errors",
    "Prompt": "prompt",
    "PromptCache": "cache",
    "SystemClock": "clock",
    "Usage": "usage",
    "assert_prefix_stable": "report",
    "bill": "cost",
    "bill_session": "cost",
    "break_evens": "cost",
    "check_images": "images",
    "compare": "breakers",
    "count": "tokens",
    "doubling_factor": "cost",
    "exchange": "recordings",
    "exchanges": "recordings",
    "extend": "prompt",
    "first_difference": "prompt",
    "fit_growth": "cost",
    "get_model": "catalogue",
    "history_input_tokens": "cost",
    "image_tokens": "images",
    "models": "catalogue",
    "read_log": "recordings",
    "repair": "validity",
    "scan_request": "breakers",
    "scan_source": "breakers",
    "session": "recordings",
    "sessions": "recordings",
    "stabilise": "breakers",
    "stretches": "cost",
    "watch": "diagnose",
    "what_if": "cost",
}

TYPE_CHECKING = False
if TYPE_CHECKING:  # the same names for type checkers and editors; a test keeps the two lists equal
    from ctxlab.breakers import Finding as Finding
    from ctxlab.breakers import compare as compare
    from ctxlab.breakers import scan_request as scan_request
    from ctxlab.breakers import scan_source as scan_source
    from ctxlab.breakers import stabilise as stabilise
    from ctxlab.cache import CacheRules as CacheRules
    from ctxlab.cache import Layout as Layout
    from ctxlab.cache import PromptCache as PromptCache
    from ctxlab.catalogue import Model as Model
    from ctxlab.catalogue import get_model as get_model
    from ctxlab.catalogue import models as models
    from ctxlab.clock import ManualClock as ManualClock
    from ctxlab.clock import SystemClock as SystemClock
    from ctxlab.cost import Bill as Bill
    from ctxlab.cost import Call as Call
    from ctxlab.cost import bill as bill
    from ctxlab.cost import bill_session as bill_session
    from ctxlab.cost import break_evens as break_evens
    from ctxlab.cost import doubling_factor as doubling_factor
    from ctxlab.cost import fit_growth as fit_growth
    from ctxlab.cost import history_input_tokens as history_input_tokens
    from ctxlab.cost import stretches as stretches
    from ctxlab.cost import what_if as what_if
    from ctxlab.diagnose import watch as watch
    from ctxlab.emulator import Emulator as Emulator
    from ctxlab.errors import Problem as Problem
    from ctxlab.images import check_images as check_images
    from ctxlab.images import image_tokens as image_tokens
    from ctxlab.prompt import Prompt as Prompt
    from ctxlab.prompt import extend as extend
    from ctxlab.prompt import first_difference as first_difference
    from ctxlab.recordings import exchange as exchange
    from ctxlab.recordings import exchanges as exchanges
    from ctxlab.recordings import read_log as read_log
    from ctxlab.recordings import session as session
    from ctxlab.recordings import sessions as sessions
    from ctxlab.report import assert_prefix_stable as assert_prefix_stable
    from ctxlab.tokens import count as count
    from ctxlab.usage import Usage as Usage
    from ctxlab.validity import repair as repair


def __getattr__(name):
    # type: (str) -> object
    import importlib

    if name in _HOME:
        return getattr(importlib.import_module("ctxlab." + _HOME[name]), name)
    if not name.startswith("_"):
        module = "ctxlab." + name
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            # a module that exists and misses something of its own must say what it misses
            if error.name != module:
                raise
    raise AttributeError("module 'ctxlab' has no attribute %r" % (name,))


def __dir__():
    # type: () -> list[str]
    return sorted(list(globals()) + list(_HOME))
