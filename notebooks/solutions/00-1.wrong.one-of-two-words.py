places = {
    "messages list": "gone",
    "system text held in a variable": "gone",
    "prompt cache entry on the server": "gone",
    "summary of the history, held in memory": "gone",
    "file on disk": "survives",
    "database row": "survives",
}
