def plan(conversation):
    marks, ends = [], []
    for request in conversation:
        ends.append(sum(again for _, _, again in request) - 1)
        marks.append(list(ends))
    return marks
