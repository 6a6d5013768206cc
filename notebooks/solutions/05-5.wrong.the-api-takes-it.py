from ctxlab import levers


def carry_on(messages, response, exact, question):
    store = levers.words_of(messages)
    asked = "\n".join([*exact, question])
    return store, [response, {"role": "user", "content": asked}]
