"""Which requests of an event loop are sent together.

Models: an answer does not begin while requests still arrive, so that tasks that are started together look
up the cache together, as at the API, where an answer takes far longer than sending them all.
Does not model: time. Turns of the loop are counted, so that the same program has the same outcome in every
run; a request that needs more turns than that to come after another is not sent together with it.
Source: own choice; a task that starts tasks costs them one turn a level.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sized

QUIET_TURNS = 10


async def until_no_more_arrive(calls: Sized) -> None:
    """Wait until :data:`QUIET_TURNS` turns of the loop brought no new call."""
    arrived, quiet = len(calls), 0
    while quiet < QUIET_TURNS:
        await asyncio.sleep(0)
        quiet = quiet + 1 if len(calls) == arrived else 0
        arrived = len(calls)
