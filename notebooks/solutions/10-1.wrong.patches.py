def picture_tokens(width, height, max_edge, max_tokens):
    return min(max_tokens, width * height // 750)
