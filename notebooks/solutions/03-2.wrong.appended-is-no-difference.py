import json


def first_difference(earlier, later):
    for part in ("tools", "system", "messages"):
        old, new = earlier.get(part, []), later.get(part, [])
        for n in range(min(len(old), len(new))):
            if json.dumps(old[n]) != json.dumps(new[n]):
                return part, n
        if len(new) != len(old):
            return part, min(len(old), len(new))
    return "nothing"
