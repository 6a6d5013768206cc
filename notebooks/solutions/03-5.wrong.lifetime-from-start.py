culprits = {
    "line of the source": 9,
    "path in the requests": "tools[1]",
    "turns that read nothing": [],
}
