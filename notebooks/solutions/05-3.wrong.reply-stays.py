def go_on(messages, response, question):
    block = {"role": "assistant", "content": response["content"][:1]}
    return [block, {"role": "user", "content": question}]
