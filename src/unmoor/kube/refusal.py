"""How is a bad configuration refused? Where, which field, what is wrong with it, what to do.

Must not: look anything up.
"""

from __future__ import annotations


class ConfigError(Exception):
    """A configuration we cannot use: where, which field, what is wrong, and what to do."""

    def __init__(self, where: str, field: str, problem: str, remedy: str) -> None:
        """Never put a secret into ``problem``."""
        super().__init__(f"{where}: {field}: {problem}; {remedy}")
        self.where = where
        self.field = field
        self.problem = problem
        self.remedy = remedy
