"""Whom do we act as, beside who we are? Header lines that the API server understands.

Must not: know kubeconfig files.
"""

from __future__ import annotations

import string

import msgspec

_PLAIN = frozenset(string.ascii_letters + string.digits + "!#$&'*+-.^_`|~")
"""What may stand in the name of a header, except the percent sign by which we escape."""


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """Another user whom the API server should take us for, if we may."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def headers(self) -> list[tuple[str, str]]:
        """One line for each group, and for each value of an extra field."""
        lines = [("Impersonate-User", self.user)]
        if self.uid:
            lines.append(("Impersonate-Uid", self.uid))
        lines += [("Impersonate-Group", group) for group in self.groups]
        for name, values in self.extra:
            lines += [(f"Impersonate-Extra-{_escaped(name)}", value) for value in values]
        return lines


def _escaped(name: str) -> str:
    return "".join(
        char if char in _PLAIN else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in name
    )
