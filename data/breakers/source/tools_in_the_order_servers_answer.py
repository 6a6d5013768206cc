import asyncio

import anthropic


async def list_tools(server) -> list[dict]:
    listing = await server.list_tools()
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.inputSchema}
        for tool in listing.tools
    ]


async def collect(servers: list) -> list[dict]:
    tools: list[dict] = []
    for done in asyncio.as_completed([list_tools(server) for server in servers]):
        tools.extend(await done)
    return tools


async def converse(servers: list, messages: list[dict]):
    client = anthropic.AsyncAnthropic()
    return await client.messages.create(
        model="claude-opus-4-8", max_tokens=1024, tools=await collect(servers), messages=messages
    )
