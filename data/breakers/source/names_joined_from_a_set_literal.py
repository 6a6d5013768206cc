import anthropic

ALLOWED = {"trial", "cohort", "review", "letter"}


class Classifier:
    """Says which kind of paper a text is."""

    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.system = "Answer with one of: " + ", ".join(ALLOWED)

    def kind(self, paper: str) -> str:
        reply = self.client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=10,
            system=self.system,
            messages=[{"role": "user", "content": paper[:4000]}],
        )
        return reply.content[0].text.strip()
