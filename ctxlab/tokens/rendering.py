"""The text that stands in the prompt for a tool definition, a call, a result or an output schema.

Models: renderings whose token counts, with the constants of ``token_rules.toml``, meet the recorded totals.
Does not model: the characters the server really writes. Of two renderings with equal counts (a key named
``parameters`` or ``input_schema``) either may be the true one.

Source: recorded totals; of several renderings the one with the most exact predictions was kept. The keys of a
definition are sorted at every level there; a call's arguments and a schema keep the order they were sent in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_PREFIX = "antml:"


def rendered_tool(definition: Mapping[str, Any]) -> str:
    """A custom tool: its name, what it does, what it takes. The other fields of a definition cost nothing.

    >>> rendered_tool({"name": "now", "description": "", "input_schema": {"type": "object"}, "strict": True})
    '{"name": "now", "parameters": {"type": "object"}}'
    """
    shown = {"name": definition.get("name"), "parameters": definition.get("input_schema")}
    if definition.get("description"):
        shown["description"] = definition["description"]
    return json.dumps(shown, sort_keys=True, ensure_ascii=False)


def rendered_call(name: str, arguments: Any) -> str:
    """One call, with an argument a line: a string as it is, anything else as JSON.

    >>> rendered_call("add", {"note": "both", "terms": [1, 2]}).splitlines()[2].partition(">")[2][:6]
    '[1, 2]'
    """
    lines = [f'<{_PREFIX}invoke name="{name}">']
    for key, value in arguments.items() if isinstance(arguments, Mapping) else ():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f'<{_PREFIX}parameter name="{key}">{shown}</{_PREFIX}parameter>')
    lines.append(f"</{_PREFIX}invoke>")
    return "\n".join(lines)


def rendered_result(text: str, name: str | None = None) -> str:
    """One result: alone in its message, or, with the ``name`` of its tool, as one of several.

    >>> print(rendered_result("12 degrees", "weather"))
    <result>
    <name>weather</name>
    <output>12 degrees</output>
    </result>
    """
    if name is None:
        return f"<function_results>{text}</function_results>"
    return f"<result>\n<name>{name}</name>\n<output>{text}</output>\n</result>"


def rendered_schema(schema: Any) -> str:
    """An output schema, indented by two."""
    return json.dumps(schema, indent=2, ensure_ascii=False)
