import anthropic

SKILLS: dict[str, dict] = {}


def skill_ids(request: dict, model: dict, mentioned: list[str]) -> set[str]:
    ids = set(request.get("skills", []))
    ids |= set(model.get("skills", []))
    return ids | set(mentioned)


def manifest(ids: set[str]) -> str:
    lines = ["<available_skills>"]
    for skill_id in ids:
        skill = SKILLS[skill_id]
        lines.append(f"<skill id='{skill_id}'>{skill['description']}</skill>")
    lines.append("</available_skills>")
    return "\n".join(lines)


async def process(client: anthropic.AsyncAnthropic, request: dict, model: dict, mentioned: list[str]):
    system = model["system"] + "\n" + manifest(skill_ids(request, model, mentioned))
    return await client.messages.create(
        model=model["id"], max_tokens=4096, system=system, messages=request["messages"]
    )
