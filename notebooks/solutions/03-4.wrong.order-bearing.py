def steady(request):
    def everything(value):
        if isinstance(value, dict):
            return {key: everything(value[key]) for key in sorted(value)}
        if isinstance(value, list):
            return sorted((everything(one) for one in value), key=str)
        return value

    return everything(request)
