"""Who owns which field, and what may stand in it? From schemas and objects alone.

Must not: know the store, or any kind.
"""
