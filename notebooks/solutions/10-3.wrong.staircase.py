from ctxlab import images


def best_size(width, height, save):
    most = images.patches(width, height) * (1 - save)
    long = max(width, height)
    for side in range(long // 28 * 28, 0, -28):
        sizes = [max(1, round(one * side / long)) for one in (width, height)]
        if images.patches(*sizes) <= most:
            return tuple(sizes)
