"""Untyped JSON, taken apart with every fault collected on the way.

Models: what has to be an object, a list, a string or a key; values as JSON text; the first faults in full.
Does not model: what the fields mean (:mod:`ctxlab.prompt.reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxlab.errors import InvalidRequestError, Problem
from ctxlab.prompt.canonical import in_utf8, sent_json, unencodable, wrong_key
from ctxlab.prompt.objects import fix_for_a_list, is_list, is_sdk_object, kind_of, plain

_MAX_PROBLEMS = 20


class Checked:
    """Takes untyped JSON apart and collects everything that is wrong before stopping."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self.found = 0

    def problem(self, path: str, rule: str, message: str, fix: str = "") -> None:
        """Note a fault by its parts."""
        self.add(Problem(path, rule, message, fix))

    def add(self, found: Problem) -> None:
        """Note a fault; past the first twenty they are only counted."""
        self.found += 1
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(found)

    def stop_on_problems(self) -> None:
        """Raise :class:`InvalidRequestError` with what was noted, if anything was."""
        if self._problems:
            raise InvalidRequestError(self._problems)

    def mapping(self, value: Any, path: str, fix: str = "pass a dict or an SDK object") -> Mapping[str, Any]:
        """An object as a mapping; empty where it is none, which is a problem."""
        if type(value) is dict:
            return value
        if not isinstance(value, Mapping) and is_sdk_object(value):
            try:
                value = plain(value, path)
            except InvalidRequestError as error:
                self.add(error.problems[0])
                return {}
        if isinstance(value, Mapping):
            return value
        self.problem(path, "object", f"is {kind_of(value)}, not an object", fix)
        return {}

    def listed(self, value: Any, path: str) -> Sequence[Any]:
        """A list; empty where it is none, which is a problem."""
        if is_list(value):
            return list(value)
        self.problem(path, "list", f"is {kind_of(value)}, not a list", fix_for_a_list(value))
        return ()

    def string(self, body: Mapping[str, Any], field: str, path: str, rule: str, what: str, fix: str) -> str:
        """A field that has to be there and say something; empty where it does not."""
        value = body.get(field)
        if type(value) is str and value and value.isascii():
            return value
        if isinstance(value, str) and value:
            return self.text(value, f"{path}.{field}")
        told = "is missing" if field not in body else "is empty" if value == "" else f"is {kind_of(value)}"
        self.problem(f"{path}.{field}", rule, told + (f", not {what}" if value else ""), fix)
        return ""

    def text(self, value: str, path: str) -> str:
        """A string as JSON has it: of no class of its own (members of enumerations), and in UTF-8."""
        value = str.__str__(value)
        if not value.isascii():
            self.encoded(value, path, sent_json)
        return value

    def is_key(self, key: Any, path: str) -> bool:
        """Whether a key is text that JSON can hold; where it is not, that is a problem."""
        if type(key) is str and key.isascii():
            return True
        found = next(wrong_key(key, path), None)
        if found is not None:
            self.add(found)
        return found is None

    def encoded(self, value: Any, path: str, encode: Callable[[Any], str]) -> str:
        """JSON text that UTF-8 can hold; what cannot be written is a problem and stands as ``null``."""
        try:
            return in_utf8(encode(value))
        except (TypeError, ValueError, RecursionError) as error:
            unnamed = Problem(path, "json", f"cannot be written as JSON ({error})")
        found = next(unencodable(value, path), None)
        if found is None:  # objects that JSON's encoder does not know were in the way
            try:
                sent = plain(value, path)
                found = next(unencodable(sent, path), None)
                if found is None:
                    return in_utf8(encode(sent))
            except InvalidRequestError as error:
                found = error.problems[0]
            except (TypeError, ValueError, RecursionError):
                found = unnamed
        self.add(found)
        return "null"
