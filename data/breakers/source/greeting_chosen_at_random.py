from random import choice, randint

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage

MOODS = ["cheerful", "calm", "dry"]


def system_text() -> str:
    mood = choice(MOODS)
    return "You are {mood} today. Lucky number {number}.".format(
        mood=mood,
        number=randint(1, 99),
    )


def talk(history: list, text: str) -> str:
    model = ChatAnthropic(model="claude-sonnet-5", max_tokens=300)
    answer = model.invoke([SystemMessage(content=system_text()), *history, HumanMessage(content=text)])
    return answer.content
