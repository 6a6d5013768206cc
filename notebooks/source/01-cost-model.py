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
# do = "Say what doubling a session does to its tokens, and why the answer is not four"
# where = "Twice the turns"
# [[objectives]]
# do = "Tell the token classes of a usage object apart, and bill each at its own rate"
# where = "Where the tokens are, and what they cost"
# [[objectives]]
# do = "Quote the cost of an agent as a curve, not as the price of one call"
# where = "Two points on one curve"

# %% [raw] tags=["instructor"]
# plan_25 = "Law on paper (5), prediction 01-a with votes (10), prediction 01-c by show of hands (6), the curve (4)."
# plan_50 = "As written. Exercise 01-1 alone, exercise 01-2 in pairs: each takes one of the three functions."
# plan_80 = "As written, then exercises 01-3 and 01-5, then everyone bills a log folder of their own."
# when_late = "Leave out prediction 01-b: show the usage object of one turn and read the three input classes aloud."
# demo = "Move the slider of 'Two points on one curve' from 12 to 40 turns and let the room call out the price first."
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
# Every turn sends the whole history again. The window limits one request, the total is a sum over all of them.
# </details>
#
# <details><summary>What does the prompt cache remember for you?</summary>
#
# Nothing you could read. It makes a prefix cheaper that you send anyway.
# </details>

# %% tags=["setup"]
from ctxlab import cost, figures, recordings, widgets
from ctxlab.checks import after, check, give_up, predict, reveal, status
from ctxlab.checks import lesson_01 as lesson
from ctxlab.usage import Usage

# %% [markdown] minutes=5
# ## A sum you can do on paper
#
# Two numbers describe a simple agent. Its **stable part** P holds tools and system prompt, the same on every turn.
# Each turn adds a tokens of messages. So turn k sends P + k·a tokens.
# Add that up over n turns and you have the **growth law**.

# %%
turns, stable, added = 40, 2_000, 1_000

total = 0
for k in range(1, turns + 1):
    total += stable + k * added            # turn k sends the stable part and k turns of messages

print(f"{total:,} tokens: {turns * stable:,} of them n·P, the rest a·n(n+1)/2")
assert total == cost.history_input_tokens(turns, stable, added)

# %% [markdown]
# The first term grows with the turns, the second with their square. Which one rules depends on how large P is.
#
# ### Exercise 01-1: the sum, exactly
#
# In your agent the *first* turn carries no history: turn 1 sends P tokens, turn 2 sends P + a, and so on.
# Write `total_input(turns, stable, added)` for that agent, without a loop.

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
# Whether turn one has a history is a convention. Say which one you use: over 40 turns it moves the result by 40·a.
# </details>

# %% [markdown] tags=["given"] minutes=10
# ## Twice the turns
#
# The document says that doubling an agent's length makes its history four times as expensive.
#
# > **Given.** The session of notebook 00, `cli/session-375d5d79`: its first 182 turns, before anything was summarised.
# >
# > - Turn 1 held 50,940 tokens; most of them were there before the user said anything.
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
# **Why.** Four is the limit for an agent without a stable part and with steady growth. Here P is large, so the sum is partly linear.
# Is that one odd session? These are all recorded stretches of 50 turns or more without a rewrite:

# %%
after("01-a", lesson.doublings)

# %% [markdown] minutes=8
# ## Where the tokens are, and what they cost
#
# One usage object has three input fields, and no token is in two of them: three **token classes**.
# A **cache read** was found in the cache, a **cache write** was stored there. The rest is fresh.

# %%
answer_usage = {
    "input_tokens": 10,
    "cache_read_input_tokens": 1_000,
    "cache_creation_input_tokens": 200,
    "output_tokens": 5,
}
lesson.classes_table(Usage.from_response(answer_usage))

# %% [markdown] tags=["given"]
# > **Given.** The whole session again, 253 turns, 24,691,034 input tokens.
# > A coding agent with cache markers; nothing expired on the way. Its last marker stands near the end of each request:
# > on nearly every turn, 8 tokens stood behind it.
# >
# > Add up only the field named `input_tokens` over all turns.
#
# <<question 01-b>>

# %% tags=["predict"]
predict("01-b", input_tokens=..., vote=..., sure=...)

# %%
run_b = sum(turn.usage.input_tokens for turn in session.turns)

# %%
reveal("01-b", run_b)

# %% [markdown]
# So here is the session as it was processed: the integral of its requests, in three classes.
# The dashed line is the growth law with fitted P and a, one line up to the summary and one behind it.

# %%
after("01-b", lambda: lesson.integral_of(session))

# %% [markdown] tags=["given"] minutes=9
# ### The bill
#
# A **rate card** has a price per class. For Claude Opus 4.5, per million tokens:
# fresh input $5, written for five minutes $6.25, read $0.50.
#
# > **Given.** Of the 24,691,034 input tokens, 24,512,498 were read from the cache.
# > Almost all of the rest was written, for five minutes. Output is left out: these logs under-report it.
#
# <<question 01-c>>

# %% tags=["predict"]
predict("01-c", input_usd=..., vote=..., sure=...)

# %%
run_c = lesson.input_bill(session)

# %%
reveal("01-c", run_c)

# %% [markdown]
# **Why.** Caching divides the price of a re-read token by ten. It does not stop the re-reading.
# So most of a well-cached bill is still the same history, read over and over.

# %% [markdown] minutes=6
# ## Two points on one curve
#
# The document prices one task at $0.40 and another at $4. They are not two tasks: they are 12 and 40 turns of the same one.
# Move the number of turns.

# %%
explorer = widgets.explore(lesson.task_curve, turns=(1, 60, 12))
explorer

# %%
drawn = explorer.picture_html
explorer.set(turns=40)
assert explorer.picture_html != drawn
print(f"12 turns: ${lesson.task_usd(12):.2f}, 40 turns: ${lesson.task_usd(40):.2f}")

# %% [markdown] minutes=5
# ### Exercise 01-2: find the bug, three times
#
# Each of these has been shipped by somebody. Write the repaired version of each.
#
# 1. `total = usage["input_tokens"]` as the size of the prompt.
# 2. `prompt * in_rate + cached * cached_rate + output * out_rate`, where `prompt` *includes* the cached tokens.
#    If more is cached than was sent, raise `ValueError`.
# 3. `written * base * 1.25`, whatever lifetime the tokens were written for.
#
# Rates are dollars per million tokens. A write costs 1.25 times the base price for five minutes, 2 times for an hour.

# %% exercise="01-2"
def total_input_tokens(usage):
    # usage has: input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens
    ...


def prompt_usd(prompt, cached, output, in_rate, cached_rate, out_rate):
    ...


def writes_usd(written_5m, written_1h, base_rate):
    ...

# %%
check("01-2", total_input_tokens, prompt_usd, writes_usd)

# %% [markdown]
# <details><summary>Solution and why</summary>
#
# <<solution 01-2>>
#
# `ctxlab.cost.bill` does all three, and says on which line each dollar stands.
# </details>

# %% [markdown] tags=["exit", "given"] minutes=3
# ## Exit question
#
# > **Given.** Another agent, `cli/session-379ab089`, 166 turns on Claude Sonnet 4.5 without a rewrite.
# > Turn 1 held 28,025 tokens, turn 83 held 107,532, turn 166 held 154,594.
# > Compare the input of turns 1 to 83 with that of turns 1 to 166.
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
# What follows is for the hours at home.

# %% [markdown] minutes=10
# ### Exercise 01-3: one message, many rows
#
# Some agents log one row per content block, each with the usage of the whole message so far.
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
# Adding the rows up made dashboards show up to twice the real figure.
# </details>
#
# ### Exercise 01-4: fit the law, and stop in time
#
# Write `growth(totals)`: fit P + k·a by least squares to the turns before the first rewrite and return `(P, a)`.
# Call it a rewrite when a request is more than a tenth smaller than the one before.

# %% exercise="01-4"
def growth(totals):
    ...

# %%
check("01-4", growth)

# %% [markdown] minutes=10
# <details><summary>Hint</summary>
#
# With k = 1 … n and means k̄ and t̄: a = Σ(k - k̄)(t - t̄) / Σ(k - k̄)², and P = t̄ - a·k̄.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 01-4>>
#
# Turn 184 of our session misses the fitted law by more than 100,000 tokens: somebody rewrote the prefix. The law holds in between.
# </details>
#
# ### Exercise 01-5: a rate card with a step
#
# Claude Haiku 5.5 costs $0.10 in and $0.50 out per million tokens. If the prompt has *more than* 100,000 tokens,
# every token of that request costs five times as much. Write `haiku_usd(input_tokens, output_tokens)`.

# %% exercise="01-5"
def haiku_usd(input_tokens, output_tokens):
    ...

# %%
check("01-5", haiku_usd)

# %% [markdown]
# <details><summary>Solution and why</summary>
#
# <<solution 01-5>>
#
# One token too many and the whole request changes its card.
# </details>

# %% [markdown] minutes=4
# ### Where the law bends
#
# Fit P and a to the first half of a stretch, and let the law foretell the second half.
# It is off where growth is not steady: some turns add a line, others a huge file.

# %%
lesson.foretold_table()

# %% [markdown] minutes=4
# ### When the log does not say enough
#
# One recorded agent does not tell for how long it wrote. Then a bill is a range, not a number.

# %%
lesson.bounded_bill("pi-mono/before-compaction")

# %% [markdown] minutes=4
# ### When does a cache write pay?
#
# A write costs more than fresh input, and each later read costs less. How many reads until it has paid?

# %%
lesson.break_evens()

# %% [markdown] tags=["three-things"]
# ## Three things this document says
#
# Each sentence has a cell that could refute it.
#
# **"Nothing bills differently at 20k and at 199k."** **Held until 2026-10-07.** One model has two rate cards now:

# %%
for tokens in (20_000, 100_000, 100_001, 199_000):
    billed = cost.bill(Usage(input_tokens=tokens), "claude-haiku-5-5")
    print(f"{tokens:>7,} tokens to Haiku 5.5: ${billed.total_usd}")

# %% [markdown]
# **"Doubling an agent's length roughly quadruples its history."** **Depends on** P and a: the factor tends to 4 only without a stable part.

# %%
for stable_part in (0, 1_000, 20_000, 100_000):
    factor = cost.doubling_factor(50, stable_part, 800)
    print(f"P = {stable_part:>7,}, a = 800, 50 to 100 turns: × {float(factor):.2f}")

# %% [markdown]
# **"A token is about four characters of English."** **Depends on** model and text. Characters per token, from recorded requests that are text and nothing else.
# The extremes are no prose: the last one repeats a single word.

# %%
lesson.characters_table()

# %% [markdown] minutes=4
# ### Why the rule fails on whole requests
#
# Dividing all characters by four comes out far too low on recorded requests.
# *Hidden* is what the server adds and no block shows: frames around messages, a preamble for tools.

# %%
lesson.four_characters_table()

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# Most of these logs under-report output tokens, so the dollars above are input dollars. Prices are list prices of 2026-10-09.
# With a key, run a short agent loop and add up `usage` over the turns. Then compare with the invoice page of your account.

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put a folder of your own agent logs between the quotes (JSON lines with a `usage` object in each row).
# The cell prints what it read and shows figures only, never text. It writes `bill.md`, one page to take to work.
# Left empty, it takes a recorded session whose output counts are whole.

# %%
from ctxlab.takeaways import bill_page

bill_page("" or recordings.session("pi-mono/before-compaction"), write_to="bill.md")
