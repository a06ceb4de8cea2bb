"""What is there?

The world as frozen values: the API's objects with the API's own names, and what can be said of one
by looking at it alone (predicates, quantities, requirements, the snapshot and its indexes).

May import: msgspec and the standard library.
Must not: import any other package of unmoor, do any I/O, read any clock, roll any dice.
"""
