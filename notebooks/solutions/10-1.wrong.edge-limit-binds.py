from ctxlab import images


def picture_tokens(width, height, max_edge, max_tokens):
    long = max(width, height)
    for side in range(long, 0, -1):
        sizes = [max(1, round(one * side / long)) for one in (width, height)]
        if images.patches(*sizes) <= max_tokens:
            return images.patches(*sizes)
