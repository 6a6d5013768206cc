def durable(statement):
    words = ("live", "prefer", "deploy", "Never", "fiscal")
    if statement.is_secret or not statement.can_be_checked or statement.is_in_the_code:
        return "no"
    if "until" in statement.text:
        return "until"
    return "yes" if any(word in statement.text for word in words) else "no"
