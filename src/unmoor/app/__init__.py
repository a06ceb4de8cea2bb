"""What does a person run?

The command line, settings, wiring of ports to the loop, probes and metrics.

May import: every package.
Must not: decide; a rule found here belongs in policy.
"""
