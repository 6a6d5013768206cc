import anthropic
from flask import Flask, g, request

app = Flask(__name__)
client = anthropic.Anthropic()
SYSTEM = "You help with invoices."


def mail_tool(account: dict) -> dict:
    return {
        "name": "send_mail",
        "description": f"Send a mail in the name of {account['email']}.",
        "input_schema": {
            "type": "object",
            "properties": {"to": {"type": "string"}, "body": {"type": "string"}},
            "required": ["to", "body"],
        },
    }


@app.post("/ask")
def ask():
    tools = [mail_tool(g.account)]
    reply = client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=800,
        tools=tools,
        system=SYSTEM,
        messages=request.json["messages"],
    )
    return {"text": reply.content[0].text}
