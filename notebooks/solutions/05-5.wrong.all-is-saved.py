from ctxlab import levers


def carry_on(messages, response, exact, question):
    kept = {"role": "assistant", "content": response["content"]}
    lost = levers.missing(exact, levers.words_of([kept]))
    asked = "\n".join([*lost, question])
    return "\n".join(exact), [kept, {"role": "user", "content": asked}]
