answers = {
    "The user is allergic to nuts": "semantic",
    "Run the linter before every commit": "procedural",
    "On 3 May the migration failed at step 4": "episodic",
    "The tool result that just came back": "working",
    "The user's daughter is called Mia": "semantic",
    "Ask before you delete a branch: we lost one": "procedural",
}
