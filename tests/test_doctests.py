"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import ctxlab

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(ctxlab.__path__, "ctxlab.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    examples = (doctest.DocTestFinder().find(importlib.import_module(name)) for name in MODULES)
    assert sum(len(one.examples) for found in examples for one in found) >= len(MODULES)
