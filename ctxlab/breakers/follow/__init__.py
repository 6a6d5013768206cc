"""Values of a Python module followed into the requests it writes.

Models: one module, read in the order it would run. Does not model: files, notebooks, findings (see
:mod:`ctxlab.breakers.source`).
"""
