def pin(blocks):
    return len(blocks) - 1
