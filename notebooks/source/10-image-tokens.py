# %% [raw] tags=["lesson"]
# number = "10"
# title = "Image tokens"
# modules = ["images"]
# question = "What does a picture cost, and when does shrinking or dropping it save money?"
# prerequisites = ["01", "02"]
# house_model = "claude-opus-5-5 (high-res tier); the standard tier beside it"
# price_date = "2026-10-09"
# cost = "nothing: sizes are arithmetic, and the cache runs in this process"
# interview = ["What does a 40-step agent cost? (with screenshots)"]
# terms = ["patch", "image tier", "both ledgers", "media type", "pre-flight"]
# [[objectives]]
# do = "Work out the tokens of a picture from its size and the model's tier"
# where = "Exercise 10-1: tokens of a picture"
# [[objectives]]
# do = "Say what a few pixels less save, and find the largest size that saves enough"
# where = "A few pixels less"
# [[objectives]]
# do = "Choose between keeping, shrinking and dropping a picture, in dollars"
# where = "A picture in a warm cache"
# [[objectives]]
# do = "Find every picture that a request will be refused for, before it is sent"
# where = "Your turn, your code"

# %% [raw] tags=["instructor"]
# plan_25 = "Prediction 10-a with votes (7), prediction 10-c with votes (10), exercise 10-2 together at the projector (8)."
# plan_50 = "As written. Exercise 10-1 alone, exercise 10-2 in pairs."
# plan_80 = "As written, then exercises 10-3 and 10-4 in pairs; then everyone checks a request of their own."
# when_late = "Leave out 10-b: move the control 'pixels less' from 15 to 16 at the projector and go on."
# demo = "Move the control 'pixels less' slowly from 0 upwards and let the room call out the steps before they come."
# [[votes]]
# prediction = "10-a"
# expected = "A 35 %, B 20 %, C 15 %, D 30 % (a guess until a pilot has been run)"
# say = "You pay for what the model sees, and it sees the same size of both."
# [[votes]]
# prediction = "10-b"
# expected = "A 40 %, B 30 %, C 10 %, D 20 % (a guess until a pilot has been run)"
# say = "A patch that is touched is a patch that is paid."
# [[votes]]
# prediction = "10-c"
# expected = "A 30 %, B 30 %, C 30 %, D 10 % (a guess until a pilot has been run)"
# say = "Before you take a brick out, look at what stands on it."

# %% [markdown] tags=["retrieval"] minutes=2
# ## From notebooks 01 and 02
#
# <details><summary>What does it cost to send the same block on 40 turns, without a cache?</summary>
#
# Forty times its tokens: the whole history is sent again on every turn.
# </details>
#
# <details><summary>One block in the middle of a cached prefix changes. What is lost?</summary>
#
# Everything from there on. What survives ends at a marker in front of it.
# </details>

# %% tags=["setup"]
from ctxlab import images, widgets
from ctxlab.checks import after, check, give_up, predict, reveal, status
from ctxlab.checks import lesson_10 as lesson

# %% [markdown] minutes=4
# ## Patches
#
# A model reads a picture in squares of 28 by 28 pixels. Each such **patch** is one token, and so is a patch that is only touched.
# It does not matter how many bytes the file has, or what is in the picture.

# %%
lesson.patches_figure(28, 28)

# %%
lesson.patches_figure(29, 29)

# %%
def patch_tokens(width, height):
    across, down = -(-width // 28), -(-height // 28)  # rounded up
    return across * down


assert patch_tokens(29, 29) == images.patches(29, 29)

# %% [markdown]
# Is it so? These recorded requests differ in one picture only. An older rule of thumb stands beside the patches.
# The *750 rule* divides width times height by 750.

# %%
lesson.recorded_differences()

# %% [markdown] minutes=9
# ## Three screens
#
# An agent that looks at screens sends many of these:

# %%
lesson.Shown("screenshot")

# %% [markdown] tags=["given"]
# Large pictures are scaled down before they are read. How far depends on the model's **image tier**.
#
# > **Given.** The standard tier: Claude Opus 4.6 and all models before it.
# >
# > - No side may be longer than 1,568 pixels, and no picture may have more than 1,568 tokens.
# > - A larger one is scaled down to the largest size of the same shape that keeps both limits.
# > - Full HD is 1,920 × 1,080 pixels, and is scaled down to 1,456 × 819. 4K is 3,840 × 2,160.
#
# <<question 10-a>>

# %% tags=["predict"]
predict("10-a", smaller=..., larger=..., vote=..., sure=...)

# %%
run_a = [images.image_tokens(*size, tier="standard") for size in (lesson.FULL_HD, lesson.ULTRA_HD)]

# %%
reveal("10-a", run_a)

# %% [markdown]
# Newer models are of the high-res tier, with sides up to 2,576 and up to 4,784 tokens. There full HD is read as it is sent, at a higher price.
#
# One caution: for 1440p and 4K on Claude 5.5, one probe measured about 2,992 tokens, fewer than the rule gives.
# Another was billed 4,788 for 8,000 × 6,000 and a short prompt, which fits the rule. Nobody has settled it.

# %% [markdown] minutes=9
# ### Exercise 10-1: tokens of a picture
#
# Write `picture_tokens(width, height, max_edge, max_tokens)`. Where a limit is broken, scale down first; then count patches.
#
# - To scale, try longer sides from the largest allowed one downwards, pixel by pixel.
# - The shorter side keeps the picture's proportion. It is rounded with `round`, and is at least 1.
# - Take the first size that keeps both limits.

# %% exercise="10-1"
def picture_tokens(width, height, max_edge, max_tokens):
    ...

# %%
check("10-1", picture_tokens)

# %% [markdown]
# <details><summary>Expected</summary>
#
# 200 × 200 is 64 tokens. 6,000 × 4,000 is 1,536 on the standard tier and 4,704 on the high-res tier.
# </details>
# <details><summary>Hint</summary>
#
# `images.patches` counts patches. A picture that keeps both limits is not touched.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 10-1>>
#
# Scaling by area alone goes wrong: patches are whole, so the limit on tokens is met a little earlier than the area says.
# A strip of one pixel shows why the shorter side needs a floor: rounded to 0, there would be no picture.
# </details>

# %% [markdown] tags=["given"] minutes=8
# ## A few pixels less
#
# Somebody wants to save tokens, and takes a few pixels off.
#
# > **Given.** The high-res tier, which leaves full HD as it is.
# >
# > - The picture has 1,920 × 1,080 pixels.
# > - First 15 pixels are taken off both width and height: 1,905 × 1,065.
# > - Then one more each way: 1,904 × 1,064.
#
# <<question 10-b>>

# %% tags=["predict"]
predict("10-b", saved_15=..., saved_16=..., vote=..., sure=...)

# %%
full = images.image_tokens(1920, 1080, tier="high-res")
run_b = [full - images.image_tokens(1920 - n, 1080 - n, tier="high-res") for n in (15, 16)]

# %%
reveal("10-b", run_b)

# %% [markdown]
# Take off more, and look at the tokens:

# %%
less = widgets.Range(0, lesson.MOST_LESS, 8, label="pixels less")
explorer = widgets.explore(lesson.staircase, less=less)
after("10-b", lambda: explorer)

# %%
drawn = explorer.picture_html
explorer.set(less=100)
assert explorer.picture_html != drawn
after("10-b", lambda: print(explorer.figure.alt))

# %% [markdown]
# `images.best_resize` finds the largest size that saves a given share, here a quarter:

# %%
after("10-b", lambda: print(images.best_resize(1920, 1080, "claude-opus-5-5", save=0.25)))

# %% [markdown] tags=["given"] minutes=8
# ## A picture in a warm cache
#
# A picture in the history is sent again on every turn. Should it go, once nobody needs it any more?
#
# > **Given.** Claude Opus 5.5: $4 per million tokens of fresh input, a write 1.25 times that, a read 0.05 times.
# >
# > - In front of the picture: 6,000 tokens of tools and system prompt, **with a marker**. The picture itself: 2,691 tokens.
# > - Behind it 20,000 tokens of history, the last block **marked**. All of it was stored 30 seconds ago.
# > - Now follow 20 turns, 30 seconds apart. Each adds 400 tokens, and the marker moves to the end.
# > - *Kept*: the picture stays. *Dropped*: it is taken out before the first of the 20 turns.
# > - The answer is what dropping costs on top of keeping. Where it saves, write a minus in front.
#
# <<question 10-c>>

# %% tags=["predict"]
predict("10-c", usd=..., vote=..., sure=...)

# %%
run_c = lesson.twenty_turns_usd(drop=True) - lesson.twenty_turns_usd(drop=False)

# %%
reveal("10-c", run_c)

# %% [markdown]
# Before anything is taken out of a cached request, look into **both ledgers**: what it saves from now on, and what it costs once.
# `images.trim_or_keep` makes the two sums. Here is what it advises for this picture in other places:

# %%
after("10-c", lesson.decision_map)

# %% [markdown] minutes=6
# ## Exercise 10-2: keep, shrink or drop
#
# No programming. For each situation write `"keep"`, `"shrink"` or `"drop"`, whichever is cheapest and loses nothing that is needed.
# Unless the table says otherwise: Claude Opus 5.5, a picture of full HD that nobody needs any more, and an entry that is alive.

# %%
lesson.situations()

# %% exercise="10-2"
choices = {
    "S1": ...,
    "S2": ...,
    "S3": ...,
    "S4": ...,
    "S5": ...,
    "S6": ...,
}

# %%
check("10-2", choices)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Ask three questions. Was it sent already? What stands behind it? Would all that be written again anyway?
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 10-2>>
#
# Shrink before you send. Drop where nothing stands behind it, or where all is cold. Keep the rest.
# </details>

# %% [markdown] tags=["exit", "given"] minutes=4
# ## Exit question
#
# > **Given.** The standard tier again, with its two limits of 1,568.
# >
# > - Two photographs: 2,000 × 1,500 and 4,032 × 3,024 pixels.
# > - The first is scaled down to 1,270 × 952.
#
# <<question 10-exit>>

# %% tags=["predict"]
predict("10-exit", smaller=..., larger=..., vote=..., sure=...)

# %%
run_exit = [images.image_tokens(*size, tier="standard") for size in (lesson.WIDE, lesson.PHOTO)]

# %%
reveal("10-exit", run_exit)

# %%
status("10")

# %% [markdown] tags=["room-stops-here"]
# ---
# ## Room stops here
#
# You have what the room was for. What follows is for an evening of your own.

# %% [markdown] minutes=15
# ### Exercise 10-3: the best size to shrink to
#
# Write `best_size(width, height, save)`: the largest size of the same shape that saves the share `save` of the picture's tokens, or more.
# Return width and height, in pixels. All pictures are small enough for the high-res tier to read them as they are.
# Round the shorter side as in exercise 10-1.

# %% exercise="10-3"
def best_size(width, height, save):
    ...

# %%
check("10-3", best_size)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Go down from the longer side you have, pixel by pixel, and stop at the first size that is cheap enough.
# </details>
# <details><summary>Solution and why</summary>
#
# <<solution 10-3>>
#
# Scale both sides by the square root of what is left, and you end between two steps: pixels are thrown away that cost nothing.
# </details>

# %% [markdown] minutes=12
# ### Exercise 10-4: a session that is stuck
#
# The 21st picture of a session is refused, and so is every retry: `At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels`.
# A request with more than 20 pictures takes none with a side above 2,000 pixels. Up to 20 pictures may have sides up to 8,000.
# Write `unstuck(sizes)` for a list of pairs (width, height). Return the sizes to send instead, in the same order.
# Drop none and change only those that are too large. Scale these down to the limit and no further, and keep their shape.

# %% exercise="10-4"
def unstuck(sizes):
    ...

# %%
check("10-4", unstuck)

# %% [markdown]
# <details><summary>Solution and why</summary>
#
# <<solution 10-4>>
#
# Remove the newest picture, and you are free for one turn: the wide one is still there when the next arrives.
# The real cure comes earlier: keep every side within 2,000 pixels from the first picture on. A later repair changes what was sent.
# </details>

# %% [markdown] minutes=10
# ### Exercise 10-5: what the bytes say
#
# The API compares the **media type** you declare with the first bytes of the picture. Where the two disagree, it refuses the request.
# Write `media_type(name, data)`. It returns `"image/png"`, `"image/jpeg"`, `"image/gif"` or `"image/webp"`.
# For anything else it raises a `ValueError`. `data` are bytes: PNG starts with `\x89PNG`, JPEG with `\xff\xd8\xff`, GIF with `GIF8`.
# WebP starts with `RIFF`, then come four bytes of length, then `WEBP`.

# %% exercise="10-5"
def media_type(name, data):
    ...

# %%
check("10-5", media_type)

# %% [markdown]
# <details><summary>Solution and why</summary>
#
# <<solution 10-5>>
#
# A name is whatever somebody called the file. `images.read_header` reads sizes from the same bytes, without decoding a pixel.
# </details>

# %% [markdown]
# ### Every size there is evidence for
#
# Documented, recorded and reported sizes, and what the rule makes of them. Where the two differ, the row says why.

# %%
after("10-exit", lesson.sizes_table)

# %% [markdown] tags=["three-things"]
# ## Three things this document says
#
# Each sentence has a cell that could refute it.
#
# **"Images = ceil(w/28) × ceil(h/28) tokens."** **Holds**, for what the model sees. Two recorded requests differ by one picture:

# %%
from ctxlab import pictures

pair = pictures.recorded_differences()[0]
large, small = (images.patches(*size) for size in (pair.larger, pair.smaller))
print(f"{large} − {small} = {large - small} patches, {pair.recorded_tokens} tokens recorded")
assert large - small == pair.recorded_tokens

# %% [markdown]
# **"Once caching is on, trimming images can lose (1.5× loss)."** **Depends on** how much stays behind the cut.
# Take a window that drops on every turn. Then compare three ways to hold sixty pictures:

# %%
after("10-c", lesson.rolling_losses)

# %%
after("10-c", lesson.windows_table)

# %% [markdown]
# **"Current tier: 1080p = 2,691 tok."** **Depends on** the size: it is right for 1080p and says nothing about 4K.
# What a model sees of a larger screen depends on its tier, and for 4K the measurements disagree. Count one before you send many.

# %%
print(images.image_tokens(1920, 1080, "claude-opus-5-5"), images.image_tokens(3840, 2160, "claude-opus-5-5"))

# %% [markdown] tags=["offline-limits"]
# ## What offline teaching cannot show here
#
# Can the model still read what you shrank? What does 4K really cost on the newest models? Documents and measurements disagree.
# What the API says where `"transformations": {"oversized_image": "error"}` forbids scaling is not recorded either.
# With a key, ask `count_tokens` for one picture at three sizes, and ask the model to read its smallest line at each.

# %% [markdown] tags=["objectives"]
# ## What you can do now
#
# <<objectives>>

# %% [markdown] tags=["your-turn"]
# ## Your turn, your code
#
# Put the path of a request of your own between the quotes: JSON, as you would pass it to `messages.create`.
# The cell is a **pre-flight**. It reads the first bytes of every picture, nested ones too, and says what each costs and what the API would refuse.
# It shows places and sizes, never a picture, and writes `image-check.md`, a page to take to work.
# Left empty, it takes a request with pictures made for this notebook.

# %%
from ctxlab.takeaways import image_check

image_check(r"" or lesson.sample_request(), model="claude-opus-5-5", write_to="image-check.md")
