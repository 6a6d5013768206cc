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
# The trigger is 150,000 tokens unless you set another; 50,000 is the least you can set.
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
# What was billed as input is the sum over the list of steps. Three more recorded requests, drawn in the same way:

# %%
by_hand = sum(step.input_tokens for step in run_a.iterations)
assert by_hand == run_a.billed_input_tokens
after("05-a", lesson.more_icebergs)

# %% [markdown] minutes=6
# ## Exercise 05-1: the true bill
#
# Write `true_bill(usage, rates)`. It returns three numbers: tokens of input in all three classes, tokens of output, and dollars, not rounded.
#
# - `usage` is a dictionary, as `response.usage.to_dict()` gives it. `rates` are dollars per million tokens.
# - Input is `input_tokens` at the rate `"fresh"`, `cache_creation_input_tokens` at `"written"`, `cache_read_input_tokens` at `"read"`. Every step has these fields.
# - Output is `output_tokens`, at the rate `"output"`.
# - The list `iterations` may be missing or None. Then the top level is the bill.
# - Each count of the cache may be missing or None. Then it is 0.
#
# Here is the documented example, with the list prices of Claude Opus 5.5:

# %%
def example():
    print(json.dumps(lesson.documented_usage(), indent=1))
    print(lesson.rates_of("claude-opus-5-5"))


after("05-a", example)

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
# Whatever it costs, it is not quick. Not a word of the reply comes before the summary is written, and the user sees it stall.
# So compact where nobody waits: pause at the end of a task, or compact on demand in the background.

# %% [markdown]
# And when has it paid for itself? Every later turn is shorter. Move the two sizes, then take the cache away.
# Tools and system prompt are assumed to have 16,600 tokens, and to stay as they are.

# %%
Range = widgets.Range
explorer = widgets.explore(
    lesson.pays_back,
    history=Range(60_000, 400_000, 180_000, 20_000, "history", "tokens"),
    summary=Range(500, 10_500, 3_500, 500, "summary", "tokens"),
    uncached=Range(0, 1, 0, label="cache taken away"),
)
after("05-b", lambda: explorer)

# %%
drawn = explorer.picture_html
explorer.set(summary=7_000)
assert explorer.picture_html != drawn
after("05-b", lambda: print(explorer.figure.alt))

# %% [markdown] minutes=8
# ## Clearing instead of summarising
#
# **Context editing** takes things out and summarises nothing. No pass runs, and what stays is word for word what it was.
# Beyond a trigger, the server puts a **placeholder** where an old tool result stood. You go on sending the result itself.
#
# By default clearing starts at 100,000 tokens and keeps the newest three. The words of the placeholder, and its 9 tokens, are the emulator's own.
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
# The long document says that a compaction *kills* the cache. Here are recorded requests, each the first after an agent's own summary:

# %%
after("05-c", lesson.after_the_cut)

# %% [markdown]
# And here is a compaction by the emulator, first its pass, then its reply:

# %%
after("05-c", lesson.around_the_cut)

# %% [markdown]
# Now forty turns, each with a tool result, under five policies:

# %%
after("05-c", lesson.policies)

# %% [markdown]
# The bill is one half of the choice. The other is what is lost: clearing keeps no word of an old result, a summary keeps some words of everything.
# Clear what can be fetched again. Compact where the thread of decisions matters.

# %% [markdown] minutes=8
# ## Exercise 05-2: make it legal
#
# A team took two edits from the long document's code, and added the compaction that the short document has. It is to start early.

# %%
lesson.draft()

# %% [markdown]
# No programming: fill in the form. What you leave blank stays as the team wrote it, and the API refuses one thing at a time.
#
# - `betas` is a list of headers: `context-management-2025-06-27` opens the edits, `compact-2026-01-12` the compaction.
# - `order` is a list of the three parts, `parameter` the value of `thinking`.
# - The compaction is to start as early as the API allows.

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
# Two betas, two headers. A header has hyphens, the type of an edit has underscores, and both end in a date.
# Fill in one field, run the cell and read: where a type is refused, the API names the types that your headers open.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 05-2>>
#
# The long document has the order right; the team turned it round.
# What is said about order, trigger and unknown edits is in the emulator's own words. The rest was reported by users, or is the client's.
# </details>

# %% [markdown] tags=["exit", "given"] minutes=4
# ## Exit question
#
# > **Given.** A recorded request to Claude Sonnet 4.6, not paused.
# >
# > - The conversation has 99,027 tokens. The trigger is 50,000, and nothing was cached.
# > - Two steps ran, a pass and the reply. The pass read the conversation and 168 tokens of its own, and put out 81.
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
# You have what the room was for. What follows is for an evening of your own.

# %% [markdown] minutes=12
# ### Exercise 05-3: go on after a compaction
#
# Write `go_on(messages, response, question)`: the messages of the next request.
# `messages` were sent, `response` is the answer as a dictionary, `question` is the user's next text.
#
# - The server has to read the summary in place of the history, then the reply if there is one, and the question last.
# - Where the summary failed, the block's `content` is None, and the whole history has to go along.
# - A message has `role` and `content` only; `stop_reason` is not sent back.
# - Leave what you are given as it is.

# %% exercise="05-3"
def go_on(messages, response, question):
    ...

# %%
check("05-3", go_on)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The server ignores what stands in front of the last block that holds a summary. So you need not drop anything.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 05-3>>
#
# Append the text alone, and the summary is gone: the next prompt is the long one, and is compacted again.
# With the block, recorded prompts had 216 to 255 tokens.
# </details>

# %% [markdown] minutes=12
# ### Exercise 05-4: turns to pay
#
# Write `turns_to_pay(history, summary, fixed, read)`. The first three are tokens; `read` is the price of a read, as a multiple of fresh input.
#
# - The pass reads `history` at `read`, and puts out `summary` at 5.
# - From then on each turn sends `fixed + summary` instead of `history`, all of it at `read`.
# - Only on the first of these turns the summary costs 1.25, because it is written. Without a cache `read` is 1, and so is a write.
#
# Return the first whole number of turns after which compacting has cost no more than going on. Where that never comes, return None.

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
# With a warm cache, more than half of what the example pays once is the summary's output. Ask for a shorter one, and it pays sooner.
# </details>

# %% [markdown] minutes=15
# ### Exercise 05-5: three exact strings
#
# A response is paused behind its summary. Before the history goes, save it.
# Write `carry_on(messages, response, exact, question)`. It returns a pair: a text to store, and the messages of the next request.
#
# - The store holds every text of `messages`, character by character. So each string of the list `exact` is found in it.
# - The response's `content` is the first message, as the assistant's and unchanged. The history is not sent again.
# - Every exact string that the summary has lost goes along word for word, with the question in the last message.
# - A message has `role` and `content` only; `stop_reason` is not sent back.
#
# A string can hide in a longer one, so `in` is not enough to say that the summary still has it:

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
# `levers.words_of(messages)` is every text there is, and `levers.missing` says which strings are lost.
# `json.dumps` would write quotes, backslashes and umlauts in another way.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 05-5>>
#
# A summary is a paraphrase. Whatever has to survive to the letter is looked for as a string, and not by eye.
# </details>

# %% [markdown]
# ### On demand
#
# Since September 2026 you can ask for a compaction in a request of its own, without a threshold. Anthropic's documentation recommends it wherever it is offered.
# The block is signed. It goes first in `messages`, and needs the header `compact-2026-09-04` from then on.
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
# The figures do not say whether that is noise. They say how much clearing could reach.
#
# ### Thinking that stays
#
# Thinking is cleared by an edit of its own, which goes first. Thinking that stays leaves the prefix as it was. Where some is dropped, the prefix breaks.
# What happens without the edit depends on the model, so set `keep` yourself:

# %%
lesson.thinking_kept()

# %% [markdown]
# ### Where reports disagree
#
# On what the second request of 05-c reads, the page on context editing and some users disagree.
# The emulator follows the page, and has a switch for the other side:

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
# Some models are told how much of the window is left: Sonnet 4.5, 4.6 and 5, and Haiku 4.5. Later ones can be given a budget for a task instead.
# Anthropic's documentation also speaks of *context rot*: recall gets worse as the window fills, long before it is full. So shortening can be worth its price.

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
assert read > 0
after("05-c", lambda: print(f"{written:,} written, {read:,} still read"))

# %% [markdown]
# **"Aggressive editing (which doesn't rewrite the prefix wholesale)"** **Contradicts** the short document, *both rewrite the prefix*.
# The two requests of 05-c decide between them:

# %%
after("05-c", lambda: print(lesson.still_read(two_turns(first, second).usage)))

# %% [markdown]
# **"Past a threshold (~100k)"** **Held until** 2026-08-20 for compaction by the Python client, which was removed then.
# The server's own threshold is another one:

# %%
lesson.triggers()

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# Summaries are scripted here: nobody can tell offline what a model would keep, or how long you would wait for it.
# Nor is it documented whether a server remembers what it cleared. The emulator clears anew on every request.
# With a key, send the two requests of 05-c to a model and compare what the second one reads.

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

true_bill_page(r"" or lesson.recorded_answer(), write_to=".")
