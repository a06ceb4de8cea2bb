"""How is a bad configuration refused? Where, which field, what is wrong with it, what to do.

Must not: look anything up.
"""

from __future__ import annotations

import re

from unmoor.model.validation import cut

WHERE_CHARS, WORDS_CHARS = 600, 400
"""What a configuration says may be long; what is said about it is not."""


class ConfigError(Exception):
    """A configuration we cannot use: where, which field, what is wrong, and what to do."""

    def __init__(self, where: str, field: str, problem: str, remedy: str) -> None:
        """Never put a secret into ``problem``."""
        where = _fit(where, WHERE_CHARS)
        problem, remedy = _fit(problem, WORDS_CHARS), _fit(remedy, WORDS_CHARS)
        super().__init__(f"{where}: {field}: {problem}; {remedy}")
        self.where = where
        self.field = field
        self.problem = problem
        self.remedy = remedy


def _fit(text: str, most: int) -> str:
    """Not too long, and without the user of a URL, who may have a password."""
    return cut(re.sub(r":/+[^/\s]*@", "://***@", text), most)
