"""ctxlab: what to send an LLM this turn, what to keep, what it costs, and why the cache died.

Public names load on first use, so that ``import ctxlab`` costs next to nothing. This file parses on any
Python, so that ``python -m ctxlab`` can say which one it needs.
"""

__version__ = "0.1.0"

# public name -> module that defines it (filled per room; see the README's table of modules)
_HOME = {}  # type: dict[str, str]


def __getattr__(name: str) -> object:
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


def __dir__() -> "list[str]":
    return sorted(list(globals()) + list(_HOME))
