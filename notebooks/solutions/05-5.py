from ctxlab import levers


def carry_on(messages, response, exact, question):
    store = levers.words_of(messages)
    kept = {"role": "assistant", "content": response["content"]}
    lost = levers.missing(exact, levers.words_of([kept]))
    asked = "\n".join([*lost, question])
    return store, [kept, {"role": "user", "content": asked}]
