import anthropic


class Retriever:
    def __init__(self, index: str, top_k: int = 4) -> None:
        self.index = index
        self.top_k = top_k


class Assistant:
    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        self.client = anthropic.Anthropic()

    def _system(self) -> str:
        return f"Answer from the index. Configuration: {self.retriever!r}"

    def ask(self, question: str) -> str:
        reply = self.client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=400,
            system=self._system(),
            messages=[{"role": "user", "content": question}],
        )
        return reply.content[0].text


assistant = Assistant(Retriever("minutes-2025"))
