from ctxlab import levers


def carry_on(messages, response, exact, question):
    store = levers.words_of(messages)
    kept = {"role": "assistant", "content": response["content"]}
    return store, [kept, *messages, {"role": "user", "content": question}]
