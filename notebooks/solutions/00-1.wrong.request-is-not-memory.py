places = {
    "messages list": "gone",
    "system text held in a variable": "gone",
    "prompt cache entry on the server": "still there",
    "summary of the history, held in memory": "gone",
    "file on disk": "still there",
    "database row": "still there",
}
