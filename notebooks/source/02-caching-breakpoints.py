# %% [raw] tags=["lesson"]
# number = "02"
# title = "Caching breakpoints"
# modules = ["cache", "breakpoints", "emulator"]
# question = "What does a cache marker store, what does the next request read, and where do the markers belong?"
# prerequisites = ["00", "01"]
# house_model = "claude-opus-5-5 in the emulator; recordings of Claude Sonnet 4.5 and 4.6 are history and carry their date"
# price_date = "2026-10-09"
# cost = "nothing: the real client talks to an emulator in this process"
# interview = ["Cache hit rate fell to zero after a deploy (the rules behind the answer)", "What does a 40-step agent cost? (with a warm cache)"]
# terms = ["prefill", "prefix", "breakpoint", "floor", "lookback", "lifetime"]
# [[objectives]]
# do = "Say what a marker stores, and what the next request reads"
# where = "What does a marker store?"
# [[objectives]]
# do = "Say when an entry is found and when it is not"
# where = "A long turn"
# [[objectives]]
# do = "Choose a lifetime for the pauses of your own traffic"
# where = "How long does an entry live?"
# [[objectives]]
# do = "Order the parts of a request, and place its markers, so that twenty turns cost least"
# where = "Exercise 02-2: the expensive mistake"

# %% [raw] tags=["instructor"]
# plan_25 = "Prediction 02-a with votes (8), prediction 02-c with votes (10), exercise 02-2 together at the projector (7)."
# plan_50 = "As written. Exercise 02-1 alone, exercise 02-2 in pairs: one reads the strip aloud, one edits the list."
# plan_80 = "As written, then exercises 02-3 and 02-4 in pairs and 02-5 as a quiz (it needs no programming), then everyone plans the markers of a request of their own."
# when_late = "Leave out the section on lifetimes: read its table of recorded pauses aloud and go to exercise 02-2."
# demo = "Move the control 'minutes apart' from 4 to 5 and ask the room what it will cost before you let go."
# [[votes]]
# prediction = "02-a"
# expected = "A 25 %, B 30 %, C 30 %, D 15 % (a guess until a pilot has been run)"
# say = "A marker is a bookmark: it stores everything in front of it, and the entry stays when the bookmark moves."
# [[votes]]
# prediction = "02-b"
# expected = "A 40 %, B 15 %, C 30 %, D 15 % (a guess until a pilot has been run)"
# say = "Count up to the marker, not to the end of the prompt."
# [[votes]]
# prediction = "02-c"
# expected = "A 40 %, B 25 %, C 20 %, D 15 % (a guess until a pilot has been run)"
# say = "Same bytes, living entry, and still a miss: nobody looked that far back."

# %% [markdown] tags=["retrieval"] minutes=2
# ## From notebooks 00 and 01
#
# <details><summary>What does the prompt cache remember for you?</summary>
#
# Nothing. It only makes the beginning of a request cheaper, and you still have to send that beginning.
# </details>
#
# <details><summary>Which three classes of input does a usage object have, and which is the cheapest?</summary>
#
# Fresh, written and read. A read is the cheapest: a tenth of fresh input, or less.
# </details>

# %% tags=["setup"]
from anthropic import BadRequestError

from ctxlab import recordings, widgets
from ctxlab.checks import after, check, give_up, predict, reveal, status
from ctxlab.checks import lesson_02 as lesson
from ctxlab.clock import ManualClock
from ctxlab.emulator import Emulator

# %% [markdown] minutes=9
# ## What does a marker store?
#
# Before it answers, a model reads the whole request once: the **prefill**. You pay for it as input, and you wait for it.
# Caching keeps that work for a **prefix**: every block from the first to some last one, none left out.
# It saves money, and time before the first word.
#
# A **breakpoint** is a block with a `cache_control` marker. It tells the API where to store and where to look.
# Blocks count in one fixed order: tools, system, messages.
#
# Here is a small conversation. In the first request the marker stands on the question; in the second it has moved on to the next one.

# %%
rules = {"type": "text", "text": "rule " * 1_389}
base = {"model": "claude-opus-5-5", "max_tokens": 200}
base |= {"tools": [lesson.LOOKUP], "system": [rules]}
why, then = ({"type": "text", "text": text} for text in ("why " * 48, "then " * 28))


def marked(block):
    return {**block, "cache_control": {"type": "ephemeral"}}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}

# %%
so = {"role": "assistant", "content": "so " * 58}
first = {**base, "messages": [user(marked(why))]}
second = {**base, "messages": [user(why), so, user(marked(then))]}

# %% [markdown]
# The real client sends both requests, to an emulator in this process that keeps the same books as the API.
# One word counts as one token here (`lesson.words`). What the API adds around blocks and tools is counted in.

# %%
def usage_of_second(first, second, pause_s=40):
    clock = ManualClock()  # time moves only when told to
    client = Emulator(clock=clock, counter=lesson.words).client()
    client.messages.create(**first)
    clock.advance(pause_s)
    return client.messages.create(**second).usage

# %% [markdown] tags=["given"]
# > **Given.** Claude Opus 5.5, an empty cache, 40 seconds between the two requests. What is stored lives longer than that.
# >
# > - First request: tools 600 tokens, system prompt 1,500, question 50 **with the marker**.
# > - Second request: the same tools, system prompt and question, now **without** a marker on the question.
# > - Behind it an answer of 60 tokens and a second question of 30 **with the marker**.
# > - Two more tokens always follow the last block.
#
# <<question 02-a>>

# %% tags=["predict"]
predict("02-a", read=..., written=..., fresh=..., vote=..., sure=...)

# %%
run_a = usage_of_second(first, second)

# %%
reveal("02-a", run_a)

# %% [markdown]
# The server's side of this fits into six lines of Python. Do they come to the same figures?

# %%
held = {}  # what the server keeps


def toy(blocks, marker):
    ends = [tuple(blocks[: n + 1]) for n in range(marker + 1)]
    read = max((held[end] for end in ends if end in held), default=0)
    held[ends[-1]] = sum(tokens for _, tokens in ends[-1])
    return read, held[ends[-1]] - read

# %%
talk = [("tools", 600), ("system", 1_500), ("why", 50), ("so", 60), ("then", 30)]
toy(talk[:3], marker=2)
read, written = toy(talk, marker=4)
assert read == run_a.cache_read_input_tokens
assert written == run_a.cache_creation_input_tokens
print("The toy and the emulator agree.")

# %% [markdown]
# An agent does this at every step. A recorded one:

# %%
after("02-a", lesson.recorded_loop)

# %% [markdown]
# Now change one thing at a time. Leave the old marker where it was, then change one letter of the system prompt, then set a fifth marker.

# %%
keeps_both = {**base, "messages": [user(marked(why)), so, user(marked(then))]}
changed = {**second, "system": [{**rules, "text": "Rule " + rules["text"][5:]}]}
parts = [marked({"type": "text", "text": f"part {n}"}) for n in range(5)]
five = {**base, "messages": [user(*parts)]}


def three_changes():
    same = usage_of_second(first, keeps_both) == run_a
    print("with the old marker as well:", "the same" if same else "something else")
    print("one capital letter:", usage_of_second(first, changed).cache_read_input_tokens, "read")
    try:
        usage_of_second(five, five)
    except BadRequestError as error:
        print("five markers:", error.status_code, error.body["error"]["message"])

# %%
after("02-a", three_changes)

# %% [markdown]
# A request has room for four markers.
#
# <details><summary>What do the three lines say?</summary>
#
# An old marker may stay and need not. One changed letter loses everything from there on, so only an entry that ends in front of it is found.
# A fifth marker is refused before anything is read.
# </details>

# %% [markdown] minutes=6
# ### Exercise 02-1: one marker
#
# Two people ask different questions about the same text. Write `marked_request(request)`.
# It returns a copy of the request with **one** marker (five minutes, as above) and everything else as it was.
# Place it so that the next question reads as much as possible.
# The question is the last block of the last message. Everything before it will be sent again unchanged.

# %% exercise="02-1"
def marked_request(request):
    # request["system"] and request["messages"][-1]["content"] are lists of blocks
    ...

# %%
check("02-1", marked_request)

# %% [markdown]
# <details><summary>Expected</summary>
#
# The first case has the size of a recorded pair: the first question writes 2,055 tokens, the second reads 2,055 and sends 11 fresh.
# </details>
# <details><summary>Hint</summary>
#
# Put the blocks of both lists into one list. Which one is the last that never changes? Copy before you mark.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 02-1>>
#
# On the question itself, the marker would write a new entry each time, and nobody would ever read one.
# </details>

# %% [markdown] tags=["given"] minutes=5
# ## At the floor
#
# The toy lacks three things. The first is a **floor**: the smallest prefix that a model stores.
#
# > **Given.** One recorded request to Claude Sonnet 4.5, November 2025. Its floor is 1,024 tokens.
# >
# > - The whole prompt holds 1,026 tokens. The marker stands on its last block.
# > - On this model three tokens follow the last block. Nothing was in the cache before.
#
# <<question 02-b>>

# %% tags=["predict"]
predict("02-b", written=..., vote=..., sure=...)

# %%
run_b = recordings.exchange(lesson.AT_THE_FLOOR).usage

# %%
reveal("02-b", run_b)

# %% [markdown] tags=["given"] minutes=10
# ## A long turn
#
# Here nothing changes in front of the new blocks. There are only many of them.
#
# > **Given.** Claude Opus 5.5 again. First request: tools 600, system prompt 1,500 **with the marker**, question 50.
# > Forty seconds later comes one of two requests. Tools, system prompt and question are the same; only the marker has moved.
# >
# > - *Texts*: an answer of 60 tokens, then a message of 25 text blocks, 202 tokens in all. The marker is on the last of them.
# > - *Tools*: an answer of 15 tool calls, then a message of 15 results, 264 tokens in all. The marker is on the last of them.
# >
# > Two tokens follow the last block.
# >
# > Nothing you have read so far settles this one. Vote for what you expect, and work out its figures.
#
# <<question 02-c>>

# %% tags=["predict"]
predict("02-c", texts_read=..., texts_written=..., tools_read=..., vote=..., sure=...)

# %%
started = {**base, "system": [marked(rules)], "messages": [user(why)]}
quiet = "all quiet on the east side"
lines = [{"type": "text", "text": f"line {n} {quiet}"} for n in range(25)]
texts = {**base, "messages": [user(why), so, user(*lines[:-1], marked(lines[-1]))]}

call = {"type": "tool_use", "name": "lookup"}
calls = [{**call, "id": f"toolu_{n}", "input": {"q": f"line {n}"}} for n in range(15)]
result = {"type": "tool_result", "content": quiet}
results = [{**result, "tool_use_id": f"toolu_{n}"} for n in range(15)]
asked = {"role": "assistant", "content": calls}
told = user(*results[:-1], marked(results[-1]))
tools = {**base, "messages": [user(why), asked, told]}

# %%
run_c = usage_of_second(started, texts), usage_of_second(started, tools)

# %%
reveal("02-c", run_c)

# %% [markdown]
# This search is the second thing the toy lacks. It is called the **lookback**. Somebody measured it on the API itself:

# %%
after("02-c", lesson.lookback_reported)

# %% [markdown]
# A `usage` object never says why it holds what it holds. The emulator does:

# %%
after("02-c", lambda: lesson.reasons(started, texts))

# %% [markdown] minutes=6
# ## How long does an entry live?
#
# The third thing is a clock. An entry has a **lifetime** of five minutes, or of an hour with `"ttl": "1h"`.
# Each read starts it anew, and you pay no more than the read. A write costs 1.25 times fresh input, or 2 times for the hour.
#
# Two requests share tools, system prompt and a document. The picture shows the second.
# Move the marker, the lifetime and the pause, and watch both prices.

# %%
explorer = widgets.explore(
    lesson.after_a_pause,
    marker=widgets.Range(1, 5, 3, label="marker behind block"),
    lifetime=widgets.Range(5, 60, 5, 55, "lifetime", "min"),
    pause=widgets.Range(0, 70, 4, label="minutes apart", unit="min"),
)
after("02-a", lambda: explorer)

# %%
drawn = explorer.picture_html
explorer.set(pause=5)
assert explorer.picture_html != drawn
print(explorer.figure.alt)

# %% [markdown]
# The time runs from the **start** of the request that wrote or read the entry. So a long answer uses it up:

# %%
def slow(request):
    clock.advance(240)  # four minutes of streaming
    return "done"


clock = ManualClock()
client = Emulator(clock=clock, counter=lesson.words, replies=slow).client()
client.messages.create(**first)
clock.advance(90)  # after the end of the answer
usage = client.messages.create(**first).usage
print("90 seconds after the answer:", usage.cache_read_input_tokens, "read")

# %% [markdown]
# And here is what recorded agents found after their pauses. *Found* means: the next step read at least 98 % of what the step before had left.

# %%
lesson.idle_table()

# %% [markdown] minutes=8
# ## Exercise 02-2: the expensive mistake
#
# The document closes with a diagram: *stable tools → system │ breakpoint │ retrieved docs → history → current turn*.
# Everything behind the breakpoint is *volatile, full price*. Here are 20 turns of it: retrieved text is new on every turn, the history grows.

# %%
lesson.twenty_turns(lesson.DOCUMENT)

# %% [markdown]
# No programming: fill in the list. Put the five parts into the order that costs least, each of them in quotes.
# Up to four times you may put `"MARK"` behind a part.
#
# The document's order would read `"tools", "system", "MARK", "retrieved", "history", "turn"`.

# %% exercise="02-2"
def order():
    return [
        ...,
    ]

# %%
check("02-2", order)

# %%
lesson.yours(order)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Does a marker at the very end help? It makes things dearer: the history is written on every turn, behind text that never comes back.
# Which part is the same as last turn, only longer?
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 02-2>>
#
# What changes on every turn goes behind everything that only grows. The history is then read, and each turn writes only what it added.
# </details>

# %% [markdown] tags=["exit", "given"] minutes=4
# ## Exit question
#
# > **Given.** A tool loop on Claude Sonnet 5.5, an empty cache, 40 seconds between the two requests.
# >
# > - First request: tools 600 tokens, system prompt 2,400, question 30, a call of 3, its result of 180 **with the marker**.
# > - Second request: all of that **without** a marker, then another call of 3 and its result of 280 **with the marker**.
# > - Two more tokens follow the last block.
#
# <<question 02-exit>>

# %% tags=["predict"]
predict("02-exit", read=..., written=..., fresh=..., vote=..., sure=...)

# %%
run_exit = usage_of_second(*lesson.tool_loop())

# %%
reveal("02-exit", run_exit)

# %%
status("02")

# %% [markdown] tags=["room-stops-here"]
# ---
# ## Room stops here
#
# What follows is for the hours at home.

# %% [markdown] minutes=8
# ### Exercise 02-3: a loop of forty steps
#
# Step 0 sends block 0 (tools), 1 (system) and 2 (question). Each later step adds two blocks, a call and its result.
# So step *k* sends blocks 0 to 2 + 2*k*.
#
# Write `markers(step)`: a list with the numbers of the blocks to mark, for any step from 0 to 39.
# At most the blocks of one step may stay fresh, and there is room for four markers.

# %% exercise="02-3"
def markers(step):
    ...

# %%
check("02-3", markers)

# %% [markdown] minutes=8
# <details><summary>Hint</summary>
#
# Which block is the last one of step 0, of step 1, of step 2?
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 02-3>>
#
# The tail marker does the work. The one on the system prompt costs nothing, and is still there when the history is rewritten.
# </details>
#
# ### Exercise 02-4: one marker more
#
# All blocks are texts, numbered from 1. An earlier request left an entry that ends at block `entry`.
# The new request has its marker on block `tail`. Does it find the entry?
#
# Write `rescue(entry, tail)`. Where the marker finds the entry by itself, return `None`.
# Else return the block for one extra marker, so that the entry is read.

# %% exercise="02-4"
def rescue(entry, tail):
    ...

# %%
check("02-4", rescue)

# %% [markdown] minutes=8
# <details><summary>Hint</summary>
#
# A marker on block 35 looks at blocks 35 down to 16. That is 20 blocks.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 02-4>>
#
# Where a marker finds nothing, the search goes on from the next marker before it.
# </details>
#
# ### Exercise 02-5: five minutes, an hour, or no marker
#
# No programming here either. A prefix has just been asked for the first time. It will be asked for so many times more,
# each time so many seconds after the end of an answer. Which lifetime costs least: `"5m"`, `"1h"` or `"none"`, which is no marker?
#
# Claude Opus 5.5 takes 1.25 times fresh input for a write of five minutes, 2 for an hour, and 0.05 for a read.
# Where an entry has ended, the next request writes it again, at the price of a write.

# %% exercise="02-5"
lifetimes = {
    "30 s after an answer of 5 s, 10 more": ...,
    "30 s after an answer of 5 s, 1 more": ...,
    "30 s after an answer of 5 s, none more": ...,
    "420 s after an answer of 10 s, 10 more": ...,
    "420 s after an answer of 10 s, 1 more": ...,
    "240 s after an answer of 60 s, 10 more": ...,
    "3,550 s after an answer of 60 s, 10 more": ...,
}

# %%
check("02-5", lifetimes)

# %% [markdown] minutes=3
# <details><summary>Hint</summary>
#
# Count from start to start: the answer and the pause together. Then add up one write and the rest, for each of the three.
# Without a marker, 10 more requests cost 11 times fresh input.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 02-5>>
#
# The hour beats five minutes as soon as pauses are longer than five minutes and there are enough reads to pay for the write.
# `ctxlab.breakpoints.lifetime` does this sum for any model and says why.
# </details>
#
# ### Let the API move the marker
#
# A `cache_control` at the top of the request stands for a marker on the last block that can carry one.

# %%
one = marked({**base, "messages": [user(why)]})
two = marked({**base, "messages": [user(why), so, user(then)]})
assert usage_of_second(one, two) == run_a
print("The automatic marker reads and writes what the moving one does.")

# %% [markdown] minutes=2
# It has the same trap as a marker of your own. With a clock at the end of the last message it never reads.
#
# ### Fill the cache before anybody waits
#
# With `max_tokens` 0 the model reads the prompt, stores the prefix, and answers nothing.

# %%
hello = {"type": "text", "text": "warm"}
warming = {**started, "max_tokens": 0, "messages": [user(hello)]}
usage = usage_of_second(warming, started)
print("written by the first real request:", usage.cache_creation_input_tokens)

# %% [markdown] tags=["three-things"]
# ## Three things this document says
#
# Each sentence has a cell that could refute it.
#
# **"Request 1 always reports zero read."** **Contradicts** the document's own sentence on shared entries, the third one below.
# This is the first request of a recorded agent run. Another run had stored the same tools before:

# %%
usage = recordings.exchange("crush/download_tool#1").usage
print(f"read {usage.cache_read_input_tokens:,} of {usage.total_input_tokens:,}")
assert usage.cache_read_input_tokens > 0

# %% [markdown]
# Say instead: in a workspace that has not sent this prefix within its lifetime.
#
# **"Reads bill at about 0.1 times."** **Held until 2026-09.** Since then some models charge half of that, or a quarter:

# %%
lesson.read_prices_table()

# %% [markdown]
# **"Entries are shared across every request that shares the prefix, not per user."** **Depends on** the workspace.
# Users of one workspace share; another workspace of the same organisation starts cold:

# %%
api = Emulator(clock=ManualClock(), counter=lesson.words)
for workspace in ("one", "one", "another"):
    usage = api.client(workspace).messages.create(**first).usage
    print(f"{workspace:>8}: {'reads' if usage.cache_read_input_tokens else 'writes'}")

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# The emulator ends an entry after exactly its lifetime, and the vendor promises that time as a minimum.
# Four of eleven recorded runs of one agent missed an entry that had just been written.
# How much sooner the first word comes is not recorded either.
#
# With a key, send one marked request three times: at once, after four minutes, after eleven.
# Note both counters and the time to the first word.

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put the path of a request of your own between the quotes: JSON, as you would pass it to `messages.create`.
# Say how many requests will follow it, and how many seconds lie between their starts.
# Left empty, the cell takes the tool request from above.
#
# It shows places, counts and reasons, and writes `marker-plan.md`, a page to take to work.
# None of your text is in either, and nothing leaves this machine.

# %%
from ctxlab.takeaways import marker_plan

marker_plan(r"" or tools, next_turns=20, gap_s=60, write_to="marker-plan.md")
