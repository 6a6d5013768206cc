def fan_out(starts, first_byte_s):
    readable = starts[0] + first_byte_s
    return "".join("R" if start >= readable else "W" for start in starts)
