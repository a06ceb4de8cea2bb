"""How do we speak to the node?

So far: what systemd is told of our own process. What a node's shutdown needs comes here.

May import: runtime and below.
Must not: know any other adapter, decide anything.
"""
