"""The page of what drifts: every field of the two objects, its class, and an example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from unmoor.model.drift_fields import FIELDS, NODE_TEMPLATE, PROVISIONER

Table = Callable[[tuple[str, ...], Iterable[tuple[str, ...]]], Iterator[str]]


def lines(table: Table) -> Iterator[str]:
    """Return the page, below its title."""
    for kind in (PROVISIONER, NODE_TEMPLATE):
        yield ""
        yield f"## {kind}"
        fields = (one for one in FIELDS if one.kind == kind)
        rows = ((f"`spec.{one.name}`", str(one.way), one.example) for one in fields)
        yield from table(("field", "class", "example"), rows)
