"""How do we speak to a cloud?

Implementations of the cloud port: what can be bought, launching, terminating. The only one so far
is that of simulated machines, which are objects of the API.

May import: runtime and below.
Must not: know any other adapter, decide anything.
"""
