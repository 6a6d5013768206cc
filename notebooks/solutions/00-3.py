answers = {
    "The user prefers metric units": ("semantic", "every turn"),
    "Ship with make ship": ("procedural", "every turn"),
    "On 3 May the migration failed at step 4": ("episodic", "on demand"),
    "The tool result that just came back": ("working", "never"),
    "The user's daughter is called Mia": ("semantic", "every turn"),
    "Ask before you delete a branch: we lost one": ("procedural", "every turn"),
}
