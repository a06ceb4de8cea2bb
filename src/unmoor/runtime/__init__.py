"""When, and through whom?

Everything that waits or happens: the ports to the outside, clock, informer, queue, interpreter,
loop, story, leader election. asyncio starts here.

May import: lifecycle and below.
Must not: hold policy; what to do is decided below, here it is only done.
"""
