def durable(statement):
    if statement.is_secret or not statement.can_be_checked or statement.is_in_the_code:
        return False
    if statement.ends_in_days is not None:
        return statement.ends_in_days >= 3
    return statement.holds == "general"
