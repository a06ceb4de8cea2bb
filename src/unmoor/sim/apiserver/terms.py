"""On what terms is a request made, and how particular is the server? Values that others read.

Must not: decide anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

Validation: TypeAlias = Literal["Ignore", "Warn", "Strict"]


class Manners(msgspec.Struct, frozen=True, kw_only=True):
    """What a server takes the trouble to do. A rehearsal with a million writes wants none of it."""

    tracks_managers: bool = False
    """New objects have managedFields; others get them with the first apply."""
    checks_types: bool = False
    """Built-in kinds are read as by a decoder: wrong types are refused, what they do not know is
    dropped, and defaults are filled in. Else what comes is stored, so that readers meet objects
    they cannot read."""
    runs_rules: bool = False
    """Custom objects are held to the rules in CEL of their definitions."""
    shows_definitions: bool = False
    """The definitions of our custom kinds are there, as objects."""
    awaits_definitions: bool = False
    """Our custom kinds are served when somebody has created their definitions, not before."""
    takes_all: bool = False
    """Kinds are served, too, that are only stored (``sim.stored``)."""


EASY = Manners()
ROOMY = Manners(takes_all=True)
"""As easy, and takes what people have in their folders."""
FAITHFUL = Manners(
    tracks_managers=True,
    checks_types=True,
    runs_rules=True,
    shows_definitions=True,
    takes_all=True,
)
BARE = msgspec.structs.replace(FAITHFUL, shows_definitions=False, awaits_definitions=True)
"""As faithful, and with nothing but the built-in kinds."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says beside the object (API reference: metav1.PatchOptions and its like)."""

    manager: str = ""
    force: bool | None = None
    validation: Validation = "Ignore"
    doubled: tuple[str, ...] = ()
    """Names that an object had twice in the text of the request: ``problems.read`` finds them."""
    warn: Callable[[str], None] | None = None
    """Told of each thing that is wrong and not refused."""


PLAIN = Terms()
