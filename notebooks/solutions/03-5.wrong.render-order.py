culprits = {
    "line of the source": 9,
    "path in the requests": "system[0]",
    "turns that read nothing": [6, 7],
}
