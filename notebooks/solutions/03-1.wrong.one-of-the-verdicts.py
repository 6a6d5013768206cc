verdicts = {
    "P1": "too short",
    "P2": "alive",
    "P3": "expired",
    "P4": "not our bytes",
    "P5": "bytes changed",
    "P6": "late change",
    "P7": "alive",
    "P8": "too early",
}
