"""What should change, and why not the rest?

Candidates, drift, one module per deprovisioning method, and a verdict with its evidence for each
node that stays as it is.

May import: engine and below.
Must not: do any I/O, read any clock, carry anything out.
"""
