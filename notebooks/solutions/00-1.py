places = {
    "messages list": "gone",
    "system text held in a variable": "gone",
    "prompt cache entry on the server": "gone",
    "compaction block held in memory": "gone",
    "file on disk": "still there",
    "database row": "still there",
}
