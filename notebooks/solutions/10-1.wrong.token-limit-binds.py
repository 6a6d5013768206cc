from ctxlab import images


def picture_tokens(width, height, max_edge, max_tokens):
    scale = min(1, max_edge / max(width, height))
    return min(max_tokens, images.patches(round(width * scale), round(height * scale)))
