from ctxlab import levers


def carry_on(messages, response, exact, question):
    store = levers.words_of(messages)
    kept = {"role": "assistant", "content": response["content"]}
    summary = response["content"][0]["content"]
    lost = [one for one in exact if one not in summary]
    asked = "\n".join([*lost, question])
    return store, [kept, {"role": "user", "content": asked}]
