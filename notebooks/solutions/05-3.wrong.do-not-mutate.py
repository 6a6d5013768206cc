def go_on(messages, response, question):
    messages.append({"role": "assistant", "content": response["content"]})
    messages.append({"role": "user", "content": question})
    return messages
