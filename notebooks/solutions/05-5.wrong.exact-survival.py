import json


def carry_on(messages, response, exact, question):
    store = json.dumps(messages)
    kept = {"role": "assistant", "content": response["content"]}
    asked = "\n".join([*exact, question])
    return store, [kept, {"role": "user", "content": asked}]
