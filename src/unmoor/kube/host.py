"""Can this be the name or the address of a machine?

Whatever cannot be is refused where it stands, before a resolver or a TLS library stumbles over it.

Must not: resolve anything.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address


def is_host(text: str) -> bool:
    """A name in letters of any script, or an address; without a port."""
    if ":" in text:
        try:
            IPv6Address(text)
        except ValueError:
            return False
        return True
    if not re.fullmatch(r"[\w-][\w.-]*", text):
        return False
    try:
        text.encode("idna")
    except UnicodeError:  # a part that is empty, too long, or of a strange script
        return False
    return True
