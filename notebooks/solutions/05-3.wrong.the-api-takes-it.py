def go_on(messages, response, question):
    return [*messages, response, {"role": "user", "content": question}]
