culprits = {
    "line of the source": 15,
    "path in the requests": "tools[1]",
    "turns that read nothing": [6, 7],
}
