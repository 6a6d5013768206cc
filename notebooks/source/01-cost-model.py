# %% [raw] tags=["lesson"]
# number = "01"
# title = "What history really costs"
# modules = ["cost", "usage", "catalogue", "tokens"]
# question = "What does an agent cost over a whole session, and what happens when it runs twice as long?"
# prerequisites = ["00"]
# house_model = "claude-opus-4-5 at its list price, in sessions recorded in January and February 2026"
# price_date = "2026-10-09"
# cost = "nothing: everything runs offline"
# interview = ["What does a 40-step agent cost?", "Double the steps: what happens to the bill?"]
# terms = ["growth law", "stable part", "token class", "cache read", "cache write", "rate card"]
# [[objectives]]
# do = "Derive the growth law and say what each of its two terms does"
# where = "A sum you can do on paper"
# [[objectives]]
# do = "Say what doubling a session does to its tokens, and which part of a request decides"
# where = "Twice the turns"
# [[objectives]]
# do = "Tell the token classes of a usage object apart, and bill each at its own rate"
# where = "Where the tokens are, and what they cost"
# [[objectives]]
# do = "Quote the cost of an agent as a curve, not as the price of one call"
# where = "Two points on one curve"

# %% [raw] tags=["instructor"]
# plan_25 = "Law on paper (5), prediction 01-a with votes (10), prediction 01-c by show of hands (6), the curve (4)."
# plan_50 = "As written. Exercise 01-1 alone, exercise 01-2 in threes: each takes one function, then all explain theirs."
# plan_80 = "As written, then exercises 01-3 and 01-5 (the second needs no programming), then everyone bills a log folder of their own."
# when_late = "Leave out prediction 01-b: show the usage object of one turn and read the three input classes aloud."
# demo = "Scroll to the slider of 'Two points on one curve' with the picture still below the edge. Let the room call out what 40 turns cost, then show it."
# [[votes]]
# prediction = "01-a"
# expected = "A 25 %, B 45 %, C 20 %, D 10 % (a guess until a pilot has been run)"
# say = "Four would be right if nothing were sent but the growing part."
# [[votes]]
# prediction = "01-b"
# expected = "A 45 %, B 35 %, C 15 %, D 5 % (a guess until a pilot has been run)"
# say = "The field named input_tokens is what is left over after the last marker."
# [[votes]]
# prediction = "01-c"
# expected = "A 25 %, B 15 %, C 45 %, D 15 % (a guess until a pilot has been run)"
# say = "Three classes, three prices, no token in two of them."

# %% [markdown] tags=["retrieval"] minutes=3
# ## From notebook 00
#
# <details><summary>Why does a session process far more tokens than its window holds?</summary>
#
# Every turn sends the whole history again. The window limits a single request; the total is the sum of them all.
# </details>
#
# <details><summary>What does the prompt cache remember for you?</summary>
#
# Nothing. It only makes the beginning of a request cheaper, and you still have to send that beginning.
# </details>

# %% tags=["setup"]
from ctxlab import cost, figures, recordings, widgets
from ctxlab.checks import after, check, give_up, predict, reveal, status
from ctxlab.checks import lesson_01 as lesson
from ctxlab.usage import Usage

# %% [markdown] minutes=6
# ## A sum you can do on paper
#
# Two numbers describe a simple agent. *P* is its **stable part**: tools and system prompt, the same on every turn.
# Each turn adds *a* tokens: a question, a tool call, a result. So turn *k* sends *P* + *k*·*a* tokens.
# Add that up over *n* turns, and you have the **growth law**.

# %%
turns, stable, added = 40, 2_000, 1_000

total = 0
for k in range(1, turns + 1):
    total += stable + k * added            # turn k sends the stable part and k turns of messages

first, second = turns * stable, added * turns * (turns + 1) // 2
print(f"{total:,} tokens = {first:,} (n·P) + {second:,} (a·n(n+1)/2)")
assert total == first + second == cost.history_input_tokens(turns, stable, added)

# %% [markdown]
# The first term grows with the turns, the second with their square. Which of them rules depends on how large *P* is.
# Many texts write *a*·*n*²/2 for the second. That is close enough to talk about, and 20·*a* short after 40 turns.
#
# ### Exercise 01-1: the sum, exactly
#
# Your agent counts differently. Its *first* turn carries no messages yet: turn 1 sends *P* tokens, turn 2 sends *P* + *a*, and so on.
# Write `total_input(turns, stable, added)` for it, without a loop.

# %% exercise="01-1"
def total_input(turns, stable, added):
    ...

# %%
check("01-1", total_input)

# %% [markdown]
# <details><summary>Hint</summary>
#
# How many times is `added` sent in all, if turn 1 sends it zero times and turn n sends it n - 1 times?
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 01-1>>
#
# Whether turn 1 already has a history is a convention. Say which one you use: over 40 turns it moves the sum by 40·*a*.
# </details>

# %% [markdown] tags=["given"] minutes=10
# ## Twice the turns
#
# Double the length of an agent, says the document, and its history costs about four times as much. Does it?
#
# > **Given.** The session of notebook 00, `cli/session-375d5d79`: its first 182 turns, before anything was summarised.
# >
# > - Turn 1 held 50,940 tokens. The user's message was 150 characters of that; the rest was there before.
# > - Turn 91, in the middle, held 102,050. Turn 182 held 153,488.
# > - Compare two totals: the input of turns 1 to 91, and the input of turns 1 to 182.
#
# <<question 01-a>>

# %% tags=["predict"]
predict("01-a", factor=..., vote=..., sure=...)

# %%
session = recordings.session("cli/session-375d5d79")
stretch = [turn.usage.total_input_tokens for turn in session.turns[:182]]
run_a = sum(stretch) / sum(stretch[:91])

# %%
reveal("01-a", run_a)

# %% [markdown]
# Is that one odd session? Every recorded stretch of 50 turns or more without a rewrite was doubled in the same way.
# (A rewrite is a request more than a tenth smaller than the one before: something was cut or summarised.)
# The table shows seven of them, from the smallest factor to the largest.
#
# *P* and *a* are fitted to each stretch. *P* is whatever every turn repeats, also what was said before the log begins.

# %%
after("01-a", lesson.doublings)

# %% [markdown] minutes=7
# ## Where the tokens are, and what they cost
#
# Every answer comes with a `usage` object. It counts the input in three fields, and no token is in two of them.
# They are **token classes**: a **cache read** was found in the cache, a **cache write** was stored there, the rest is fresh.

# %%
answer_usage = {
    "input_tokens": 10,
    "cache_read_input_tokens": 1_000,
    "cache_creation_input_tokens": 200,
    "output_tokens": 5,
}
lesson.classes_table(Usage.from_response(answer_usage))

# %% [markdown] tags=["given"]
# > **Given.** The whole session again: 253 turns, 24,691,034 input tokens.
# > The agent sets cache markers, and nothing expired on the way. Its last marker stands near the end of each request.
# > On nearly every turn, 8 tokens stood behind it.
# >
# > Over all turns, add up the field named `input_tokens`, and only that one.
#
# <<question 01-b>>

# %% tags=["predict"]
predict("01-b", input_tokens=..., vote=..., sure=...)

# %%
run_b = sum(turn.usage.input_tokens for turn in session.turns)

# %%
reveal("01-b", run_b)

# %% [markdown]
# What does an agent cost? The area under its requests: the *integral* of the window over the run.
# Here it is for this session, in three classes. The dashed line is the growth law *P* + *k*·*a*, fitted once before the summary and once behind it.

# %%
after("01-b", lambda: lesson.integral_of(session))

# %% [markdown] tags=["given"] minutes=7
# ### The bill
#
# A **rate card** has one price per class. Claude Opus 4.5, per million tokens:
# fresh input $5, written for five minutes $6.25, read $0.50.
#
# > **Given.** Of the 24,691,034 input tokens, 24,512,498 were read from the cache.
# > Almost all of the rest was written, for five minutes. Output is left out, because these logs under-report it.
#
# <<question 01-c>>

# %% tags=["predict"]
predict("01-c", input_usd=..., vote=..., sure=...)

# %%
run_c = lesson.input_bill(session)

# %%
reveal("01-c", run_c)

# %% [markdown] minutes=5
# ## Two points on one curve
#
# The document calls evicting history the difference between a $0.40 task and a $4 task. Turns alone make that difference.
# Take a task that adds 1,000 tokens a turn, at $5 per million, with no stable part and no cache.
# Both prices lie on its curve. Move the number of turns, and when you open this notebook another day, run the cell first:

# %%
explorer = widgets.explore(lesson.task_curve, turns=(1, 60, 12))
explorer

# %%
drawn = explorer.picture_html
explorer.set(turns=40)
assert explorer.picture_html != drawn
print(f"12 turns: ${lesson.task_usd(12):.2f}, 40 turns: ${lesson.task_usd(40):.2f}")

# %% [markdown]
# So when somebody asks what a 40-step agent costs, do not name a price. Name what it depends on:
# *P*, *a*, the number of turns, and the share that is read from the cache. Then draw the curve.

# %% [markdown] minutes=8
# ### Exercise 01-2: find the bug, three times
#
# All three of these bugs were reported from tools in use. Write each line again, as a function that is right.
#
# 1. The size of the prompt was taken to be `usage["input_tokens"]`.
# 2. `prompt * in_rate + cached * cached_rate + output * out_rate` was the price, where `prompt` *includes* the cached tokens.
#    Repair it, and raise `ValueError` if more is cached than was sent.
# 3. `written * base_rate * 1.25` was the price of a write, however long it was to be kept.
#    For five minutes it is 1.25 times the base rate, for an hour 2 times.
#
# All rates are dollars per million tokens.

# %% exercise="01-2"
def total_input_tokens(usage):
    # usage has: input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens
    ...


def prompt_usd(prompt, cached, output, in_rate, cached_rate, out_rate):
    # prompt, cached, output are tokens, and prompt includes cached
    ...


def writes_usd(written_5m, written_1h, base_rate):
    ...

# %%
check("01-2", total_input_tokens, prompt_usd, writes_usd)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Some APIs count the cached tokens inside the prompt. Then what was not cached is `prompt - cached`.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 01-2>>
#
# Each bug gives a figure that looks sensible, which is why it shipped. `ctxlab.cost.bill` does all three, and shows on which line each dollar stands.
# </details>

# %% [markdown] tags=["exit", "given"] minutes=3
# ## Exit question
#
# > **Given.** Another session, `cli/session-379ab089`, on Claude Sonnet 4.5: its first 166 turns, without a rewrite.
# >
# > - Turn 1 held 28,025 tokens, turn 83 held 107,532, turn 166 held 154,594.
# > - Compare two totals: the input of turns 1 to 83, and the input of turns 1 to 166.
#
# <<question 01-exit>>

# %% tags=["predict"]
predict("01-exit", factor=..., vote=..., sure=...)

# %%
other = recordings.session("cli/session-379ab089").turns[:166]
sizes = [turn.usage.total_input_tokens for turn in other]
run_exit = sum(sizes) / sum(sizes[:83])

# %%
reveal("01-exit", run_exit)

# %%
status("01")

# %% [markdown] tags=["room-stops-here"]
# ---
# ## Room stops here
#
# You have what the room was for. What follows is for an evening of your own.

# %% [markdown] minutes=10
# ### Exercise 01-3: one message, many rows
#
# Some agents log one row per content block. Each row repeats the usage of its whole message as it stood then, so the sum is too high.
# Write `fold(rows)`: one row per message id, the one with the most output, in order of first appearance.

# %%
names = "id", "input_tokens", "cache_read_input_tokens", "output_tokens"
rows = [
    dict(zip(names, ("msg_A", 2, 15_030, 1))),
    dict(zip(names, ("msg_A", 2, 15_030, 412))),
    dict(zip(names, ("msg_B", 2, 23_685, 38))),
]

# %% exercise="01-3"
def fold(rows):
    ...

# %%
check("01-3", fold)

# %% [markdown] minutes=10
# <details><summary>Solution and why</summary>
#
# <<solution 01-3>>
#
# Dashboards that added all rows up were reported to show 1.8 to 2.15 times the real figure.
# </details>
#
# ### Exercise 01-4: fit the law, and stop in time
#
# Write `growth(totals)`. It fits *P* + *k*·*a* by least squares to the turns before the first rewrite, and returns `(P, a)` unrounded.
# As above, a request more than a tenth smaller than the one before is a rewrite.

# %% exercise="01-4"
def growth(totals):
    ...

# %%
check("01-4", growth)

# %% [markdown] minutes=10
# <details><summary>Hint</summary>
#
# Turn *k* = 1 … *n* holds *t* tokens; k̄ and t̄ are the means.
# Then *a* = Σ(*k* - k̄)(*t* - t̄) / Σ(*k* - k̄)², and *P* = t̄ - *a*·k̄.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 01-4>>
#
# Turn 184 of our session misses the fitted law by more than 100,000 tokens: the history had been summarised. The law holds only in between.
# </details>
#
# ### Exercise 01-5: a rate card with a step
#
# Nothing to program: a pocket calculator will do, and within 1 % is right.
# Claude Haiku 5.5 costs $0.10 in and $0.50 out per million tokens. If the *prompt* has *more than* 100,000 tokens,
# every token of that request costs five times as much. What do these five requests cost, in dollars?

# %% exercise="01-5"
haiku_usd = {
    "5,000 in, 2,000 out": ...,
    "100,000 in, nothing out": ...,
    "100,001 in, nothing out": ...,
    "250,000 in, 4,000 out": ...,
    "99,000 in, 3,000 out": ...,
}

# %%
check("01-5", haiku_usd)

# %% [markdown]
# <details><summary>Solution and why</summary>
#
# <<solution 01-5>>
#
# One token too many, and the whole request moves to the dearer card. The answer can be as long as it likes: only the prompt is measured.
# </details>

# %% [markdown] minutes=4
# ### Where the law bends
#
# Fit *P* and *a* to the first half of a stretch, and let the law foretell the second half.
# It is off where growth is not steady: one turn adds a line, the next a huge file.
# Most sessions also grow more slowly later on. Then the law says too much.

# %%
lesson.foretold_table()

# %% [markdown] minutes=4
# ### When the log does not say enough
#
# A write costs 1.25 or 2 times the base price, by its lifetime. The log of this agent does not say which.
# Then an honest bill is a range and not a number.

# %%
lesson.bounded_bill("pi-mono/before-compaction")

# %% [markdown] minutes=4
# ### When does a cache write pay?
#
# A write costs more than fresh input, and each later read costs less. How soon has it paid?
#
# - *reads*: this many reads, and a write for 5 minutes or for an hour was cheaper than no cache.
# - *long gaps*: this many pauses of more than five minutes, and the hour is the cheaper lifetime.
# - *pings*: so many requests that only keep an entry alive still cost less than writing it again.

# %%
lesson.break_evens()

# %% [markdown] tags=["three-things"]
# ## Three things this document says
#
# Each sentence has a cell that could refute it.
#
# **"Nothing bills differently at 20k and at 199k."** **Held until 2026-10-07.** Since that day one model has two rate cards:

# %%
for tokens in (20_000, 100_000, 100_001, 199_000):
    billed = cost.bill(Usage(input_tokens=tokens), "claude-haiku-5-5")
    print(f"{tokens:>7,} tokens to Haiku 5.5: ${billed.total_usd}")

# %% [markdown]
# **"Doubling an agent's length roughly quadruples its history."** **Depends on** *P* and *a*. It takes an agent with next to no stable part:

# %%
for stable_part in (0, 1_000, 20_000, 100_000):
    factor = cost.doubling_factor(50, stable_part, 800)
    print(f"P = {stable_part:>7,}, a = 800, 50 to 100 turns: × {float(factor):.2f}")

# %% [markdown]
# **"A token is about four characters of English."** **Depends on** model and text. These recorded requests hold text and nothing else.
# The two extremes are hardly prose. The last one, for example, repeats a single word.

# %%
lesson.characters_table()

# %% [markdown] minutes=4
# ### Why the rule fails on whole requests
#
# Divide all characters of a recorded request by four, and you get far too few tokens.
# Most of the gap is *hidden*: what the server adds and no block shows, such as frames around messages and a preamble for tools.

# %%
lesson.four_characters_table()

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# Most of these logs under-report output tokens, so nearly all dollars above are input dollars. Prices are list prices of 2026-10-09.
# With a key, run a short agent loop and add up `usage` over its turns. Then compare the sum with the usage page of your account.

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put the path of a folder with your own agent logs between the quotes (JSON lines with a `usage` object in them).
# The cell says what it read and shows figures only, never text. It writes `bill.md`, one page to take to work.
# Left empty, it takes a recorded session whose output was counted in full.

# %%
from ctxlab.takeaways import bill_page

bill_page(r"" or recordings.session("pi-mono/before-compaction"), write_to="bill.md")
