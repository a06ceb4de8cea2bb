"""Where do we rehearse?

An embedded API server with an HTTP face, the actors of a cluster and the machines of a simulated
cloud, faults, and checkers, around the production loop in virtual time or before somebody's eyes.
It imitates servers, never our own clients.

May import: runtime and below.
Must not: be imported by the adapters, or have a shortcut that production code could notice.
"""
