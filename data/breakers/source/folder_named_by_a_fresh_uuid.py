import uuid
from pathlib import Path

from litellm import completion


def new_scratchpad(base: str = "/tmp/agent") -> Path:
    folder = Path(base) / str(uuid.uuid4()) / "scratchpad"
    folder.mkdir(parents=True)
    return folder


def main() -> None:
    scratchpad = new_scratchpad()
    system = f"Use {scratchpad} for temporary files, never the repository."
    messages = [{"role": "system", "content": system}]
    while text := input("> "):
        messages.append({"role": "user", "content": text})
        answer = completion(model="anthropic/claude-sonnet-5", messages=messages)
        messages.append(answer.choices[0].message.model_dump())


if __name__ == "__main__":
    main()
