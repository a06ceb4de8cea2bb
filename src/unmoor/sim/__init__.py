"""Where do we rehearse?

An embedded API server, a simulated cloud, the actors of a cluster, faults, and checkers, around the
production loop in virtual time. It imitates servers, never our own clients.

May import: runtime and below.
Must not: be imported by the adapters, or have a shortcut that production code could notice.
"""
