choices = {
    "S1": "leave it",
    "S2": "shrink",
    "S3": "drop",
    "S4": "keep",
    "S5": "drop",
    "S6": "shrink",
}
