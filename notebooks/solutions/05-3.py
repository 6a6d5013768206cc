def go_on(messages, response, question):
    said = {"role": "assistant", "content": response["content"]}
    return [*messages, said, {"role": "user", "content": question}]
