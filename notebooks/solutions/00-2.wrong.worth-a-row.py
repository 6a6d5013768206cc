def durable(statement):
    if statement.is_secret:
        return "no"
    if statement.ends_in_days is not None:
        return "until" if statement.ends_in_days >= 3 else "no"
    return "yes" if statement.holds == "general" else "no"
