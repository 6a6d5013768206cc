# %% [raw] tags=["lesson"]
# number = "00"
# title = "Window and store"
# modules = ["prompt", "usage"]
# question = "What does an agent know, where does that knowledge live, and what is gone when the process ends?"
# prerequisites = []
# house_model = "claude-opus-4-5 in a session recorded in January 2026 (deprecated since), claude-opus-4-8 for three calls"
# price_date = "2026-10-09"
# cost = "nothing: everything runs offline"
# interview = ["Windows are 1M now: why bother?", "Design memory for an assistant used for months (the boundary)"]
# terms = ["turn", "context window", "block", "store", "durable fact", "memory type"]
# [[objectives]]
# do = "Count what a session sends in all, and say what the window has to do with it"
# where = "What does a session process in all?"
# [[objectives]]
# do = "Sort places into those that outlive the process and those that do not"
# where = "What outlives the process"
# [[objectives]]
# do = "Decide which statements deserve a row in a store"
# where = "What deserves a row"
# [[objectives]]
# do = "Put the parts of a request in the order that serves the next turn"
# where = "Room stops here"

# %% [raw] tags=["instructor"]
# plan_25 = "Skip the weather agent. Prediction 00-a with votes (10), 00-b by show of hands (5), exercise 00-1 together (6), exit question (4)."
# plan_50 = "As written. Let exercise 00-2 run for eight minutes at most, then open the solution and read it line by line."
# plan_80 = "As written, then exercises 00-3 and 00-4 in pairs, then everyone maps a request of their own."
# when_late = "Leave out exercise 00-2: vote on 00-c, reveal, and go through its table aloud. The exercise is for home."
# demo = "Project the picture of 00-a. Cover the lower half, ask for the sum of the bars, uncover."
# [[votes]]
# prediction = "00-a"
# expected = "A 35 %, B 25 %, C 25 %, D 15 % (a guess until a pilot has been run)"
# say = "Nobody sent anything twice by mistake: sending it again is how a turn works."
# [[votes]]
# prediction = "00-b"
# expected = "A 35 %, B 25 %, C 10 %, D 30 % (a guess until a pilot has been run)"
# say = "The cache is a discount on text you send, not a drawer the model looks into."
# [[votes]]
# prediction = "00-c"
# expected = "A 10 %, B 30 %, C 25 %, D 35 % (a guess until a pilot has been run)"
# say = "Ask the question for Thursday, not for today."

# %% [markdown] tags=["retrieval"] minutes=2
# ## Before you start
#
# This series follows two documents about agents: a short one on memory and context, and a long one on compaction.
# What they say is put to the test here, on recorded traffic wherever there is some.
#
# Nothing came before this notebook, so here are two questions to answer from the gut.
# Write your answers down. You will meet them again at the end.
#
# 1. An agent works for two hours. Who keeps the conversation: your process, or the server?
# 2. You close the laptop in the middle. What does the agent still know tomorrow?

# %% tags=["setup"]
from ctxlab import figures, recordings
from ctxlab.checks import after, check, give_up, predict, reveal, status
from ctxlab.checks import lesson_00 as lesson
from ctxlab.prompt import Prompt

# %% [markdown] minutes=5
# ## One turn is one request
#
# An agent works in **turns**. On each turn your program builds one request: tools, system prompt, and the messages so far.
# The model answers in words or with a tool call.
#
# Here is a small agent on its second turn. The user has asked about the weather, the model has called a tool,
# and the tool has reported.

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
# The digest is a fingerprint: change one character of a block, and it is another one.
#
# Models count in *tokens*, pieces of words. The **context window** is how many of them question and answer may have together.
#
# Now the user asks one thing more. What has to go out on the next turn?

# %%
answer = {"role": "assistant", "content": "11 °C and rain. Take a coat."}
question = {"role": "user", "content": "And on Friday?"}
longer = {**request, "messages": [*request["messages"], answer, question]}

this_turn, next_turn = Prompt.from_request(request), Prompt.from_request(longer)
print(f"blocks on the next turn: {len(next_turn)}, of them new: {len(next_turn) - len(this_turn)}")

# %% [markdown]
# Two blocks are new; five have gone out before. Does that matter over a real session?

# %% [markdown] tags=["given"] minutes=9
# ## What does a session process in all?
#
# > **Given.** One recorded session of a coding agent: `cli/session-375d5d79`, January 2026, Claude Opus 4.5.
# >
# > - 253 turns; every turn is one request.
# > - The first request held 50,940 tokens, the one in the middle (turn 127) 123,528.
# > - The largest request held 154,517 tokens. The window of this model is 200,000.
# > - Before turn 184 the agent summarised its history, and the request shrank to 52,340 tokens.
# > - Then it grew again, to 107,937 tokens on the last turn.
# >
# > Count every input token the API took in, whatever its price.
#
# <<question 00-a>>

# %% [markdown]
# **How to answer.** Replace the `...` in the next cell, then press Shift and Enter.
#
# - A figure is a plain number, without commas: `1_500_000` is one and a half million. Within 5 % is close enough here.
# - `vote` is a letter in quotes, such as `vote="A"`. `sure` is `True` or `False`. What you leave as `...` stays open.
# - A letter alone is enough; a figure shows you more. Nobody counts points.
#
# In a room: vote, talk for two minutes, then vote again with `second=True` added inside the brackets.

# %% tags=["predict"]
predict("00-a", total_tokens=..., vote=..., sure=...)

# %%
session = recordings.session("cli/session-375d5d79")
per_turn = [turn.usage.total_input_tokens for turn in session.turns]
run_a = sum(per_turn)

# %%
reveal("00-a", run_a)

# %% [markdown]
# Each answer of the API says what its request took in, in three fields. No token is in two of them.
# *Read* and *written* are about the prompt cache, which is the next question.

# %%
usage = session.turns[100].usage
parts = usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens
assert sum(parts) == usage.total_input_tokens

after("00-a", lambda: lesson.classes_table(session))

# %% [markdown] tags=["given"] minutes=7
# ## What does the third call know?
#
# The server can keep the work of reading a prompt for some minutes. What it keeps is an entry in its prompt cache.
# A marker in the request says how far the entry goes.
#
# The first request *writes* the entry. A later one that begins the same way *reads* it. All other input is *fresh*.
#
# > **Given.** Two recorded calls to Claude Opus 4.8, one right after the other.
# > Both sent the same prompt of about 3,850 characters, marked for caching at its end.
# >
# > - First call: 2 tokens fresh, 1,590 written to the cache, 0 read from it.
# > - Second call: 2 tokens fresh, 0 written, 1,590 read.
# >
# > Now a third call goes out at once, while the entry is alive: same model, same key.
# > It carries **only** a short question of 12 characters, none of the text above and no history.
#
# <<question 00-b>>

# %% tags=["predict"]
predict("00-b", read_tokens=..., vote=..., sure=...)

# %%
bare = recordings.exchange(lesson.BARE)  # a question like it, recorded on another day
run_b = bare.usage.cache_read_input_tokens

# %%
reveal("00-b", run_b)

# %% [markdown] minutes=8
# ## What outlives the process
#
# So there are two problems here, and both are called memory.
#
# - What goes into this request, and in which order? That is *context engineering*. Its result is gone once the answer is there.
# - What will the next process know? That takes a **store**: files, a database, anything that outlives the program.
#
# Two arrows join them. When a turn starts, you fetch what the new message touches. When it ends, you save what will matter later.

# %%
figures.window_and_store()

# %% [markdown]
# Both arrows fit into six lines. The store has one row, and each call below plays a new process: its history is empty.

# %%
store = {"city": "Berlin"}  # stands for a file


def turn(message, history):
    recalled = [f"{key}: {value}" for key, value in store.items() if key in message]  # at its start: fetch
    if message.startswith("I moved to "):  # at the end of the turn: write
        store["city"] = message.removeprefix("I moved to ").rstrip(".")
    return [*history, *recalled, message]  # what this turn knows


print(turn("What is my city?", history=[]))
print(turn("I moved to Lisbon.", history=[]))
print(turn("Which city now?", history=[]))

# %% [markdown]
# The last call had no history, and still it knows about Lisbon. A row of the store told it.
#
# Three jobs follow, turn after turn, and they order this series.
# Keep the window small and accurate (04, 05, 10). Save what is durable and fetch it back (06, 07, 09).
# Let go of what is stale (08). What each of them costs comes first (01 to 03), and 11 puts all of it together.
#
# ### Exercise 00-1: what is left after a crash?
#
# No programming. The process dies, and a minute later a new one starts.
# For each place write `"still there"` or `"gone"`, with the quotes.
# A place is still there if the *new process* can learn from it what the old one knew.

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
# Only the file and the row are left. The cache entry may live on for minutes, yet nobody can read text out of it.
# It makes a prompt cheaper that you still have to send. The program sets its system text again, but out of its own file.
#
# <<solution 00-1>>
#
# </details>

# %% [markdown] tags=["given"] minutes=14
# ## What deserves a row
#
# Saving everything is easy, and it makes every later search worse. The short document sorts with a single question:
# *would I want to hear this again in three days?* What passes is a **durable fact**.
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
# > Three kinds never pass. Secrets, because a memory is read back word for word.
# > Remarks that nobody can check. And what the code says anyway.
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
# Judging a sentence takes a model. Keeping to a *policy* takes code.
# Here a model has read each statement and filled in five fields beside the text. Six of the twelve, as examples:

# %%
lesson.statements_table(2, 4, 5, 6, 10, 12)

# %% [markdown]
# Write `durable(statement)`. It returns `"yes"`, `"until"` or `"no"`; an end in three days or later is `"until"`.
# Read a field with a dot, as in `statement.is_secret`. Hidden statements look alike, so matching words of the text will fail.

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
# Start with what must never be stored, then what cannot be checked or stands in the code, then time. The first two lines:
#
# ```python
# if statement.is_secret:
#     return "no"
# ```
#
# A statement without an end has `ends_in_days` None, and None cannot be compared with 3. Ask `is not None` first.
# </details>
# <details><summary>Solution and why</summary>
#
# Secrets first, because a memory is read back word for word in later sessions. Then what is of no use on any day.
# Time comes last: whoever asks for the date first stores the token that works until June.
#
# <<solution 00-2>>
#
# </details>

# %% [markdown] minutes=2
# ## Four memory types
#
# Each **memory type** answers another question. The short document had a table of them, and it is lost.
# This one is rebuilt from the sentences around it.

# %%
lesson.memory_types_table()

# %% [markdown]
# Working memory is short-term; the other three are long-term. *Prefers metric units* is a fact, so it is semantic.
# *Ship with `make ship`* is a method, so it is procedural.
#
# Now compare the last two columns. Episodes are written by the clock, after every task.
# Facts and methods wait for something to be said, and nothing reminds you.
# So the two types that are read on every turn are the first to be forgotten.

# %% [markdown] tags=["exit", "given"] minutes=3
# ## Exit question
#
# > **Given.** Another session, `cli/session-cde341db`: 66 turns, no summary on the way.
# > The first request held 24,063 tokens, turn 33 held 47,453, and the last, the largest, 61,908.
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
# No programming here either. Write a pair for each: its type, and when it is read.
#
# - Types: `"working"`, `"episodic"`, `"semantic"`, `"procedural"`.
# - Read: `"every turn"`, `"on demand"`, `"never"`.
#
# A pair looks like this: `("working", "never")`.

# %% exercise="00-3"
answers = {
    "The user is allergic to nuts": ...,
    "Run the linter before every commit": ...,
    "On 3 May the migration failed at step 4": ...,
    "The tool result that just came back": ...,
    "The user's daughter is called Mia": ...,
    "Ask before you delete a branch: we lost one": ...,
}

# %%
check("00-3", answers)

# %% [markdown] minutes=10
# <details><summary>Hint</summary>
#
# Is it true, is it done, did it happen, or is it in the request already? *We lost one* is only the reason for a rule.
# </details>
# <details><summary>Solution and why</summary>
#
# What the request holds is working memory. Nobody *reads* it: it is the request. Episodes are fetched when the past comes up.
# Facts and methods come in on every turn.
#
# <<solution 00-3>>
#
# </details>
#
# ### Exercise 00-4: build the request
#
# Write `build_request(stable, history, recalled, message)`. The first three are lists of texts, `message` is one text.
# Return one flat list in the order in which it is sent.
#
# From turn to turn `stable` stays the same, `history` only gets longer, and `recalled` is another list each time.
# Remember the cache: it reads what begins the same way as before. So as much as possible should begin the same way.
# Notebook 02 puts a price on the wrong order.

# %% exercise="00-4"
def build_request(stable, history, recalled, message):
    ...

# %%
check("00-4", build_request)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Write down two turns, one above the other. Which texts stand in the same place in both?
# </details>
# <details><summary>Solution and why</summary>
#
# What changes most comes last, directly before the question. All that stands in front of it begins as it did last turn.
#
# <<solution 00-4>>
#
# </details>

# %% [markdown] tags=["three-things"]
# ## Three things this document says
#
# Each sentence has a cell that could refute it.
#
# **"Context window ≈ 200k tokens"**, says the short document. **Held until 2026.** The catalogue lists what each model takes today:

# %%
lesson.windows_table()

# %% [markdown]
# **"1M tokens on … Haiku 4.5"**, says the long one. **Contradicts** the model pages: the table has it at 200,000.
# It is Haiku 5.5 that takes a million.
#
# **"The messages array only grows"**, says the short one. **Depends on** the program around the model.
# It grows until somebody rewrites it:

# %%
pairs = zip(per_turn, per_turn[1:])
shrank = [k for k, (before, now) in enumerate(pairs, 2) if now < 0.9 * before]
print("the request shrank before turn", *shrank, "by a summary that the client wrote")

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# The recordings hold figures and digests, not answers. That the third call *did not know* the text is a rule, not a recording.
#
# With a key, three calls will show it. Put an odd word into a marked system prompt and send that twice.
# Then ask for the word without the prompt, and look at `usage` and at the answer.

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>
#
# Look at your two answers from the beginning. Would you still give them?
# *Your process* and *what was saved* are the ones this notebook stands by.

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put the path of a request of your own between the quotes: JSON, as you would pass it to `messages.create`.
# Left empty, the cell takes the request from the top of this notebook.
#
# You see counts and shares. The page it writes, `window-map.md`, adds places, digests and three questions to ask at work.
# None of your text is in either, and nothing leaves this machine.

# %%
from ctxlab.takeaways import window_map

window_map(r"" or request, write_to="window-map.md")
