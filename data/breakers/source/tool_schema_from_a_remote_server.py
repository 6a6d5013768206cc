import json

import anthropic


class RemoteTools:
    def __init__(self, http) -> None:
        self.http = http

    async def describe(self) -> str:
        listing = (await self.http.get("/tools/list")).json()
        return "\n".join(json.dumps(tool["inputSchema"]) for tool in listing["tools"])


async def run(remote: RemoteTools, messages: list[dict]):
    client = anthropic.AsyncAnthropic()
    system = "Call a tool by writing its JSON. Schemas:\n" + await remote.describe()
    return await client.messages.create(
        model="claude-opus-4-8", max_tokens=1000, system=system, messages=messages
    )
