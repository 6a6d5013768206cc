# %% [raw] tags=["puzzles"]
# number = "20"
# title = "Cache Puzzles"
# question = "Fourteen small functions. Each is one rule of the prompt cache. Make every box full."
# modules = ["checks", "cache", "figures"]
# cost = "nothing: no key, no network, no client"

# %% tags=["setup"]
from ctxlab.checks import check
from ctxlab.checks import lesson_20 as puzzle

# %% [markdown] minutes=2
# ## 1 · pin

# %%
puzzle.picture("20-1")

# %% exercise="20-1"
def pin(blocks):
    # blocks: names in sending order; the last one is another text every time
    # pin(["tools", "system", "manual", "question"]) == the block to mark, from 0
    ...

# %%
check("20-1", pin)

# %% [markdown] minutes=2
# ## 2 · prefix

# %%
puzzle.picture("20-2")

# %% exercise="20-2"
def read(tokens, entry):
    # tokens: of each block; block `entry` is marked, and an entry ends there
    # read([600, 900, 50, 40], 2) == 1550
    ...

# %%
check("20-2", read)

# %% [markdown] minutes=2
# ## 3 · letters

# %%
puzzle.picture("20-3")

# %% exercise="20-3"
def letters(tokens, entry, marker):
    # entry: block at which an entry ends, or None; marker: the marked block
    # letters([600, 900, 50, 40, 30], 1, 3) == "RRWWF"
    ...

# %%
check("20-3", letters)

# %% [markdown] minutes=3
# ## 4 · survivor

# %%
puzzle.picture("20-4")

# %% exercise="20-4"
def survivor(before, after, entries):
    # before: blocks of a request, which left entries that end at blocks `entries`
    # after: blocks of the next one, marked at its end; the entry it reads, or None
    # survivor(["a", "b", "c", "d"], ["a", "b", "X", "d"], [0, 1, 3]) == 1
    ...

# %%
check("20-4", survivor)

# %% [markdown] minutes=3
# ## 5 · order

# %%
puzzle.picture("20-5")

# %% exercise="20-5"
def arrange(parts):
    # parts: (tier, name, turns for which the text stays as it is)
    # arrange([("messages", "question", 1), ("system", "manual", 400),
    #          ("tools", "lookup", 900), ("system", "today", 30)])
    # == the same parts, in the order that costs least
    ...

# %%
check("20-5", arrange)

# %% [markdown] minutes=2
# ## 6 · floor

# %%
puzzle.picture("20-6")

# %% exercise="20-6"
def stored(tokens, markers, floor):
    # markers: marked blocks; which of them store something?
    # stored([300, 200, 40], [0, 1, 2], 512) == [2]
    ...

# %%
check("20-6", stored)

# %% [markdown] minutes=2
# ## 7 · twenty

# %%
puzzle.picture("20-7")

# %% exercise="20-7"
def seen(marker):
    # all blocks are texts; the blocks at whose end a marker looks, newest first
    # seen(5) == [5, 4, 3, 2, 1, 0]
    ...

# %%
check("20-7", seen)

# %% [markdown] minutes=3
# ## 8 · positions

# %%
puzzle.picture("20-8")

# %% exercise="20-8"
def positions(kinds):
    # kinds: "text", "call" or "result"
    # positions(["text"] + ["call"] * 3 + ["result"] * 3 + ["text"]) == 4
    ...

# %%
check("20-8", positions)

# %% [markdown] minutes=4
# ## 9 · reach

# %%
puzzle.picture("20-9")

# %% exercise="20-9"
def found(kinds, entry):
    # the marker is on the last block; does it find the entry behind block `entry`?
    # found(["text"] + ["call"] * 15 + ["result"] * 15, 0) == True
    ...

# %%
check("20-9", found)

# %% [markdown] minutes=2
# ## 10 · legal

# %%
puzzle.picture("20-10")

# %% exercise="20-10"
def legal(markers):
    # markers: lifetimes in render order
    # legal(["1h", "1h", "5m", "5m"]) == True
    ...

# %%
check("20-10", legal)

# %% [markdown] minutes=4
# ## 11 · split

# %%
puzzle.picture("20-11")

# %% exercise="20-11"
def split(tokens, entry, markers):
    # markers: {block: lifetime}; give (read, written for 1h, written for 5m, fresh)
    # split([900, 700, 500, 300, 100], 0, {1: "1h", 3: "5m"}) == (900, 700, 800, 100)
    ...

# %%
check("20-11", split)

# %% [markdown] minutes=3
# ## 12 · timeline

# %%
puzzle.picture("20-12")

# %% exercise="20-12"
def timeline(starts, lifetime_s):
    # the same marked request, sent at these seconds
    # timeline([0, 200, 400, 800, 900], 300) == "WRRWR"
    ...

# %%
check("20-12", timeline)

# %% [markdown] minutes=3
# ## 13 · fan-out

# %%
puzzle.picture("20-13")

# %% exercise="20-13"
def fan_out(starts, first_byte_s):
    # the same marked request at these seconds; an answer begins first_byte_s later
    # fan_out([0, 1, 2, 5, 6], 3) == "WWWRR"
    ...

# %%
check("20-13", fan_out)

# %% [markdown] minutes=5
# ## 14 · agent

# %%
puzzle.picture("20-14")

# %% exercise="20-14"
def plan(conversation):
    # conversation: requests, 30 s apart, each a list of (name, tokens, again)
    # again: the next request sends this block again, in the same place
    # give for each request the blocks to mark: [[1], [1, 5], …]
    # read all that stayed, write what will stay and nothing else; one turn is long
    ...

# %%
check("20-14", plan)

# %% [markdown] minutes=0
# ## Your line

# %%
print(puzzle.line())
