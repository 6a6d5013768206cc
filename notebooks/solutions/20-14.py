def plan(conversation):
    marks, old_end = [], None
    for request in conversation:
        end = max(n for n, (name, tokens, again) in enumerate(request) if again)
        marks.append([end] if old_end is None else [old_end, end])
        old_end = end
    return marks
