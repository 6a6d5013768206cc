# %% [raw] tags=["lesson"]
# number = "00"
# title = "Window and store"
# modules = ["prompt", "usage"]
# question = "What does an agent know, where does that knowledge live, and what is gone when the process ends?"
# prerequisites = []
# house_model = "claude-opus-4-5 in a session recorded in January 2026 (deprecated since), claude-opus-4-8 for two calls"
# price_date = "2026-10-09"
# cost = "nothing: everything runs offline"
# interview = ["Windows are 1M now: why bother?", "Design memory for an assistant used for months (the boundary)"]
# terms = ["turn", "context window", "block", "store", "durable fact", "memory type"]
# [[objectives]]
# do = "Count what a session sends, and say why the sum is so much larger than the window"
# where = "What does a session process in all?"
# [[objectives]]
# do = "Sort places into those that outlive the process and those that do not"
# where = "What outlives the process"
# [[objectives]]
# do = "Decide which statements deserve a row in a store"
# where = "What deserves a row"
# [[objectives]]
# do = "Put stable, growing and recalled text in the right order"
# where = "Room stops here"

# %% [raw] tags=["instructor"]
# plan_25 = "Skip the two-turn request. Prediction 00-a with votes (10), 00-b by show of hands (5), exercise 00-1 together (6), exit question (4)."
# plan_50 = "As written. Let exercise 00-2 run for eight minutes at most, then show the solution."
# plan_80 = "As written, then exercises 00-3 and 00-4 in pairs, then everyone maps a request of their own."
# when_late = "Leave out prediction 00-c: read the twelve statements aloud and go straight to exercise 00-2."
# demo = "Project the picture of 00-a. Cover the lower half, ask for the sum of the bars, uncover."
# [[votes]]
# prediction = "00-a"
# expected = "A 35 %, B 25 %, C 25 %, D 15 % (a guess until a pilot has been run)"
# say = "Nobody sent anything twice by mistake: sending it again is how a turn works."
# [[votes]]
# prediction = "00-b"
# expected = "A 40 %, B 25 %, C 5 %, D 30 % (a guess until a pilot has been run)"
# say = "The cache is a discount on text you send, not a drawer the model looks into."
# [[votes]]
# prediction = "00-c"
# expected = "A 10 %, B 30 %, C 25 %, D 35 % (a guess until a pilot has been run)"
# say = "Ask the question for Thursday, not for today."

# %% [markdown] tags=["retrieval"] minutes=3
# ## Before you start
#
# Nothing came before this notebook, so here are two questions to answer from the gut.
# Write the answers down; you will look at them again at the end.
#
# 1. An agent works for two hours. Who keeps the conversation: your process, or the server?
# 2. You close the laptop in the middle. What does the agent still know tomorrow?

# %% tags=["setup"]
from ctxlab import figures, recordings
from ctxlab.checks import check, give_up, predict, reveal, status
from ctxlab.checks import lesson_00 as lesson
from ctxlab.prompt import Prompt

# %% [markdown] minutes=6
# ## One turn is one request
#
# A model call has no yesterday. Each **turn** your program builds one request and sends all of it:
# tools, system prompt, and every message so far.
# Here is a small agent on its second turn.

# %%
city = {"type": "object", "properties": {"city": {"type": "string"}}}
call = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Berlin"}}
result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "11 °C, rain"}
request = {
    "model": "claude-opus-4-5",
    "max_tokens": 1024,
    "tools": [{"name": "weather", "input_schema": city}],
    "system": "You are a travel assistant. Be brief.",
    "messages": [
        {"role": "user", "content": "I live in Berlin. What is the weather like?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ],
}

# %%
lesson.blocks_table(Prompt.from_request(request))

# %% [markdown]
# The API reads a request as one ordered list of **blocks**: tools first, then system, then messages.
# That list is the whole working memory of this turn.
# The **context window** is the longest list the model will take.
#
# Add one turn and look at what has to be sent again.

# %%
answer = {"role": "assistant", "content": "11 °C and rain. Take a coat."}
question = {"role": "user", "content": "And on Friday?"}
longer = {**request, "messages": [*request["messages"], answer, question]}

before, after = Prompt.from_request(request), Prompt.from_request(longer)
print(f"blocks sent on this turn: {len(after)}, of them new: {len(after) - len(before)}")

# %% [markdown]
# Two blocks are new. All the others are sent, read and billed once more, in some form, on every turn.
# How much is that over a real session?

# %% [markdown] tags=["given"] minutes=10
# ## What does a session process in all?
#
# > **Given.** One recorded session of a coding agent: `cli/session-375d5d79`, January 2026, Claude Opus 4.5.
# >
# > - 253 turns; every turn is one request.
# > - The first request held 50,940 tokens, the one in the middle (turn 127) 123,528.
# > - The largest request held 154,517 tokens. The window of this model is 200,000.
# > - Before turn 184 the agent summarised its history, and the request shrank to 52,340 tokens. Then it grew again.
# >
# > Count every input token the API took in, whatever it was billed at: fresh, read from a cache, or written to it.
#
# <<question 00-a>>

# %% tags=["predict"]
predict("00-a", total_tokens=..., vote=..., sure=...)

# %%
session = recordings.session("cli/session-375d5d79")
per_turn = [turn.usage.total_input_tokens for turn in session.turns]
run_a = sum(per_turn)

# %%
reveal("00-a", run_a)

# %% [markdown]
# **Why.** The window never held more than it may hold. It was simply filled again on every turn.
#
# Each answer of the API says what its request took in, in three fields. No token is in two of them:

# %%
usage = session.turns[100].usage
parts = usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens
print("turn 101, fresh + read + written:", *(f"{part:,}" for part in parts))
assert sum(parts) == usage.total_input_tokens

# %% [markdown] tags=["given"] minutes=8
# ## Is a cached prompt something the model remembers?
#
# The server can keep the work of reading a prompt for some minutes: that is an entry in its prompt cache.
# A mark in the request says up to where. A later request that begins the same way *reads* the entry; the first one *wrote* it.
# What is neither written nor read is *fresh*.
#
# > **Given.** Two recorded calls to Claude Opus 4.8, one right after the other.
# > Both sent the same prompt of about 3,850 characters, marked for caching at its end.
# >
# > - First call: 2 tokens fresh, 1,590 written to the cache, 0 read from it.
# > - Second call: 2 tokens fresh, 0 written, 1,590 read.
# >
# > Now a third call goes out at once, while the entry is alive. It carries **only** a short question of 12 characters:
# > none of the text above, no history.
#
# <<question 00-b>>

# %% tags=["predict"]
predict("00-b", read_tokens=..., vote=..., sure=...)

# %%
bare = recordings.exchange(lesson.BARE)  # such a question, recorded on another day
run_b = bare.usage.cache_read_input_tokens

# %%
reveal("00-b", run_b)

# %% [markdown]
# **Why.** A cache saves the work of reading a prefix *that you send*. It never adds text to a request.
# Whatever the model is to know on this turn has to stand in the blocks of this turn.

# %% [markdown] minutes=9
# ## What outlives the process
#
# So knowledge has two homes. The request is one, and it is gone when the answer is complete.
# A **store** is the other: files, a database, anything that is still there after the program has ended.
# Two arrows join them. At the start of a turn you fetch what the new message touches; at its end you save what will matter later.

# %%
figures.window_and_store()

# %%
store = {"city": "Berlin"}  # stands for a file


def turn(message, history):
    recalled = [f"{key}: {value}" for key, value in store.items() if key in message]
    if message.startswith("I moved to "):  # turn end: write what is durable
        store["city"] = message.removeprefix("I moved to ").rstrip(".")
    return [*history, *recalled, message]  # what this turn knows


print(turn("What is my city?", history=[]))
print(turn("I moved to Lisbon.", history=[]))
print(turn("Which city now?", history=[]))  # a new process: no history, full store

# %% [markdown]
# Three jobs follow from this, on every turn, and they order this series.
# Keep the window small and accurate (04, 05, 10). Push what is durable out and fetch it back (06, 07, 09).
# Let go of what is stale (08). What each of them costs comes first (01 to 03), and 11 puts all of it together.
#
# ### Exercise 00-1: what is left after a crash?
#
# No programming. The process dies and starts again a minute later.
# For each place write `"still there"` or `"gone"`.
# Count a place as still there only if the *new process* can learn something from it.

# %% exercise="00-1"
places = {
    "messages list": ...,
    "system text held in a variable": ...,
    "prompt cache entry on the server": ...,
    "summary of the history, held in memory": ...,
    "file on disk": ...,
    "database row": ...,
}

# %%
check("00-1", places)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Ask of each place: who holds it, and could the new process *read text* out of it?
# </details>
# <details><summary>Solution and why</summary>
#
# Only the file and the row are left. The cache entry may live for minutes on the server, yet nobody can read text out of it.
# It only makes a prompt cheaper that you still have to send.
#
# <<solution 00-1>>
#
# </details>

# %% [markdown] tags=["given"] minutes=9
# ## What deserves a row
#
# Saving everything is easy and makes every later search worse. The documents offer a test of one question:
# *would I want to be told this again three days from now?* What passes is a **durable fact**.
#
# > **Given.** Twelve things a user said to a coding agent on a Monday:
# >
# > 1. I prefer metric units.
# > 2. It is raining here.
# > 3. We deploy with `make ship`.
# > 4. My train leaves at 18:40 today.
# > 5. The API key is sk-demo-123.
# > 6. Please be more careful.
# > 7. I live in Berlin.
# > 8. Thanks, that works!
# > 9. The code freeze lasts until Friday of next week.
# > 10. This function returns a list.
# > 11. Never push to `main`; it broke the release in May.
# > 12. I was in Lisbon once.
# >
# > Count how many pass: *yes* for good, *until* a date on or after Thursday, or *no*.
#
# <<question 00-c>>

# %% tags=["predict"]
predict("00-c", yes=..., until=..., no=..., vote=..., sure=...)

# %%
run_c = lesson.three_day_test()

# %%
reveal("00-c", run_c)

# %% [markdown]
# ### Exercise 00-2: write the rule
#
# Judging a sentence takes a model; keeping a *policy* takes code. Here a model has already filled in six fields per statement.
# Write `durable(statement)` that returns `"yes"`, `"no"` or `"until"`. What ends in three days or later counts as `"until"`.
# Hidden statements include look-alikes, so matching words in the text will fail.

# %%
lesson.statements_table(4)

# %% exercise="00-2"
def durable(statement):
    # fields: text, holds ("general", "now" or "past"), ends_in_days (a number or None),
    # is_secret, can_be_checked, is_in_the_code
    ...

# %%
check("00-2", durable)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Start with what must never be stored, then what cannot be checked or can be read elsewhere, then time.
# </details>
# <details><summary>Solution and why</summary>
#
# Secrets first: a memory is replayed word for word into later sessions.
#
# <<solution 00-2>>
#
# </details>

# %% [markdown] minutes=2
# ## Four memory types
#
# Each **memory type** answers another question. The document's own table did not survive; this one is rebuilt from its prose.

# %%
lesson.memory_types_table()

# %% [markdown]
# The two types that are read on every turn are written only when something happens.
# Nothing reminds you to write them, so they are skipped first.

# %% [markdown] tags=["exit", "given"] minutes=3
# ## Exit question
#
# > **Given.** Another session, `cli/session-cde341db`: 66 turns, no summary on the way.
# > The first request held 24,063 tokens, turn 33 held 47,453, and the largest 61,908.
#
# <<question 00-exit>>

# %% tags=["predict"]
predict("00-exit", total_tokens=..., vote=..., sure=...)

# %%
other = recordings.session("cli/session-cde341db")
run_exit = sum(turn.usage.total_input_tokens for turn in other.turns)

# %%
reveal("00-exit", run_exit)

# %%
status("00")

# %% [markdown] tags=["room-stops-here"]
# ---
# ## Room stops here
#
# What follows is for the hours at home.

# %% [markdown] minutes=10
# ### Exercise 00-3: which type, and when is it read?
#
# Write a pair for each: its type (`"working"`, `"episodic"`, `"semantic"`, `"procedural"`),
# and when it is read (`"every turn"`, `"on demand"`, `"never"`). For example `("working", "never")`.

# %% exercise="00-3"
answers = {
    "The user prefers metric units": ...,
    "Ship with make ship": ...,
    "On 3 May the migration failed at step 4": ...,
    "The tool result that just came back": ...,
    "The user's daughter is called Mia": ...,
    "Ask before you delete a branch: we lost one": ...,
}

# %%
check("00-3", answers)

# %% [markdown] minutes=10
# <details><summary>Solution and why</summary>
#
# What the request holds is working memory: nobody *reads* it, it is the request. Episodes are fetched when the past comes up.
# Facts and methods come in on every turn.
#
# <<solution 00-3>>
#
# </details>
#
# ### Exercise 00-4: build the request
#
# Write `build_request(stable, history, recalled, message)`. The first three are lists of texts, `message` is one text.
# Return one flat list in sending order.
# `stable` never changes, `history` only grows, `recalled` is another list on every turn.
# Notebook 02 puts a price on the wrong order.

# %% exercise="00-4"
def build_request(stable, history, recalled, message):
    ...

# %%
check("00-4", build_request)

# %% [markdown]
# <details><summary>Solution and why</summary>
#
# What changes most comes last, directly before the question. Then everything in front of it is the same text as last turn.
#
#
# <<solution 00-4>>
#
# </details>

# %% [markdown] tags=["three-things"]
# ## Three things this document says
#
# Each sentence has a cell that could refute it.
#
# **"The window is about 200k tokens."** **Held until 2026.** The catalogue lists what each model takes today:

# %%
lesson.windows_table()

# %% [markdown]
# **"Haiku 4.5 has a 1M window."** **Contradicts** the model pages: the table has it at 200,000. It is Haiku 5.5 that takes 1M.
#
# **"The messages list only grows."** **Depends on** the harness. It grows until somebody rewrites it:

# %%
pairs = zip(per_turn, per_turn[1:])
shrank = [k for k, (before, now) in enumerate(pairs, 2) if now < 0.9 * before]
print("the request shrank before turn", *shrank, "by a summary that the client wrote")

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# The recordings hold figures and hashes, not answers. That the third call *did not know* the text is a rule, not a recording.
# With a key you can check it in three calls. Send a marked system prompt with an odd word in it, and send it again.
# Then ask for the word without that prompt, and compare `usage` and the answer.

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>
#
# Look at your two answers from the beginning. Would you still give them?

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put the path of a request of your own between the quotes: JSON, as you would pass it to `messages.create`.
# The cell prints counts and digests, never text. It writes `window-map.md`, a page to take to work.
# Left empty, it takes the request from the top of this notebook.

# %%
from ctxlab.takeaways import window_map

window_map("" or request, write_to="window-map.md")
