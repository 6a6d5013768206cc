def media_type(name, data):
    for start, kind in ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif")):
        if data.startswith(start):
            return f"image/{kind}"
    return "image/webp"
