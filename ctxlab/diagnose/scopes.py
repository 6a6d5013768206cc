"""What keeps a request from an entry of its own prefix: markers out of reach, another scope.

Models: markers before the entry, the lookback, and what differs between two scopes (workspace, model, speed,
parameters).
Does not model: time (:mod:`ctxlab.diagnose.touches`).
Source: ``ctxlab/cache_rules.toml``, rules lookback and one-model-one-workspace, and its invalidation table.
"""

from __future__ import annotations

import json

from ctxlab.cache import LOOKBACK_POSITIONS, Scope
from ctxlab.diagnose.sketch import Sketch
from ctxlab.diagnose.verdicts import Cause


def out_of_reach(sketch: Sketch, place: int) -> list[Cause]:
    """What keeps the markers from finding an entry; nothing if one of them looks at it."""
    layout = sketch.layout
    where = layout.place(place)
    behind = [marker.position for marker in layout.markers if marker.position >= place]
    if not behind:
        return [
            Cause("no marker", f"no marker stands at or behind {where}, where an entry ends", where, "CTX403")
        ]
    if any(place in layout.looked_at(marker) for marker in behind):
        return []
    nearest = min(behind)
    units = layout.positions
    back = units[nearest].lookback_unit - units[place].lookback_unit + 1
    told = (
        f"the entry up to {where} is position {back} counted from {layout.place(nearest)}; "
        f"{LOOKBACK_POSITIONS} are looked at"
    )
    return [Cause("lookback exceeded", told, where, "CTX405")]


def scope_causes(theirs: Scope, mine: Scope, where: str, by: int) -> list[Cause] | None:
    """What differs between two scopes, as causes; None where one workspace is not named."""
    causes = []
    if theirs[0] != mine[0]:
        if not theirs[0] or not mine[0]:
            return None
        causes.append(
            Cause("other workspace", f"#{by} stored it in {theirs[0]!r}, this is {mine[0]!r}", where)
        )
    if theirs[1] != mine[1]:
        told = f"#{by} asked {theirs[1]}, this one {mine[1]}"
        causes.append(Cause("model changed", told, "model", "CTX301", ("model",)))
    here, there = _parameters(mine), _parameters(theirs)
    names = sorted(name for name in here | there if here.get(name) != there.get(name))
    if "speed" in names and theirs[1] == mine[1]:
        causes.append(Cause("model changed", f"another speed than #{by}", "speed", "CTX301", ("speed",)))
    others = tuple(name for name in names if name != "speed")
    if others and theirs[1] == mine[1]:
        told = f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} not as in #{by}"
        causes.append(Cause("parameter changed", told, others[0], "CTX307", others))
    return causes


def _parameters(scope: Scope) -> dict[str, object]:
    return {name: value for tier in scope[2:] for name, value in json.loads(tier).items()}
