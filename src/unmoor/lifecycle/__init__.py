"""What is the next step?

State machines that read their phase off the world and answer with effects, memory, verdicts and the
time to look again. The closed list of effects is here too.

May import: policy and below.
Must not: do any I/O, read any clock, remember what could be derived.
"""
