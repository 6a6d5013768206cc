def go_on(messages, response, question):
    said = {"role": "assistant", "content": response["content"]}
    return [said, {"role": "user", "content": question}]
