choices = {
    "S1": "keep",
    "S2": "keep",
    "S3": "drop",
    "S4": "keep",
    "S5": "drop",
    "S6": "shrink",
}
