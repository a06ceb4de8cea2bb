"""Has a person paused the cluster, a provisioner or a node? Then no method makes a node of it go.

The annotation ``unmoor.dev/paused`` on a Provisioner or a Node, and the setting ``unmoor.paused``
for the whole cluster: who, why and until when, as in ``by=anna, until=2026-12-01T18:00:00Z,
reason=the database moves``. Each part may be left out; ``true`` says none of them. A time that
cannot be read is no end: it is said, and the pause goes on.

Must not: hold back what a person deletes, or what the cloud takes.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from unmoor.model import names
from unmoor.model.moment import Moment, rfc3339
from unmoor.model.node import Node
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.model.validation import cut

NO = "false"
"""The one value beside nothing at all that means no pause."""
_PARTS = ("by", "until", "reason")


class Pause(msgspec.Struct, frozen=True):
    """Who has paused it, why, until when (None: no end). ``doubt``: what means nothing."""

    by: str = ""
    reason: str = ""
    until: datetime | None = None
    doubt: str = ""

    def is_over(self, moment: Moment) -> bool:
        """It has ended."""
        return self.until is not None and moment.wall >= self.until

    def __str__(self) -> str:
        """``paused by anna until 2026-12-01T18:00:00Z: the database moves``."""
        said = "paused"
        said += f" by {self.by}" if self.by else ""
        said += f" until {rfc3339(self.until)}" if self.until is not None else ""
        said += f": {self.reason}" if self.reason else ""
        return said + (f" ({self.doubt})" if self.doubt else "")


def read(text: str) -> Pause | None:
    """Return what is written, None for no pause at all."""
    if text.strip() in {"", NO}:
        return None
    said: dict[str, str] = {}
    rest = text
    while rest:
        part, _, after = rest.partition(",")
        key, is_given, value = part.strip().partition("=")
        if not is_given or key not in _PARTS:
            break
        if key == "reason":  # to the end, commas and all
            value, after = rest.strip().partition("=")[2], ""
        said[key], rest = cut(value.strip()), after
    reason = said.get("reason", "" if rest.strip() in {"", names.TRUE} else cut(rest.strip()))
    until, doubt = _time(said.get("until", ""))
    return Pause(said.get("by", ""), reason, until, doubt)


def of_cluster(view: View, moment: Moment) -> Pause | None:
    """Return the pause of the whole cluster, None when there is none now."""
    return _now(view.settings.paused, moment)


def of_provisioner(provisioner: Provisioner, moment: Moment) -> Pause | None:
    """Return the pause of a provisioner."""
    return _now(provisioner.metadata.annotations.get(names.PAUSED, ""), moment)


def of_node(node: Node, moment: Moment) -> Pause | None:
    """Return the pause of a node."""
    return _now(node.metadata.annotations.get(names.PAUSED, ""), moment)


def why(view: View, node: Node, provisioner: Provisioner, moment: Moment) -> str:
    """Say who holds this node back, and how to lift it, "" for nobody."""
    if found := of_node(node, moment):
        return f'node {node.name} is {found}; remove its annotation "{names.PAUSED}" to go on'
    if found := of_provisioner(provisioner, moment):
        return (
            f"provisioner {provisioner.name} is {found}; "
            f'remove its annotation "{names.PAUSED}" to go on'
        )
    if found := of_cluster(view, moment):
        return f"the cluster is {found}; remove the setting unmoor.paused to go on"
    return ""


def _now(text: str, moment: Moment) -> Pause | None:
    found = read(text)
    return None if found is None or found.is_over(moment) else found


def _time(text: str) -> tuple[datetime | None, str]:
    if not text:
        return None, ""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None, f"until={text} is no time, so it has no end; write 2026-12-01T18:00:00Z"
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)), ""
