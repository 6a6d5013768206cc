def durable(statement):
    if statement.is_secret or not statement.can_be_checked or statement.is_in_the_code:
        return "no"
    if statement.ends_in_days is not None:
        return "until" if statement.ends_in_days >= 3 else "no"
    return "yes" if statement.holds == "general" else "no"
