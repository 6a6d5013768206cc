from ctxlab import images


def picture_tokens(width, height, max_edge, max_tokens):
    long = max(width, height)
    for side in range(min(long, max_edge), 0, -1):
        sizes = [max(1, round(one * side / long)) for one in (width, height)]
        tokens = images.patches(*sizes)
        if tokens <= max_tokens:
            return tokens
