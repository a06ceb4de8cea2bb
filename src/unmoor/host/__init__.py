"""How do we speak to the node?

The host port: logind over D-Bus, and what the agent on a node needs to hold a shutdown back until
its pods have ended.

May import: runtime and below.
Must not: know any other adapter, decide anything.
"""
