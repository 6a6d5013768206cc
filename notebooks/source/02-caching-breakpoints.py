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
# do = "Name three reasons why an untouched prefix is not read"
# where = "A long turn"
# [[objectives]]
# do = "Choose a lifetime for the pauses of your own traffic"
# where = "How long does an entry live?"
# [[objectives]]
# do = "Order the parts of a request so that what grows is read and only what is new is paid in full"
# where = "Exercise 02-2: the expensive mistake"

# %% [raw] tags=["instructor"]
# plan_25 = "Prediction 02-a with votes (8), prediction 02-c with votes (10), exercise 02-2 together at the projector (7)."
# plan_50 = "As written. Exercise 02-1 alone, exercise 02-2 in pairs: one reads the strip aloud, one edits the list."
# plan_80 = "As written, then exercises 02-3 and 02-4 in pairs, then everyone plans the markers of a request of their own."
# when_late = "Leave out the section on lifetimes: read its table of recorded pauses aloud and go to exercise 02-2."
# demo = "Move the control 'minutes apart' from 4 to 5 and ask the room what it will cost before you let go."
# [[votes]]
# prediction = "02-a"
# expected = "A 25 %, B 30 %, C 30 %, D 15 % (a guess until a pilot has been run)"
# say = "A marker is a bookmark: it stores everything in front of it, and the entry stays when the bookmark moves."
# [[votes]]
# prediction = "02-b"
# expected = "A 45 %, B 15 %, C 30 %, D 10 % (a guess until a pilot has been run)"
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
# Nothing you could read. It makes a prefix cheaper that you send anyway.
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
# Caching keeps the work for a **prefix**: every block from the first to some last one, none left out.
# It saves money, and time before the first word.
#
# A **breakpoint** is a block with a `cache_control` marker. Blocks count in one fixed order: tools, system, messages.
#
# Here is a small conversation. The marker stands on the first question, then it moves to the second.

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
# The real client sends both. It talks to an emulator that keeps the API's books in this process.
# Here one word is one token (`lesson.words`), and the frame the API puts around each block is counted in.

# %%
def usage_of_second(first, second, pause_s=40):
    clock = ManualClock()  # time moves only when told to
    client = Emulator(clock=clock, counter=lesson.words).client()
    client.messages.create(**first)
    clock.advance(pause_s)
    return client.messages.create(**second).usage

# %% [markdown] tags=["given"]
# > **Given.** Claude Opus 5.5, an empty cache, 40 seconds between the two requests.
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
# **Why.** A marker does not store a block. It stores the prefix that ends there. Six lines of Python do the same:

# %%
held = {}  # the server's side: prefix → its tokens


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
# Now change one thing at a time. Leave the old marker where it was, then change one word of the system prompt, then set a fifth marker.

# %%
keeps_both = {**base, "messages": [user(marked(why)), so, user(marked(then))]}
same = usage_of_second(first, keeps_both) == run_a
print("with the old marker as well:", "the same" if same else "something else")
changed = {**second, "system": [{**rules, "text": "Rule " + rules["text"][5:]}]}
usage = usage_of_second(first, changed)
print("one capital letter:", usage.cache_read_input_tokens, "read")
parts = [marked({"type": "text", "text": f"part {n}"}) for n in range(5)]
five = {**base, "messages": [user(*parts)]}
try:
    usage_of_second(five, five)
except BadRequestError as error:
    print("five markers:", error.status_code, error.body["error"]["message"])

# %% [markdown]
# So old markers need not stay, and a request has room for four.
# One changed letter loses everything from there on; only an entry that ends in front of it survives.

# %% [markdown] minutes=6
# ### Exercise 02-1: one marker
#
# Two people ask different questions about the same text. Write `marked_request(request)`.
# It returns the request with **one** marker, placed so that the next question reads as much as possible.
# The question is the last block of the last message. Everything before it will be sent again unchanged.
# Leave the request you are given as it is.

# %% exercise="02-1"
def marked_request(request):
    # request["system"] and request["messages"][-1]["content"] are lists of blocks
    ...

# %%
check("02-1", marked_request)

# %% [markdown]
# <details><summary>Expected</summary>
#
# The first case is a recorded pair. The first question writes 2,055 tokens, the second reads 2,055 and sends 11 fresh.
# </details>
# <details><summary>Hint</summary>
#
# Put the blocks of both lists into one list. Which one is the last that never changes? Copy before you mark.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 02-1>>
#
# On the question itself, the marker writes a new entry each time, and nobody ever reads one.
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

# %% [markdown]
# A prefix below the floor is not stored. Two zeros and no error are the sign. Models of autumn 2026 store from 512 tokens on; older ones need 1,024 to 4,096.

# %% [markdown] tags=["given"] minutes=10
# ## A long turn
#
# Nothing in front of the new blocks changes here.
#
# > **Given.** Claude Opus 5.5 again. First request: tools 600, system prompt 1,500 **with the marker**, question 50.
# > Forty seconds later comes one of two requests. Tools, system prompt and question are the same; only the marker has moved.
# >
# > - *Texts*: an answer of 60 tokens, then a message of 25 text blocks, 202 tokens in all. The marker is on the last of them.
# > - *Tools*: an answer of 15 tool calls, then a message of 15 results, 264 tokens in all. The marker is on the last of them.
# >
# > Two tokens follow the last block.
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
# **Why.** The second thing the toy lacks is a limit. From each marker the API walks back over at most 20 positions,
# the marker's own first. That is the **lookback**. A run of tool calls is one position, and so is a run of results.
# Somebody measured it on the API itself:

# %%
after("02-c", lesson.lookback_reported)

# %% [markdown]
# A `usage` object never says why. The emulator does:

# %%
after("02-c", lambda: lesson.reasons(started, texts))

# %% [markdown] minutes=6
# ## How long does an entry live?
#
# The third thing is a clock. An entry has a **lifetime** of five minutes, or of an hour with `"ttl": "1h"`.
# Each read starts it anew at no extra charge; the read itself is billed as a read. A write costs 1.25 times fresh input, or 2 times for the hour.
#
# Move the marker, the lifetime and the pause. The picture is the second of two requests that share tools, system and document.

# %%
explorer = widgets.explore(
    lesson.after_a_pause,
    marker=widgets.Range(1, 5, 3, label="marker behind block"),
    lifetime=widgets.Range(5, 60, 5, 55, "lifetime", "min"),
    pause=widgets.Range(0, 70, 4, label="minutes apart", unit="min"),
)
explorer

# %%
drawn = explorer.picture_html
explorer.set(pause=5)
assert explorer.picture_html != drawn
print(explorer.figure.alt)

# %% [markdown]
# The time runs from the **start** of the request that wrote or read the entry. A long answer uses it up:

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
# No programming: return the five parts in the order that costs least, with up to four times `"MARK"` between or behind them.
# The document's order, for a start: `["tools", "system", "MARK", "retrieved", "history", "turn"]`.

# %% exercise="02-2"
def order():
    ...

# %%
check("02-2", order)

# %%
lesson.twenty_turns(order() or lesson.DOCUMENT)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A marker at the very end makes it dearer still: the history is then written on every turn, behind text that never comes back.
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
# > **Given.** A tool loop on Claude Sonnet 5.5, an empty cache, 40 seconds between two steps.
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

# %% [markdown]
# ### Exercise 02-3: a loop of forty steps
#
# Step 0 sends block 0 (tools), 1 (system) and 2 (question). Each later step adds two blocks, a call and its result.
# So step k sends blocks 0 to 2 + 2k. Write `markers(step)`: the numbers of the blocks to mark, for steps 0 to 39.
# At most one step may stay fresh, and there is room for four markers.

# %% exercise="02-3"
def markers(step):
    ...

# %%
check("02-3", markers)

# %% [markdown]
# <details><summary>Solution and why</summary>
#
# <<solution 02-3>>
#
# The tail marker does the work. The one on the system prompt costs nothing, and is still there when the history is rewritten.
# </details>
#
# ### Exercise 02-4: the turn that is too long
#
# Blocks are numbered from 1, all of them texts. An earlier request left an entry that ends at block `entry`.
# The new request has its marker on block `tail`. Write `rescue(entry, tail)`: the block for one extra marker
# so that the entry is read, or `None` where the tail finds it by itself.

# %% exercise="02-4"
def rescue(entry, tail):
    ...

# %%
check("02-4", rescue)

# %% [markdown]
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
# A prefix will be asked for `reads` more times, each time `pause_s` seconds after an answer that took `answer_s` seconds.
# Write `lifetime(pause_s, answer_s, reads)`, which returns `"5m"`, `"1h"` or `None`, whichever costs least.
# Claude Opus 5.5 takes 1.25 times fresh input for a write of five minutes, 2 for an hour, and 0.05 for a read.
# Where an entry has ended, the next request writes it again. At equal prices take the choice that stores less.

# %% exercise="02-5"
def lifetime(pause_s, answer_s, reads):
    ...

# %%
check("02-5", lifetime)

# %% [markdown]
# <details><summary>Solution and why</summary>
#
# <<solution 02-5>>
#
# `ctxlab.breakpoints.lifetime` does it for any model and says why.
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

# %% [markdown]
# It has the same trap as a marker of your own: with a clock at the end of the last message it never reads.
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
# **"Request 1 always reports zero read."** **Contradicts** the document's own sentence on shared entries.
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
# The emulator ends an entry after exactly its lifetime; the vendor promises that time as a minimum.
# Four of eleven recorded runs of one agent missed an entry that had just been written. How much sooner the first word comes is not recorded either.
# With a key, send one marked request three times: at once, after four minutes, after eleven. Note both counters and the time to the first word.

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put the path of a request of your own between the quotes: JSON, as you would pass it to `messages.create`.
# Say how many requests will follow it, and how many seconds lie between them.
# The cell shows places, counts and reasons, never text. It writes `marker-plan.md`, a page to take to work.
# Left empty, it takes the tool request from above.

# %%
from ctxlab.takeaways import marker_plan

marker_plan("" or tools, next_turns=20, gap_s=60, write_to="marker-plan.md")
