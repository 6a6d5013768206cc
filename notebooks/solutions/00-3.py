answers = {
    "The user is allergic to nuts": ("semantic", "every turn"),
    "Run the linter before every commit": ("procedural", "every turn"),
    "On 3 May the migration failed at step 4": ("episodic", "on demand"),
    "The tool result that just came back": ("working", "never"),
    "The user's daughter is called Mia": ("semantic", "every turn"),
    "Ask before you delete a branch: we lost one": ("procedural", "every turn"),
}
