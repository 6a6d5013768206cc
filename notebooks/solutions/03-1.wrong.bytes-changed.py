verdicts = {
    "P1": "nothing stored",
    "P2": "alive",
    "P3": "expired",
    "P4": "not our bytes",
    "P5": "late change",
    "P6": "late change",
    "P7": "alive",
    "P8": "too early",
}
