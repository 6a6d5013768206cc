def go_on(messages, response, question):
    text = "".join(block.get("text", "") for block in response["content"])
    said = {"role": "assistant", "content": text or "(compacted)"}
    return [*messages, said, {"role": "user", "content": question}]
