from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage


def glossary(chapters: list[dict]) -> list[str]:
    terms = []
    for chapter in chapters:
        terms.extend(chapter["terms"])
    return list(set(terms))


def tutor(chapters: list[dict]) -> SystemMessage:
    terms = glossary(chapters)
    text = "Explain with these terms only:\n" + "\n".join(f"* {term}" for term in terms)
    return SystemMessage(content=[{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}])


def explain(chapters: list[dict], question: str) -> str:
    model = ChatAnthropic(model="claude-sonnet-5")
    return model.invoke([tutor(chapters), HumanMessage(content=question)]).content
