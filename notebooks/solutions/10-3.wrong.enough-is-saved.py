def best_size(width, height, save):
    scale = (1 - save) ** 0.5
    return round(width * scale), round(height * scale)
