def media_type(name, data):
    ending = name.rpartition(".")[2]
    return "image/" + {"jpg": "jpeg"}.get(ending, ending)
