"""Would it fit?

The scheduling simulation: may these pods run on those nodes, existing or yet to be launched, and if
not, which constraint refused.

May import: model.
Must not: do any I/O, read any clock, want anything; it answers, policy asks.
"""
