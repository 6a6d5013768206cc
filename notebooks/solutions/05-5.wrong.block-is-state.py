from ctxlab import levers


def carry_on(messages, response, exact, question):
    store = levers.words_of(messages)
    kept = {"role": "assistant", "content": response["content"][0]["content"]}
    asked = "\n".join([*exact, question])
    return store, [kept, {"role": "user", "content": asked}]
