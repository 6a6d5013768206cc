# %% [raw] tags=["lesson"]
# number = "05"
# title = "Server-side compaction and context editing"
# modules = ["emulator", "effective", "levers"]
# question = "The server offers to shorten a conversation. What does that cost, where does it show, and what is lost?"
# prerequisites = ["01", "02"]
# house_model = "claude-opus-5-5 in the emulator; recordings of Opus 4.6 and Sonnet 4.6, 2026"
# price_date = "2026-10-09"
# cost = "nothing: recorded answers, and the real client on an emulator in this process"
# interview = ["Compact or edit?", "After compaction the agent broke a rule it knew"]
# terms = ["threshold compaction", "compaction pass", "compaction block", "iteration", "context editing", "placeholder"]
# [[objectives]]
# do = "Bill a response so that no step of it is missing"
# where = "Exercise 05-1: the true bill"
# [[objectives]]
# do = "Say what a compaction reads, what it costs and when that has paid for itself"
# where = "Reading the history once more"
# [[objectives]]
# do = "Choose between clearing and compacting, in dollars and in lost words"
# where = "What both leave of the cache"
# [[objectives]]
# do = "Turn a request that the API refuses into one that it takes"
# where = "Exercise 05-2: make it legal"

# %% [raw] tags=["instructor"]
# plan_25 = "Prediction 05-a with votes (8), prediction 05-c with votes (9), exercise 05-2 together at the projector (8)."
# plan_50 = "As written. Exercise 05-1 alone, exercise 05-2 in pairs: one reads the refusal, one looks for the cure."
# plan_80 = "As written, then exercises 05-3 and 05-5 in pairs; then everyone bills a response of their own."
# when_late = "Leave out the widget behind 05-b and the strips behind 05-c: say that marked tools and rules survive a cut."
# demo = "Fill in the form of exercise 05-2 with the room, one refusal at a time, until a 200 comes back."
# [[votes]]
# prediction = "05-a"
# expected = "A 45 %, B 20 %, C 10 %, D 25 % (a guess until a pilot has been run)"
# say = "The field is older than the feature: nobody asked your dashboard."
# [[votes]]
# prediction = "05-b"
# expected = "A 20 %, B 35 %, C 30 %, D 15 % (a guess until a pilot has been run)"
# say = "Put the order behind the conversation, and the conversation is still a prefix."
# [[votes]]
# prediction = "05-c"
# expected = "A 35 %, B 30 %, C 10 %, D 25 % (a guess until a pilot has been run)"
# say = "What stays is the same. Where it stands is not."

# %% [markdown] tags=["retrieval"] minutes=2
# ## From notebooks 01 and 02
#
# <details><summary>Which three figures of a plain <code>usage</code> add up to the input of a request?</summary>
#
# What is fresh, what was read from the cache, and what was written to it. They never overlap.
# </details>
#
# <details><summary>How long does an entry of the cache live, and from when is that counted?</summary>
#
# Five minutes or an hour, counted from the start of the request that used it last.
# </details>

# %% tags=["setup"]
import json

from ctxlab import cost, effective, levers, widgets
from ctxlab.checks import after, check, give_up, predict, reveal, status
from ctxlab.checks import lesson_05 as lesson
from ctxlab.clock import ManualClock
from ctxlab.emulator import ContextRules, Emulator

# %% [markdown] minutes=10
# ## A summary in place of the history
#
# **Threshold compaction** is a setting of a request, in beta since January 2026.
# Once the prompt reaches a trigger, the server adds a **compaction pass**: the model reads the history and writes a summary.
# The trigger is 150,000 tokens unless you set another, and 50,000 at the least.
# The summary comes back in a **compaction block**, and the reply goes on from it.
#
# Each step of a request is an **iteration**, and has an entry in the list `usage.iterations`.
# Here is the `usage` of a recorded request that was too short for its trigger:

# %%
usage = lesson.usage_of(lesson.BEFORE)
print("top level:", usage.input_tokens, usage.output_tokens)
for step in usage.iterations:
    print("iteration:", step.type, step.input_tokens, step.output_tokens)

# %% [markdown] tags=["given"]
# > **Given.** The next request of the same recorded conversation, to Claude Opus 4.6.
# >
# > - The trigger is 50,000 tokens. `pause_after_compaction` is set, so the response ends behind its block.
# > - One step ran. It is of the type `compaction`, read 83,555 tokens and put out 139.
# > - Nothing was cached.
#
# <<question 05-a>>

# %% tags=["predict"]
predict("05-a", input=..., output=..., vote=..., sure=...)

# %%
run_a = lesson.usage_of(lesson.PAUSED)

# %%
reveal("05-a", run_a)

# %% [markdown]
# What was billed as input is the sum over the list of steps. Here are three more recorded requests:

# %%
by_hand = sum(step.input_tokens for step in run_a.iterations)
assert by_hand == run_a.billed_input_tokens
after("05-a", lesson.more_icebergs)

# %% [markdown] minutes=6
# ## Exercise 05-1: the true bill
#
# Write `true_bill(usage, rates)`. `usage` is a dictionary, as `response.usage.to_dict()` gives it.
# `rates` are dollars per million tokens: `"fresh"`, `"written"`, `"read"`, `"output"`.
# Return three figures: tokens of input in all three classes, tokens of output, and dollars, not rounded.
# The classes are `input_tokens`, `cache_creation_input_tokens` and `cache_read_input_tokens`, in every step.
# The list may be missing or None, and so may each count of the cache. Then the top level is the bill, and the count is 0.
# Here is the documented example, and the list prices of Claude Opus 5.5:

# %%
print(json.dumps(lesson.documented_usage(), indent=1))
print(lesson.rates_of("claude-opus-5-5"))

# %% exercise="05-1"
def true_bill(usage, rates):
    ...

# %%
check("05-1", true_bill)

# %% [markdown]
# <details><summary>Expected</summary>
#
# For the example above: 203,000 tokens of input, 4,500 of output, $0.902. Its top level suggests $0.112.
# </details>
# <details><summary>Hint</summary>
#
# Decide first which entries are billed: those of the list, or the top level as the only one. Then add up.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 05-1>>
#
# Whoever adds the top level to the list pays the replies twice. `cost.bill` does the same sum, with lifetimes and other models.
# </details>

# %% [markdown] tags=["given"] minutes=8
# ## Reading the history once more
#
# The long document warns: *you pay full freight to read the long history one last time*.
# Two recorded requests can tell.
#
# > **Given.** Claude Sonnet 4.6. Per million tokens: fresh $3, written $3.75, read $0.30, output $15.
# >
# > - A long conversation with a **marker** at its end, and a trigger of 50,000 tokens. Nothing is cached.
# > - First request: its pass wrote 55,096 tokens to the cache. 100 more were fresh, 131 were put out. That pass cost $0.209.
# > - Second request: the same conversation with the same marker, while the entry lives.
# > - Its pass has an input of the same size, and put out 83 tokens.
#
# <<question 05-b>>

# %% tags=["predict"]
predict("05-b", usd=..., vote=..., sure=...)

# %%
run_b = lesson.usage_of(lesson.WARM)

# %%
reveal("05-b", run_b)

# %% [markdown]
# The same bill by hand, every class at its price, and by the house's function:

# %%
step = run_b.iterations[0]
cached_usd = step.cache_read_input_tokens * 0.30 + step.cache_creation_input_tokens * 3.75
by_hand = (cached_usd + step.input_tokens * 3 + step.output_tokens * 15) / 1_000_000
of_each = cost.bill(run_b, "claude-sonnet-4-6").by_iteration()
assert round(by_hand, 9) == float(of_each["compaction"])

# %% [markdown]
# Whatever it costs, it is not quick. No word of the reply comes before the summary is written, and the user sees a stall.
# Compact where nobody waits: pause at the end of a task, or compact on demand in the background.

# %% [markdown]
# When has it paid for itself? Every later turn is shorter, and a cached turn was cheap already. Move the sizes, and take the cache away.
# Tools and system prompt are assumed to have 16,600 tokens, and to stay as they are.

# %%
Range = widgets.Range
explorer = widgets.explore(
    lesson.pays_back,
    history=Range(60_000, 400_000, 180_000, 20_000, "history", "tokens"),
    summary=Range(500, 10_500, 3_500, 500, "summary", "tokens"),
    uncached=Range(0, 1, 0, label="cache taken away"),
)
explorer

# %%
drawn = explorer.picture_html
explorer.set(summary=7_000)
assert explorer.picture_html != drawn
print(explorer.figure.alt)

# %% [markdown] minutes=8
# ## Clearing instead of summarising
#
# **Context editing** takes things out and summarises nothing. No pass runs, and what stays is word for word what it was.
# Beyond a trigger, old tool results give way to a **placeholder**. You go on sending all of them.
# By default it starts at 100,000 tokens and keeps the newest three. The placeholder's words, and its 9 tokens, are the emulator's own.
# This is what the model reads:

# %%
def cleared(messages, keep=3):
    done = list(messages)
    kinds = [message["content"][0]["type"] for message in messages]
    results = [n for n, kind in enumerate(kinds) if kind == "tool_result"]
    for n in results[:-keep]:
        block = {**messages[n]["content"][0], "content": effective.PLACEHOLDER}
        done[n] = {"role": "user", "content": [block]}
    return done


first, second = lesson.four_and_five()
assert lesson.as_read(second)["messages"] == cleared(second["messages"])
for message in lesson.as_read(second)["messages"]:
    print(json.dumps(message["content"][0])[:88])

# %% [markdown] tags=["given"]
# The long document calls this *cache-friendly*; the short one says that it rewrites the prefix.
#
# > **Given.** Claude Opus 5.5, an empty cache, 40 seconds between the two requests.
# >
# > - Both: tools 600 tokens, system prompt 1,500 **with a marker**, question 50.
# > - First request: four calls of 5, each with its result of 4,000. The last result has a **marker**.
# > - Second request: a fifth call of 5 and its result of 4,000 **with a marker**. The one before it is no longer marked.
# > - Tool results are cleared beyond 20,000 tokens, all but the newest three. A cleared one takes 9 tokens.
# > - Two more tokens follow the last block.
#
# <<question 05-c>>

# %% tags=["predict"]
predict("05-c", read=..., written=..., vote=..., sure=...)

# %%
def two_turns(first, second, **options):
    clock = ManualClock()
    client = Emulator(clock=clock, counter=lesson.words, **options).client()
    client.beta.messages.create(**first, betas=[lesson.EDITING])
    clock.advance(40)
    return client.beta.messages.create(**second, betas=[lesson.EDITING])


run_c = two_turns(first, second)

# %%
reveal("05-c", run_c)

# %% [markdown] minutes=3
# ## What both leave of the cache
#
# The long document says that a compaction *kills* the cache. Recorded requests after one, by an agent's own summary:

# %%
after("05-c", lesson.after_the_cut)

# %% [markdown]
# What was marked in front of the history is still the same prefix. One agent read nothing; what it had marked, its log does not say.
# Here is a compaction by the emulator, first its pass, then its reply:

# %%
after("05-c", lesson.around_the_cut)

# %% [markdown]
# A compaction breaks the prefix once, and then it grows again. Clearing breaks it whenever one more result leaves the newest three.
# That is so if the server clears anew on every request, as the emulator does: you go on sending everything.
# Then `clear_at_least`, the documented cure, only delays it. To clear in batches, let `keep` grow with each call and fall back to three:

# %%
after("05-c", lesson.five_policies)

# %% [markdown]
# Without a cache, clearing always saves. With one, it has to be rare to pay.
# What is lost differs too: clearing keeps no word of an old result, a summary keeps some words of everything.
# Clear what can be fetched again. Compact where the thread of decisions matters.

# %% [markdown] minutes=8
# ## Exercise 05-2: make it legal
#
# A team took two edits from the long document's code. It added a compaction as the short document has it, to start early.

# %%
lesson.draft()

# %% [markdown]
# No programming: fill in the form. What is left blank stays as the team wrote it, and the API refuses one thing at a time.
# `betas` is a list of headers: `context-management-2025-06-27` opens the edits, `compact-2026-01-12` the compaction.
# `order` is a list of the three parts, `parameter` the value of `thinking`.
# The compaction is to start as early as the API allows.

# %% exercise="05-2"
form = {
    "client": ...,  # "client.messages" or "client.beta.messages"
    "betas": ...,
    "clearing": ...,  # the type of this edit
    "thinking": ...,  # the type of this edit
    "compaction": ...,  # the type of this edit
    "order": ...,  # "clearing", "thinking", "compaction"
    "trigger": ...,  # of the compaction, in tokens
    "parameter": ...,  # thinking={"type": "disabled"} or {"type": "adaptive"}
}

# %%
print(lesson.answer_to(form))

# %%
check("05-2", form)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Two betas, two headers. A header has hyphens, the type of an edit has underscores. Both end in a date.
# Fill in one field and run the cell: a refusal of a type names the types that your headers open.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 05-2>>
#
# The long document has the order right; the team turned it round. The words about order, trigger and unknown edits are the emulator's own.
# The others were reported by users, or are the client's.
# </details>

# %% [markdown] tags=["exit", "given"] minutes=4
# ## Exit question
#
# > **Given.** A recorded request to Claude Sonnet 4.6, not paused.
# >
# > - The conversation has 99,027 tokens. The trigger is 50,000, and nothing was cached.
# > - Two steps ran: a pass, and the reply. The pass read the conversation and 168 tokens of its own, and put out 81.
# > - Billed in all: 99,357 tokens of input, 92 of output.
#
# <<question 05-exit>>

# %% tags=["predict"]
predict("05-exit", input=..., output=..., vote=..., sure=...)

# %%
run_exit = lesson.usage_of(lesson.REPLIES)

# %%
reveal("05-exit", run_exit)

# %%
status("05")

# %% [markdown] tags=["room-stops-here"]
# ---
# ## Room stops here
#
# What follows is for the hours at home.

# %% [markdown] minutes=12
# ### Exercise 05-3: go on after a compaction
#
# Write `go_on(messages, response, question)`: the messages of the next request.
# `messages` were sent, `response` is the answer as a dictionary, `question` is the user's next text.
# A message has `role` and `content` only; `stop_reason` is not sent back.
# The server has to read the summary in place of the history, then the reply if there is one, and the question last.
# Where the summary failed, the block's `content` is None, and the whole history has to go along.
# Leave what you are given as it is.

# %% exercise="05-3"
def go_on(messages, response, question):
    ...

# %%
check("05-3", go_on)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The server ignores what stands in front of the last block that holds a summary. You need not drop anything.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 05-3>>
#
# Append the text alone, and the summary is gone: the next prompt is the long one, and is compacted again. With the block, recorded prompts were 216 to 255 tokens.
# </details>

# %% [markdown] minutes=12
# ### Exercise 05-4: turns to pay
#
# Write `turns_to_pay(history, summary, fixed, read)`, all prices as multiples of fresh input, and `read` that of a read.
# The pass reads `history` at `read`, and puts out `summary` at 5.
# From then on each turn sends `fixed + summary` instead of `history`, all of it at `read`.
# Only on the first of these turns the summary costs 1.25: it is written. Without a cache `read` is 1 and so is a write.
# Return the first whole number of turns after which compacting has cost no more. Return None where it never comes.

# %% exercise="05-4"
def turns_to_pay(history, summary, fixed, read):
    ...

# %%
check("05-4", turns_to_pay)

# %% [markdown]
# <details><summary>Expected</summary>
#
# 180,000 tokens into 3,500 with 16,600 fixed: 4 turns with a warm cache at 0.05, 2 without a cache.
# </details>
# <details><summary>Hint</summary>
#
# Divide what is paid once by what each turn saves. `math.ceil` rounds up.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 05-4>>
#
# With a warm cache, more than half of what is paid once is the summary's output. Ask for a shorter one, and it pays sooner.
# </details>

# %% [markdown] minutes=15
# ### Exercise 05-5: three exact strings
#
# A response is paused behind its summary. Before the history goes, save it.
# Write `carry_on(messages, response, exact, question)`. It returns a pair: a text to store, and the messages of the next request.
# Each string of the list `exact` must be found in the store, character by character, as it stands in a text of `messages`.
# The response's `content` is the first message, as the assistant's and unchanged. The history is not sent again.
# A message has `role` and `content` only; `stop_reason` is not sent back.
# Every exact string that the summary has lost goes along word for word, with the question in the last message.

# %%
told = "The service listens on 18081, the feed could not be read."
print(levers.missing(["8081", "feed"], told))
print(levers.words_of([{"role": "user", "content": [{"type": "text", "text": "Zürich"}]}]))

# %% exercise="05-5"
def carry_on(messages, response, exact, question):
    ...

# %%
check("05-5", carry_on)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `levers.words_of(messages)` is every text there is. `json.dumps` would write quotes, backslashes and umlauts in another way.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 05-5>>
#
# A summary is a paraphrase. Whatever must survive to the letter is looked for as a string, and not by eye.
# </details>

# %% [markdown]
# ### On demand
#
# Since September 2026 you can ask for a compaction in a request of its own, without a threshold. Anthropic's documentation recommends it where it exists.
# The block is signed, goes first in `messages`, and needs the header `compact-2026-09-04` from then on.
# With the client's tool runner, `compact_before_next_turn()` does it between two turns.

# %%
def told_on_demand():
    answer = lesson.on_demand()
    print(answer.stop_reason, [block.type for block in answer.content])
    print("top level:", answer.usage.input_tokens, answer.usage.output_tokens)
    for step in answer.usage.iterations:
        print("iteration:", step.type, step.input_tokens, step.output_tokens)


after("05-a", told_on_demand)

# %% [markdown]
# ### How much of a session is tool output
#
# The long document speaks of a transcript that is *90 % noise*, without a source. Three recorded sessions, by characters:

# %%
lesson.shares_of_a_session()

# %% [markdown]
# Whether that is noise, the figures do not say. They say what clearing could reach.
#
# ### Thinking that stays
#
# Thinking is cleared by an edit of its own, which goes first. Kept thinking keeps the prefix; dropped, it breaks it there.
# What happens without the edit depends on the model, so set `keep` yourself.

# %%
lesson.thinking_kept()

# %% [markdown]
# ### Where reports disagree
#
# The page on context editing says that clearing breaks the cached prefix. Some users report that reads go on.
# The emulator has a switch for it. What would the second request read if they were right?

# %%
def if_they_are_right():
    usage = two_turns(
        *lesson.four_and_five(), context_rules=ContextRules(edits_and_cache="after")
    ).usage
    print(f"{usage.cache_read_input_tokens:,} read")


after("05-c", if_they_are_right)

# %% [markdown]
# ### What a model is told about its window
#
# Some models see how much of the window is left: Sonnet 4.5, 4.6 and 5, and Haiku 4.5. Later ones can be given a budget for a task instead.
# Anthropic's documentation also names *context rot*: recall gets worse as the window fills, long before it is full. That is a reason to shorten even where it costs.

# %% [markdown] tags=["three-things"]
# ## Three things this document says
#
# Each sentence has a cell that could refute it.
#
# **"Compaction rewrites the prefix, so it invalidates the prompt cache."** **Depends on** what is marked in front of the history.
# A recorded agent, on the first request after its summary:

# %%
from ctxlab import recordings

usage = recordings.session("cli/session-1284c080").turns[159].usage
written, read = usage.cache_creation_input_tokens, usage.cache_read_input_tokens
print(f"{written:,} written, {read:,} still read")
assert read > 0

# %% [markdown]
# **"Aggressive editing (which doesn't rewrite the prefix wholesale)"** **Contradicts** the short document, *both rewrite the prefix*.
# The emulator holds with the short one. In degree the long one has a point: cleared in batches, the prefix breaks seldom.

# %%
def still_read():
    stored = 18_170  # tokens up to the last marker of the first request
    share = two_turns(first, second).usage.cache_read_input_tokens / stored
    assert share < 0.5
    print(f"{share:.0%} of what was stored is still read")


after("05-c", still_read)

# %% [markdown]
# **"Past a threshold (~100k)"** **Held until** 2026-08-20 for compaction by the Python client, which was removed then.
# The server's own threshold is another one:

# %%
lesson.triggers()

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# Summaries are scripted here: nobody can tell offline what a model would keep, or how long you would wait for it.
# Nor is it documented whether a server remembers what it cleared; the emulator clears anew on every request.
# With a key, send 05-c's two requests to a model of your own and compare what the second one reads.

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put the path of a saved response, of a log or of a folder of logs between the quotes.
# The cell bills every step and says what the top level leaves out. It shows figures, never text.
# It writes two files to take to work: `true-bill.md`, a page, and `true_bill.py`, a function without dependencies.
# Left empty, it takes a recorded response.

# %%
from ctxlab.takeaways import true_bill_page

true_bill_page("" or lesson.recorded_answer(), write_to=".")
