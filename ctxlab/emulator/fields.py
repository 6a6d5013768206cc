"""What a body may hold, read off the SDK's own parameter types.

Models: required fields, unknown fields, types, literals, the blocks, tools and sources that a ``type``
tells apart, with the dotted path and the wording of the API's validation errors
(``messages.0.content.1.text.foo: Extra inputs are not permitted``).
Does not model: ranges, patterns and everything that looks at two fields at once
(:mod:`ctxlab.emulator.checks`).

The types are TypedDicts whose lists are annotated ``Iterable`` and whose files may be paths; on the wire
the first is an array and the second a base64 string. A pydantic adapter over them leaves the arrays
unchecked and lets unknown fields pass, so the annotations are walked here.
Source: anthropic SDK 2.14.0, types/. Wordings: recorded and reported errors (``messages.0: Input does not
match the expected shape.``, ``tools.0: Input tag 'x' found using 'type' …``), 2024-09 to 2026-11; the order
in which several faults are found is ours.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple


class Fault(NamedTuple):
    """The first thing wrong with a body: where (dotted) and what."""

    path: str
    says: str

    def __str__(self) -> str:
        return f"{self.path}: {self.says}"


Check = Callable[[Any, str], Fault | None]

EXTRA = "Extra inputs are not permitted"


def fields_of(declared: type, leave_out: Collection[str] = ()) -> dict[str, tuple[bool, Check]]:
    """Name to (required, check) of one of the SDK's TypedDicts.

    >>> from anthropic.types import DiagnosticsParam
    >>> required, check = fields_of(DiagnosticsParam)["previous_message_id"]
    >>> required, check(None, "diagnostics.previous_message_id"), check(3, "id").says
    (False, None, 'Input should be a valid string')
    """
    import typing_extensions

    found = {}
    for name, hint in typing_extensions.get_type_hints(declared, include_extras=True).items():
        if name not in leave_out:
            # the classes are built from strings, so that their __required_keys__ are empty
            found[name] = (_is_required(hint), check_for(_bare(hint)))
    return found


def check_object(fields: Mapping[str, tuple[bool, Check]], *, more: bool = False) -> Check:
    """A check of an object against ``fields``; ``more`` lets other fields pass."""

    def check(value: Any, path: str) -> Fault | None:
        if not isinstance(value, dict):
            return Fault(path, "Input should be an object")
        for name, (required, check_field) in fields.items():
            if name in value:
                fault = check_field(value[name], _under(path, name))
                if fault is not None:
                    return fault
            elif required:
                return Fault(_under(path, name), "Field required")
        if not more:
            for name in value:
                if name not in fields:
                    return Fault(_under(path, name), EXTRA)
        return None

    return check


@cache
def check_for(hint: Any) -> Check:
    """The check of one annotation (without ``Required``)."""
    import typing_extensions

    if hint is Any or hint is object:
        return _anything
    if hint in _PLAIN:
        return _PLAIN[hint]
    if typing_extensions.is_typeddict(hint):
        return _typed_dict(hint)
    origin = typing_extensions.get_origin(hint)
    arguments = typing_extensions.get_args(hint)
    if origin is typing.Annotated:
        return check_for(arguments[0])
    if origin is Literal:
        return _one_of(arguments)
    if origin is typing.Union or isinstance(hint, types.UnionType):
        return _union(arguments)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(check_for(arguments[1]))
    if origin is not None and issubclass(origin, Iterable):
        return _listed(check_for(arguments[0]))
    raise TypeError(f"no check for {hint!r}: the SDK has an annotation this version does not know")


def _is_required(hint: Any) -> bool:
    import typing_extensions

    origin: Any = typing_extensions.get_origin(hint)
    return origin is typing_extensions.Required


def _bare(hint: Any) -> Any:
    import typing_extensions

    while typing_extensions.get_origin(hint) in (typing_extensions.Required, typing_extensions.NotRequired):
        hint = typing_extensions.get_args(hint)[0]
    return hint


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _anything(value: Any, path: str) -> Fault | None:
    return None


def _plain(kinds: type | tuple[type, ...], says: str, *, but_not: type | None = None) -> Check:
    def check(value: Any, path: str) -> Fault | None:
        if isinstance(value, kinds) and not (but_not and isinstance(value, but_not)):
            return None
        return Fault(path, says)

    return check


# bool is an int to Python and not to JSON
_PLAIN: dict[Any, Check] = {
    str: _plain(str, "Input should be a valid string"),
    int: _plain(int, "Input should be a valid integer", but_not=bool),
    float: _plain((int, float), "Input should be a valid number", but_not=bool),
    bool: _plain(bool, "Input should be a valid boolean"),
}


def _one_of(values: tuple[Any, ...]) -> Check:
    *first, last = [f"'{value}'" if isinstance(value, str) else str(value).lower() for value in values]
    says = f"Input should be {', '.join(first)} or {last}" if first else f"Input should be {last}"

    def check(value: Any, path: str) -> Fault | None:
        # True == 1, so the type is compared too
        if any(value == one and type(value) is type(one) for one in values):
            return None
        return Fault(path, says)

    return check


def _listed(check_item: Check) -> Check:
    def check(value: Any, path: str) -> Fault | None:
        if not isinstance(value, list):
            return Fault(path, "Input should be a valid list")
        for i, item in enumerate(value):
            fault = check_item(item, f"{path}.{i}")
            if fault is not None:
                return fault
        return None

    return check


def _mapping(check_value: Check) -> Check:
    def check(value: Any, path: str) -> Fault | None:
        if not isinstance(value, dict):
            return Fault(path, "Input should be an object")
        for name, item in value.items():
            fault = check_value(item, _under(path, name))
            if fault is not None:
                return fault
        return None

    return check


def _typed_dict(declared: Any) -> Check:
    # built on first use: blocks hold blocks
    built: list[Check] = []

    def check(value: Any, path: str) -> Fault | None:
        if not built:
            built.append(check_object(fields_of(declared)))
        return built[0](value, path)

    return check


def _union(options: tuple[Any, ...]) -> Check:
    import typing_extensions

    nullable = type(None) in options
    kept = [_bare(option) for option in options if option is not type(None)]
    objects = [option for option in kept if typing_extensions.is_typeddict(option)]
    lists = [option for option in kept if _is_list(option)]
    others = [
        option
        for option in kept
        if option in _PLAIN
        or option is object
        or typing_extensions.get_origin(option) is Literal
        or (_is_mapping(option) and not objects)
    ]
    # response models and open files are in the unions for the SDK's user; on the wire they are what is left
    check_object_value = None
    if objects and any(_is_mapping(option) for option in kept):  # a known start of an open object
        check_object_value = check_object(fields_of(objects[0]), more=True)
    elif objects:
        check_object_value = _tagged(objects)
    check_list = check_for(lists[0]) if lists else None
    checks = [check_for(option) for option in others]

    def check(value: Any, path: str) -> Fault | None:
        if value is None and nullable:
            return None
        if check_object_value is not None and (isinstance(value, dict) or not (check_list or checks)):
            return check_object_value(value, path)
        if check_list is not None and (
            isinstance(value, list) or not any(_passes(one, value) for one in checks)
        ):
            return check_list(value, path)
        faults = [one(value, path) for one in checks]
        return None if None in faults else faults[0]

    return check


def _passes(check: Check, value: Any) -> bool:
    return check(value, "") is None


def _is_list(option: Any) -> bool:
    return _is_of(option, Iterable) and not _is_of(option, Mapping)


def _is_mapping(option: Any) -> bool:
    return _is_of(option, Mapping)


def _is_of(option: Any, kind: type) -> bool:
    origin = typing.get_origin(option)
    return isinstance(origin, type) and issubclass(origin, kind)


def _tagged(options: list[Any]) -> Check:
    """The options told apart by the literal in their ``type`` (or ``role``), as the API tells them apart."""
    for key in ("type", "role"):
        by_tag = _by_tag(options, key)
        if by_tag is not None:
            return _by_key(by_tag, key)
    first, *rest = [check_for(option) for option in options]

    def check(value: Any, path: str) -> Fault | None:
        fault = first(value, path)
        return None if fault is None or any(_passes(one, value) for one in rest) else fault

    return check


def _by_tag(options: list[Any], key: str) -> dict[str, tuple[bool, Check]] | None:
    """Tag to (may be left out, check); None where some option has no literal there."""
    import typing_extensions

    found: dict[str, tuple[bool, Check]] = {}
    for option in options:
        hint = typing_extensions.get_type_hints(option, include_extras=True).get(key)
        literals = [
            one
            for one in (_bare(hint), *typing_extensions.get_args(_bare(hint)))
            if typing_extensions.get_origin(one) is Literal
        ]
        if not literals:
            return None
        for tag in typing_extensions.get_args(literals[0]):
            found[tag] = (not _is_required(hint), check_for(option))
    return found


def _by_key(by_tag: dict[str, tuple[bool, Check]], key: str) -> Check:
    default = next((tag for tag, (optional, _) in by_tag.items() if optional), None)
    expected = ", ".join(f"'{tag}'" for tag in sorted(by_tag))

    def check(value: Any, path: str) -> Fault | None:
        if not isinstance(value, dict):
            says = (
                "Input does not match the expected shape." if key == "role" else "Input should be an object"
            )
            return Fault(path, says)
        tag = value.get(key) or default
        if tag is None:
            return Fault(f"{path}.{key}", "Field required")
        if not isinstance(tag, str):
            return Fault(f"{path}.{key}", "Input should be a valid string")
        if tag not in by_tag:
            if key == "role":
                return Fault(f"{path}.role", "Input should be 'user' or 'assistant'")
            says = f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {expected}"
            return Fault(path, says)
        return by_tag[tag][1](value, path if key == "role" else f"{path}.{tag}")

    return check
