"""How do we speak to a cloud?

The cloud port, one sub-package per provider: what can be bought, launching, terminating, and what
the provider tells us in advance.

May import: runtime and below.
Must not: know any other adapter, decide anything.
"""
