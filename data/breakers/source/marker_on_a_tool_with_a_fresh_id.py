import uuid

import httpx

BASE_TOOLS = [{"name": "search", "description": "Search.", "input_schema": {"type": "object"}}]


def session_tool() -> dict:
    return {
        "name": "finish",
        "description": f"End the run {uuid.uuid4()}.",
        "input_schema": {"type": "object"},
        "cache_control": {"type": "ephemeral"},
    }


async def create(http: httpx.AsyncClient, messages: list[dict]) -> dict:
    tools = BASE_TOOLS + [session_tool()]
    response = await http.post(
        "/v1/messages",
        json={"model": "claude-opus-4-8", "max_tokens": 900, "tools": tools, "messages": messages},
    )
    return response.json()
