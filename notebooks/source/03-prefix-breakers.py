# %% [raw] tags=["lesson"]
# number = "03"
# title = "Prefix breakers and the dead cache"
# modules = ["breakers", "diagnose"]
# question = "The cache reads nothing any more. What broke the prefix, and how do you prove it?"
# prerequisites = ["01", "02"]
# house_model = "claude-opus-5-5 in the emulator; recordings carry their own model and date"
# price_date = "2026-10-09"
# cost = "nothing: the real client talks to an emulator in this process"
# interview = ["Cache hit rate fell to zero after a deploy"]
# terms = ["prefix breaker", "render order", "first difference", "volatile value", "dead cache", "cache diagnosis"]
# [[objectives]]
# do = "Read both counters and say which kinds of miss they leave open"
# where = "Exercise 03-1: eight patients"
# [[objectives]]
# do = "Find the first difference of two requests as the cache sees it"
# where = "Exercise 03-2: the first difference"
# [[objectives]]
# do = "Decide where a value that changes on every turn should stand, and put a price on each place"
# where = "Eight tokens"
# [[objectives]]
# do = "Put a test and a linter between a prefix breaker and production"
# where = "Your turn, your code"

# %% [raw] tags=["instructor"]
# plan_25 = "Prediction 03-a with votes (9), prediction 03-c with votes (8), exercise 03-1 together at the projector (8)."
# plan_50 = "As written. Exercise 03-1 in pairs: one reads the counters, the other argues for another verdict."
# plan_80 = "As written, then exercise 03-3 in pairs and 03-5 as a race; then everyone lints a file of their own."
# when_late = "Leave out 03-b: say that sorted keys put messages in front of tools, and go to Eight tokens."
# demo = "Move the control 'place of the clock' from 4 to 1 with the room watching the dollars."
# [[votes]]
# prediction = "03-a"
# expected = "A 30 %, B 30 %, C 25 %, D 15 % (a guess until a pilot has been run)"
# say = "You sorted the keys in your dump. Nobody sorted them in the request."
# [[votes]]
# prediction = "03-b"
# expected = "A 25 %, B 15 %, C 30 %, D 30 % (a guess until a pilot has been run)"
# say = "The end of the list of tools is the middle of the request."
# [[votes]]
# prediction = "03-c"
# expected = "A 20 %, B 25 %, C 35 %, D 20 % (a guess until a pilot has been run)"
# say = "Eight tokens are cheap. What stands behind them is not."

# %% [markdown] tags=["retrieval"] minutes=2
# ## From notebooks 01 and 02
#
# <details><summary>What does a write cost, compared with fresh input, and what does a read cost?</summary>
#
# A write of five minutes costs 1.25 times fresh input. A read costs a tenth of it or less.
# </details>
#
# <details><summary>Where do entries end, and how far back does a marker look for one?</summary>
#
# They end at markers, and only there. A marker looks at 20 positions, its own first.
# </details>

# %% tags=["setup"]
import json

from ctxlab import breakers, diagnose, widgets
from ctxlab.checks import after, check, give_up, predict, reveal, status
from ctxlab.checks import lesson_03 as lesson
from ctxlab.clock import ManualClock
from ctxlab.emulator import Emulator

# %% [markdown] minutes=8
# ## The same request twice
#
# A **dead cache** is one that is written on every turn and never read. Something in front of the marker changes: a **prefix breaker**.
# The document finds it in three steps. Send the same request twice. Read both counters.
# Then dump both bodies with sorted keys and compare: *the first differing byte is the bug*.
#
# Here is a step of an agent. The agent is started anew, takes its history from a store, and sends the same step again.
# This is the `input` of the call in both requests:

# %%
first, second = lesson.sent_again()
for request in (first, second):
    print(json.dumps(request["messages"][1]["content"][0]["input"]))

# %%
def sorted_diff(first, second):
    for part in sorted({*first, *second}):  # the order of a sorted dump
        one, other = (json.dumps(body.get(part), sort_keys=True) for body in (first, second))
        if one != other:
            return part
    return "identical"


def three_steps(first, second, pause_s=40):
    clock = ManualClock()
    client = Emulator(clock=clock, counter=lesson.words).client()
    client.messages.create(**first)
    clock.advance(pause_s)
    return sorted_diff(first, second), client.messages.create(**second).usage

# %% [markdown] tags=["given"]
# > **Given.** Claude Opus 5.5, an empty cache, 40 seconds between the two requests.
# >
# > - Both: tools 600 tokens, system prompt 1,500, question 50, a call of 5, its result of 280 **with the marker**.
# > - Nothing else is marked. An entry is found where every byte in front of its end is as it was. Two more tokens follow the last block.
# > - The keys of the call's `input` stand in another order, as printed above. All else is the same, byte for byte.
#
# <<question 03-a>>

# %% tags=["predict"]
predict("03-a", read=..., written=..., vote=..., sure=...)

# %%
run_a = three_steps(first, second)

# %%
reveal("03-a", run_a)

# %% [markdown]
# To see what the cache sees, compare the bytes as they are sent:

# %%
def one_block(request, n):
    return json.dumps(request["messages"][n]["content"])


same = [one_block(first, n) == one_block(second, n) for n in range(3)]
after("03-a", lambda: print("message by message:", same))

# %% [markdown] minutes=8
# ## One more of both
#
# The next suspect: between two turns, a plug-in adds a tool. It goes to the end of the list.

# %%
fewer, more = lesson.one_more_of_both()

# %% [markdown] tags=["given"]
# > **Given.** Claude Opus 5.5, an empty cache, 40 seconds between the two requests.
# >
# > - First request: one tool of 600 tokens, system prompt 1,500 **with a marker**, question 50 **with a marker**.
# > - Second request: the same tool, then another of 116; the same system prompt **with a marker**, and the same question, unmarked.
# > - Behind it an answer of 60 and a new question of 30 **with a marker**. Two more tokens follow the last block.
# > - The sorted dump lists a request's parts by name: `max_tokens`, `messages`, `model`, `system`, `tools`.
#
# <<question 03-b>>

# %% tags=["predict"]
predict("03-b", read=..., written=..., vote=..., sure=...)

# %%
run_b = three_steps(fewer, more)

# %%
reveal("03-b", run_b)

# %% [markdown]
# `breakers.compare` goes through two requests in **render order**, the order in which the API reads them.
# It looks for the **first difference**, block by block. Compare what it says with what the sorted dumps said:

# %%
comparison, = breakers.compare([fewer, more], counter=lesson.words)
after("03-b", lambda: print(*comparison.findings, sep="\n"))

# %% [markdown] tags=["given"] minutes=8
# ## Eight tokens
#
# A **volatile value** changes on every request: a clock, a uuid, a random number.
# The document's classic bug is a clock at the head of the system prompt.
#
# > **Given.** Claude Opus 5.5: $4 per million tokens of fresh input, a write 1.25 times that, a read 0.05 times.
# > Twenty turns, 40 seconds apart, an empty cache.
# >
# > - Tools 1,000 tokens and a system prompt of 5,000 **with a marker**.
# > - Each turn adds 400 tokens to the history. The last block of the history is **marked**.
# > - A clock of 8 tokens, a different text each time. Old clocks are not kept. Two more tokens follow the last block.
# > - With the clock in front of the system prompt, the input of all 20 turns costs $1.02.
# >
# > Now the clock moves behind the last marker.
#
# <<question 03-c>>

# %% tags=["predict"]
predict("03-c", usd=..., vote=..., sure=...)

# %%
run_c = lesson.session_usd(place=4)

# %%
reveal("03-c", run_c)

# %% [markdown]
# Now move the clock yourself. Place 0 is in front of the tools, 1 in front of the system prompt, 2 behind it.
# Place 3 is behind turn 10, and 4 behind the last marker.

# %%
explorer = widgets.explore(lesson.clock_at, place=widgets.Range(0, 4, 1, label="place of the clock"))
after("03-c", lambda: explorer)

# %%
drawn = explorer.picture_html
explorer.set(place=2)
assert explorer.picture_html != drawn
after("03-c", lambda: print(explorer.figure.alt))

# %%
after("03-c", lesson.shares_of_eight_tokens)

# %% [markdown] minutes=11
# ## Exercise 03-1: eight patients
#
# Not every miss is a bug in your bytes. Two counters leave several causes open, so ask the cheap questions first.
# What was left in the cache? How long was the pause? What is known of the bytes?
#
# No programming: give each patient one of the seven verdicts below, in quotes.

# %%
lesson.patients()

# %%
for verdict, meaning in lesson.VERDICTS.items():
    print(f"{verdict}: {meaning}")

# %% exercise="03-1"
verdicts = {
    "P1": ...,
    "P2": ...,
    "P3": ...,
    "P4": ...,
    "P5": ...,
    "P6": ...,
    "P7": ...,
    "P8": ...,
}

# %%
check("03-1", verdicts)

# %% [markdown]
# <details><summary>Hint</summary>
#
# P1's marker stands in front of its last 3 tokens. P3 waited longer than an hour.
# In P5 and in P6 a message differs. Compare what was left with what was read.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 03-1>>
#
# P4 is a recorded run of a healthy agent. Whoever goes through its bytes finds nothing.
# </details>
#
# The document's table of the two counters was lost in its text. Rebuilt, it says what to do next:

# %%
after("03-a", lesson.counters_table)

# %% [markdown] minutes=8
# ## Exercise 03-2: the first difference
#
# Write `first_difference(earlier, later)` for two request bodies, as the cache sees them.
# They carry no `cache_control`: a marker is not part of the bytes.
# The parts are `"tools"`, `"system"` and `"messages"`, in render order. Each is a list, and each may be missing.
#
# - Return the pair `(part, index)` of the first item that differs.
# - A list that ends early differs at its end. So does a longer list of tools or of system blocks.
# - Where `later` is the same, or only goes on behind the last message of `earlier`, return `"nothing"`.

# %% exercise="03-2"
def first_difference(earlier, later):
    ...

# %%
check("03-2", first_difference)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Two dictionaries with the same keys in another order are equal to Python. Their `json.dumps` are not.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 03-2>>
#
# `ctxlab.first_difference` does it block by block, takes markers off first, and says whether a block was changed, moved, injected or removed.
# </details>

# %% [markdown] tags=["exit", "given"] minutes=4
# ## Exit question
#
# > **Given.** Claude Sonnet 5.5, an empty cache, 40 seconds between the two requests.
# >
# > - Both: tools 600 tokens, system prompt 2,400 **with a marker**, question 30, a call of 5, its result of 180 **with a marker**.
# > - Two more tokens follow the last block.
# > - The keys of the call's `input` stand in another order. All else is the same, byte for byte.
#
# <<question 03-exit>>

# %% tags=["predict"]
predict("03-exit", read=..., written=..., vote=..., sure=...)

# %%
run_exit = three_steps(*lesson.sent_again_with_two_markers())

# %%
reveal("03-exit", run_exit)

# %%
status("03")

# %% [markdown] tags=["room-stops-here"]
# ---
# ## Room stops here
#
# What follows is for the hours at home.

# %% [markdown] minutes=12
# ### Exercise 03-3: where the clock goes
#
# An agent must know the time of day, to the second. Write `with_clock(rules, messages, now)`.
# It returns a dictionary with `"system"` and `"messages"` for a request. Leave the list you are given as it is.
#
# - `rules` is the text of the system prompt.
# - `messages` ends with a question whose `content` is a list of one or more blocks.
# - `now` is a line of text such as `Now: 2026-11-30 14:07:31`.
#
# Send all three, word for word. Rules and conversation stand in front of the last marker.
# All that stands there must be the same bytes on the next turn.

# %% exercise="03-3"
def with_clock(rules, messages, now):
    ...

# %%
check("03-3", with_clock)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The question will be sent again as history, the time will not. So the marker goes on the question.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 03-3>>
#
# Rounding to the minute kills the cache once a minute, and loses the seconds. Behind the marker the full time costs its own tokens.
# </details>
#
# `breakers.stabilise` does this to a request you have, and says what it did:

# %%
clock = {"type": "text", "text": "It is 14:07:31 on the shop's clock.\n" + "rule " * 900}
asked = {**first, "system": [{**clock, "cache_control": {"type": "ephemeral"}}]}
steady = breakers.stabilise(asked)
print(*steady.changes, sep="\n")

# %% [markdown] minutes=10
# ### Exercise 03-4: sort what is a set
#
# A tool server lists its tools in another order on each connection, and the names in `required` too.
# Write `steady(request)`. It returns a copy of the request: the tools sorted by name, and in each `input_schema` the `required` list sorted.
# Nothing else moves. The order of an `enum` and of the messages has a meaning.

# %% exercise="03-4"
def steady(request):
    ...

# %%
check("03-4", steady)

# %% [markdown]
# <details><summary>Solution and why</summary>
#
# <<solution 03-4>>
#
# The order of tools means nothing to you and everything to the cache. The order of messages means everything to both.
# </details>

# %% [markdown] minutes=15
# ### Exercise 03-5: three broken agents
#
# No programming. The first agent is broken in its source, and a restart shows it. Which line is it?

# %%
lesson.numbered_agent()

# %% [markdown]
# The second is broken in its requests. Much differs between these two, and one thing ends the prefix.
# Give its path, as in `"system[0]"`.

# %%
one, other = lesson.agent_requests()
for request in (one, other):
    for tool in request["tools"]:
        print(tool["name"], json.dumps(tool["input_schema"]))
    print("system", json.dumps(request["system"])[:80])
    for message in request["messages"]:
        print(json.dumps(message)[:80])

# %% [markdown]
# The third changes no byte. Which turns after the first read nothing? Give a list of numbers.

# %%
lesson.agent_times()

# %% exercise="03-5"
culprits = {
    "line of the source": ...,
    "path in the requests": ...,
    "turns that read nothing": ...,
}

# %%
check("03-5", culprits)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A restart is a new process: what does a new process do in another order?
# `breakers.scan_text(lesson.AGENT)` reads source, `breakers.compare([one, other])` reads requests.
# A system prompt as text and as one block is the same to the API.
# For the third, count from the start of one request to the start of the next.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 03-5>>
#
# The clock in the log, the clock behind the marker and the uuid in the metadata never reach the prefix. A good detector says nothing about them.
# </details>

# %% [markdown] minutes=4
# ### What the API itself says
#
# Ask with `diagnostics` and the id of the message before, and the API compares structures: a **cache diagnosis**.
# It names the first part that changed. It does not say whether the cache was read:

# %%
lesson.told_by_the_api()

# %% [markdown]
# The second column is an estimate from bytes. In the second row it says 163,695 tokens, and the cache read all but 732.
# So believe the counters. `previous_message_not_found` and `unavailable` say nothing about your bytes.

# %% [markdown] minutes=3
# ### Watch a client
#
# `diagnose.watch` puts both together: counters, times and bytes of each call, and a verdict with its evidence.

# %%
clock = ManualClock()
seen = []
client = Emulator(clock=clock, counter=lesson.words).client()
watched = diagnose.watch(client, on_call=seen.append, clock=clock)
for request, pause_s in ((first, 40), (second, 40), (second, 301), (second, 0)):
    watched.messages.create(**request)
    clock.advance(pause_s)
after("03-a", lambda: print(*seen, sep="\n"))

# %% [markdown] tags=["three-things"]
# ## Three things this document says
#
# Each sentence has a cell that could refute it.
#
# **"Serialize both bodies with sort_keys=True, diff; first differing byte is the bug."** **Contradicts** the document's own list of breakers.
# This is what it says of the two pairs from above:

# %%
after("03-b", lambda: print(sorted_diff(first, second), "·", sorted_diff(fewer, more)))

# %% [markdown]
# **"Iterating a set breaks the prefix."** **Depends on** the process. Inside one, a set keeps its order, so you will not catch it in a notebook.
# Here are three processes:

# %%
print(*lesson.orders_of_a_set(), sep="\n")

# %% [markdown]
# **"Editing system mid-session" breaks the prefix.** **Holds**, from the system prompt on. Tools with a marker of their own survive, as in this recorded run:

# %%
from ctxlab import recordings

usage = recordings.exchange("crush/download_tool#1").usage
print(f"read {usage.cache_read_input_tokens:,}, written {usage.cache_creation_input_tokens:,}")

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# The emulator never misses a young entry. The real cache now and then does: in four of eleven recorded runs of one agent.
#
# With a key, send one marked request ten times within a minute. How many after the first read nothing?

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put the path of a Python file, a notebook or a folder of your own between the quotes. The cell reads it and runs nothing.
# Left empty, it takes a small agent with the document's classic bug.
#
# It shows places and kinds, and writes two files to take to work, into the folder `to-work`.
# One is a test that fails when your prefix changes, the other a hook for pre-commit.

# %%
from ctxlab.takeaways import prefix_guard

prefix_guard(r"" or lesson.CLOCK_IN_FRONT, write_to="to-work")
