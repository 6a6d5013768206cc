# %% [raw] tags=["lesson"]
# number = "04"
# title = "Four growth levers"
# modules = ["levers", "validity"]
# question = "The history grows with every turn. Which lever do you pull, when, and what does the bill say?"
# prerequisites = ["01", "02"]
# house_model = "claude-opus-5-5 in the emulator; the recorded session is of Claude Opus 4.5 and January 2026"
# price_date = "2026-10-09"
# cost = "nothing: recorded growth, and a cache that runs in this process"
# interview = ["Window 90 % full in the middle of a task"]
# terms = ["growth lever", "safe cut", "spill", "pointer", "read tool", "break-even turn"]
# [[objectives]]
# do = "Price a lever on a cached session, turn by turn"
# where = "A cap on the history"
# [[objectives]]
# do = "Cut a list of messages so that the API still takes it"
# where = "Exercise 04-1: where a list may be cut"
# [[objectives]]
# do = "Say from which turn on a lever pays"
# where = "A log in the way"
# [[objectives]]
# do = "Derive what offloading saves, and name the assumptions behind the figure"
# where = "Exercise 04-3: four thousand and two hundred"

# %% [raw] tags=["instructor"]
# plan_25 = "Prediction 04-a with votes (9), prediction 04-b with votes (7), the six policies at the projector (9)."
# plan_50 = "As written. Exercise 04-1 in pairs: one cuts, one plays the API."
# plan_80 = "As written, then exercise 04-2 in pairs and 04-4 as a race; then everyone prices a request of their own."
# when_late = "Leave out 04-c: say that an old payload costs a rewrite, and go to exercise 04-3."
# demo = "Move the control 'policy' from 1 to 6 with the cache, then all of it again with the cache taken away. Trimming on every turn goes from the dearest to the third cheapest."
# [[votes]]
# prediction = "04-a"
# expected = "A 55 %, B 15 %, C 20 %, D 10 % (a guess until a pilot has been run)"
# say = "You took tokens away at a tenth, and pay for the others at one and a quarter."
# [[votes]]
# prediction = "04-b"
# expected = "A 25 %, B 25 %, C 25 %, D 25 % (a guess until a pilot has been run)"
# say = "Nobody minds one expensive turn in thirty."
# [[votes]]
# prediction = "04-c"
# expected = "A 35 %, B 10 %, C 30 %, D 25 % (a guess until a pilot has been run)"
# say = "A pointer is cheap. Putting it where something else stood is not."

# %% [markdown] tags=["retrieval"] minutes=2
# ## From notebooks 01 and 02
#
# <details><summary>A session has twice the turns. How many times the input tokens?</summary>
#
# Recorded sessions: 2.2 to 3.0 times. Four times only where the history is everything.
# </details>
#
# <details><summary>When is an entry of the cache found?</summary>
#
# When a marker reaches its end, and every byte from the start of the request up to there is the same.
# </details>

# %% tags=["setup"]
from ctxlab import levers, validity, widgets
from ctxlab.checks import after, check, give_up, predict, reveal, status
from ctxlab.checks import lesson_04 as lesson

# %% [markdown] minutes=3
# ## Four levers
#
# A **growth lever** makes the history smaller. The document names four, the cheapest first:
#
# | lever | what it does | what is lost |
# | --- | --- | --- |
# | trim | drops the oldest turns | all that was said in them |
# | clear | puts a note in place of old tool results | the payload; what was asked and said stays |
# | compact | puts a summary in place of a span, with one extra call | the exact wording |
# | offload | puts a payload into the store and a **pointer** into the history | nothing, but it takes a **read tool** |
#
# That is their order by the work of building them. This notebook asks what each costs to run.

# %% [markdown] tags=["given"] minutes=9
# ## A cap on the history
#
# The long document caps the working set at 40,000 tokens. What would such a cap have done to a recorded session?
#
# > **Given.** 253 turns of a coding agent on Claude Opus 4.5: $5 per million tokens of fresh input. A write is 1.25 times that, a read 0.1 times.
# >
# > - As recorded, with caching and one compaction by the client on turn 184: 24,691,034 tokens of input for $13.37.
# > - Now the cap, and no compaction: whenever the history has more than 40,000 tokens, the oldest go until exactly 40,000 are left.
# > - In front of the history stand 16,606 stable tokens **with a marker**. The last block of every request is **marked**, as before.
# > - On 248 turns something is dropped. Together those requests hold 4,118,288 stable tokens and 9,920,000 of history.
# > - The other 5 turns cost 17 cents in all. Nobody fetches back what was dropped, and no pause lasts five minutes.
#
# <<question 04-a>>

# %% tags=["predict"]
predict("04-a", usd=..., vote=..., sure=...)

# %%
run_a = lesson.capped()

# %%
reveal("04-a", run_a)

# %% [markdown]
# Two tables go with this. The first is the recorded bill, class by class; the second is about other lengths and another model.

# %%
after("04-a", lesson.recorded_bill)

# %%
after("04-a", lesson.when_a_cap_pays)

# %% [markdown] tags=["given"] minutes=6
# ## The same cap, another depth
#
# What is taken out at once is a **spill**. So far each was as small as it could be. Here they are larger.
#
# > **Given.** The same session, prices, markers and cap of 40,000.
# >
# > - Whenever the history has more than 40,000 tokens, it is cut to exactly 20,000. That happens on 8 turns.
# > - Together those 8 requests hold 132,848 stable tokens and 160,000 of history.
# > - The other 245 requests hold 11,260,346 tokens that the request before also held, and 152,865 new ones.
#
# <<question 04-b>>

# %% tags=["predict"]
predict("04-b", usd=..., vote=..., sure=...)

# %%
run_b = lesson.capped(lesson.SPILL)

# %%
reveal("04-b", run_b)

# %% [markdown]
# Both figures rest on assumptions. The stable part is what the same agent kept in another recording, and nothing is fetched back.
# The table changes the assumptions one by one. 34,243 is what this session itself still read after its own compaction.

# %%
after("04-b", lesson.caps_table)

# %% [markdown] minutes=9
# ## Exercise 04-1: where a list may be cut
#
# Cut at the wrong place, and the API refuses this request and every one after it. A **safe cut** leaves a list that it takes.
#
# Write `safe_cut(messages, keep)`. It returns the number of the message at which the list is to begin, a whole number.
#
# - At least `keep` messages stay, or all of them if there are fewer.
# - No result loses its call.
# - Of all places where both are so, take the last.
#
# You are given valid lists: a message with results stands right behind the one with their calls. Here is one:

# %%
for number, message in enumerate(lesson.small_talk()):
    blocks = message["content"]
    kinds = "text" if isinstance(blocks, str) else ", ".join(block["type"] for block in blocks)
    print(number, message["role"].ljust(9), kinds)

# %% exercise="04-1"
def safe_cut(messages, keep):
    ...

# %%
check("04-1", safe_cut)

# %% [markdown]
# <details><summary>Expected</summary>
#
# For the list above, `keep=3` gives 5, `keep=2` gives 7 and `keep=7` gives 1.
# </details>
# <details><summary>Hint</summary>
#
# Begin at the length less `keep`, but not below 0. While a message with a `tool_result` stands there, go back by one.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 04-1>>
#
# A list may begin with an answer of the model. It may not begin with half of a pair.
# </details>
#
# `validity.safe_cuts` knows every rule of the API. `levers.trim` is stricter, by its own policy: it begins with a plain line of the user's.

# %%
talk = lesson.small_talk()
print("safe cuts:", sorted(validity.safe_cuts(talk)), " turns begin at:", levers.turn_starts({"messages": talk}))
print(validity.check({"messages": talk[2:]})[0].message)

# %% [markdown] tags=["given"] minutes=6
# ## A log in the way
#
# A long log came in a while ago, and nobody needs it in full any more. Should it be offloaded now?
#
# > **Given.** Claude Opus 5.5: $4 per million tokens of fresh input, a write 1.25 times that, a read 0.05 times.
# >
# > - First 6,000 stable tokens **with a marker**; the read tool is among them. Then the log, 20,000 tokens.
# > - Behind it 4,000 tokens of history, the last block **marked**. All of it was sent and stored 30 seconds ago.
# > - Now follow requests 1, 2, 3 and so on, 30 seconds apart. Each adds 400 tokens, and the marker moves to the end.
# > - *Kept*: the log stays. *Offloaded*: from request 1 on, a pointer of 15 tokens stands in its place.
# > - Nobody asks for the log again.
#
# <<question 04-c>>

# %% tags=["predict"]
predict("04-c", request=..., vote=..., sure=...)

# %%
run_c = lesson.log_session(offload=False), lesson.log_session(offload=True)

# %%
reveal("04-c", run_c)

# %% [markdown]
# The first turn by which a lever has cost less in all is its **break-even turn**. Here it is by hand, and by the lever of `ctxlab.levers`:

# %%
after("04-c", lesson.by_hand_and_by_the_lever)

# %% [markdown] minutes=8
# ## Exercise 04-3: four thousand and two hundred
#
# The document gives two figures for offloading a dumped file: *about 4,000 times at the margin, about 200 times in all*.
# No programming: find the assumptions behind them, then change two. Half a percent off is still right, so give *times* one decimal.
#
# - *Tokens of the file*: a pointer of 15 tokens makes it 4,000 times smaller. How long is it?
# - *Tokens of the rest*: beside this file, or its pointer, every request holds some other tokens. With the pointer, the whole request is 200 times smaller. How many others are there?
# - *Times, with the tool*: now add the read tool, 597 tokens in every request with the pointer, and in none without. How many times smaller is the request?
# - *Times, with reads*: now one request in 20 holds the whole file beside pointer and tool, because it is read. Over 20 requests together, how many times fewer tokens?
#
# Of the 597 tokens, 497 are documented for Claude Opus 4.6, and about 100 are assumed for the schema of the tool.

# %% exercise="04-3"
figures = {
    "tokens of the file": ...,
    "tokens of the rest": ...,
    "times, with the tool": ...,
    "times, with reads": ...,
}

# %%
check("04-3", figures)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Write down both requests: file + rest, pointer + rest. A field may hold the sum itself, such as `(60 + 1) / 3`.
# For the second, call the rest x: file + x = 200 · (pointer + x).
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 04-3>>
#
# The margin looks at the file alone. In all, what you cannot offload decides, and the read tool belongs to that.
# </details>

# %% [markdown] minutes=4
# ## Six policies, ten facts
#
# Here is a session built like the recorded one: its block types, lengths and pauses, at the prices of Claude Opus 5.5.
# Ten facts are planted in it, from a port to the name of an error. Six policies go through it, by number:
#
# 1. nothing but caching
# 2. trim on every turn
# 3. trim in batches
# 4. clear in batches
# 5. compact at the cap
# 6. offload at arrival
#
# Caps are 40,000 tokens of history, batches 20,000. What is scripted: the user says a line on every turn.
# A summary has 1,500 tokens and keeps five of the ten facts. (A sixth is planted after the last summary.)
# One offloaded payload in five is read again, whole.
#
# Move through the policies, with the cache, then with the cache taken away.

# %%
explorer = widgets.explore(
    lesson.policy,
    policy=widgets.Range(1, 6, 1, label="policy"),
    uncached=widgets.Range(0, 1, 0, label="cache taken away"),
)
after("04-b", lambda: explorer)

# %%
drawn = explorer.picture_html
explorer.set(policy=4)
assert explorer.picture_html != drawn
after("04-b", lambda: print(explorer.figure.alt))

# %%
after("04-b", lesson.six_policies)

# %%
after("04-b", lambda: lesson.six_policies(cached=False))

# %% [markdown] tags=["exit", "given"] minutes=3
# ## Exit question
#
# > **Given.** Claude Opus 5.5: $4 per million tokens of fresh input, a write 1.25 times that, a read 0.05 times.
# >
# > - 100 turns, 30 seconds apart. 10,000 stable tokens **with a marker**, stored already; the last block of every request is **marked**.
# > - The history begins with 30,000 tokens, and each turn adds 500. Left alone, the 100 turns cost $1.545.
# > - With the cap, the oldest tokens go on each of the 100 turns, until exactly 30,000 of history are left.
#
# <<question 04-exit>>

# %% tags=["predict"]
predict("04-exit", usd=..., vote=..., sure=...)

# %%
run_exit = lesson.hundred_turns()

# %%
reveal("04-exit", run_exit)

# %%
status("04")

# %% [markdown] tags=["room-stops-here"]
# ---
# ## Room stops here
#
# You have what the room was for. What follows is for an evening of your own.

# %% [markdown] minutes=12
# ### Exercise 04-2: net saving
#
# Write the sum of 04-c as code. Prices are multiples of fresh input: `r` for a read, `w` for a write.
# A lever takes `removed` tokens out of a warm prefix. On the first turn, `rewritten` tokens that stay behind the cut are written again.
#
# - `net_saving(removed, rewritten, turns, r, w, call=0)` is what that saves over so many turns, the first included. It counts in fresh tokens, not rounded.
# - On each of the turns the removed tokens are not read. Once, what is written again would have been read. `call` is the price of an extra call.
# - `break_even(removed, rewritten, r, w, call=0)` is the first number of turns with a saving above 0, or None if there is none.

# %% exercise="04-2"
def net_saving(removed, rewritten, turns, r, w, call=0):
    ...


def break_even(removed, rewritten, r, w, call=0):
    ...

# %%
check("04-2", net_saving, break_even)

# %% [markdown]
# <details><summary>Hint</summary>
#
# One turn saves `r * removed`. Paid once are `(w - r) * rewritten` and the call. Divide, and go up to the next whole number.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 04-2>>
#
# `effect.net_saving_usd(turns)` and `effect.break_even_turn()` do the same for any lever, in dollars, with floors and price tiers.
# </details>

# %% [markdown] minutes=12
# ### Exercise 04-4: how much at once
#
# Write `best_spill(added, cap, sizes, r, w)`: which one of `sizes` makes the history cheapest, in dollars?
#
# - The history begins empty, and `added` lists the tokens that each turn adds. If it then has more than `cap`, it is cut to `cap - size`.
# - On a turn with a cut, all that is left is written, at `w` a token.
# - On the others, what was there is read, at `r`, and what was added is written.
# - The stable part costs the same for every size, so leave it out.

# %% exercise="04-4"
def best_spill(added, cap, sizes, r, w):
    ...

# %%
check("04-4", best_spill)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Write a function that goes through the turns and gives the price of one size. Then `min(sizes, key=…)` takes the cheapest.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 04-4>>
#
# Dollars alone call for deep cuts, as long as turns follow. What sets a limit is what the agent still needs.
# </details>

# %% [markdown] minutes=12
# ### Exercise 04-5: ten facts for a cent
#
# The oldest turns of a session are about to go, and the list `texts` holds their words. Ten facts in them have to survive to the letter.
# They are of ten kinds: address with port, path, name of an error, environment variable, version, digest, link, large number, file name, mail address.
#
# Write `kept(texts)`. It returns one text to carry instead, with all ten in it.
# That text is written once and read on 99 more turns of Claude Opus 5.5. Count one word as one token. It may cost a cent in all: about 400 words.

# %% exercise="04-5"
def kept(texts):
    ...

# %%
check("04-5", kept)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `levers.find_facts` finds strings of such kinds in a text.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 04-5>>
#
# A paraphrase passes the eye and fails the next command. `levers.apply_compaction` reports every fact that a summary has lost.
# </details>

# %% [markdown]
# ### Window and store
#
# The two have opposite cost curves. What is in the window is paid on every turn, looked at or not. What is in the store is paid by the read.

# %%
lesson.window_or_store()

# %% [markdown]
# A path is the lightest pointer there is: the file system is the store, and a coding agent has its read tool already.
#
# <details><summary>A source file of 1,200 tokens is carried for 30 turns. Or its path of 6 tokens is carried, and 3 of the 30 requests hold the file as well. How many times fewer tokens, all else left out?</summary>
#
# 30 · 1,200 against 30 · 6 + 3 · 1,200: 9.5 times, and not 200.
# </details>
#
# ### Where each fact went

# %%
after("04-b", lesson.facts_table)

# %% [markdown]
# ### The same by the levers
#
# The six policies above add up blocks. On a short session of whole requests, `ctxlab.levers` must come to the same bills, to the last digit:

# %%
after("04-b", lesson.levers_agree)

# %% [markdown] tags=["three-things"]
# ## Three things this document says
#
# Each sentence has a cell that could refute it.
#
# **"Only offload appends."** **Depends on** when it is done. The same log, before it was ever sent:

# %%
assert "nothing in front is touched" in lesson.at_arrival()
after("04-c", lambda: print(lesson.at_arrival()))

# %% [markdown]
# **"Trim … Clear … Compact … Rewrites prefix."** **Holds**, behind the last marker that survives. A recorded client compacted its history:

# %%
before, turn = lesson.client_compaction()
read, written = turn.usage.cache_read_input_tokens, turn.usage.cache_creation_input_tokens
assert 0 < read < before
after("04-c", lambda: print(f"{before:,} tokens before; on the next turn {read:,} read, {written:,} written"))

# %% [markdown]
# **"Turns O(n^2) carry-cost into O(n)."** **Depends on** what is counted, tokens or dollars:

# %%
after("04-a", lesson.turns_in_dollars)

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# Does an agent work as well without what was dropped, and how often does it fetch it back? No price list says that.
# With a key, run one task under two policies, five times each. Compare results, turns and re-reads before you compare dollars.

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put the path of a request of your own between the quotes: JSON, as you would pass it to `messages.create`. Or give a folder of agent logs.
# Of a request the cell says what each lever would save over the next turns, net, and from which turn on.
# Of logs it compares caps. It shows counts, never text, and writes `break-even.md`, a page to take to work.
# Left empty, it takes a request out of the short session above.

# %%
from ctxlab.takeaways import break_even_sheet

break_even_sheet(r"" or lesson.sample_request(), turns=20, write_to="break-even.md")
