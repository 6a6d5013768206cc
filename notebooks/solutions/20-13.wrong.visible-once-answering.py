def fan_out(starts, first_byte_s):
    return "W" + "R" * (len(starts) - 1)
