choices = {
    "S1": "keep",
    "S2": "shrink",
    "S3": "drop",
    "S4": "shrink",
    "S5": "drop",
    "S6": "shrink",
}
