"""The notebook machinery: one source per lesson, two editions, a handout and an instructor guide.

Models: reading, building, comparing and searching lessons. Building needs the ``dev`` extra, the handout the
standard library only. Does not model: what a lesson teaches.
"""
