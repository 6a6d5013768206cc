def go_on(messages, response, question):
    told = [block.get("text") or block.get("content") for block in response["content"]]
    said = {"role": "assistant", "content": "\n".join(filter(None, told))}
    return [*messages, said, {"role": "user", "content": question}]
