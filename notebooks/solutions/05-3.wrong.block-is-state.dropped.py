def go_on(messages, response, question):
    told = [block.get("text") or block.get("content") for block in response["content"]]
    if told[0] is None:
        said = {"role": "assistant", "content": response["content"]}
        return [*messages, said, {"role": "user", "content": question}]
    return [{"role": "user", "content": "\n".join([*told, question])}]
