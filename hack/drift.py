"""The page of what drifts: every field of the two objects, its class, and examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hack.drift_examples import ACCOUNT, EXAMPLES, LABELS, Example
from unmoor.model.drift_fields import FIELDS, NODE_TEMPLATE, PROVISIONER, DriftField

Table = Callable[[tuple[str, ...], Iterable[tuple[str, ...]]], Iterator[str]]


def lines(table: Table) -> Iterator[str]:
    """Return the page, below its title."""
    yield "What the classes mean, and what follows from a drift: [drift](../drift.md)."
    yield ""
    what = ", ".join(map(_quoted, LABELS.values()))
    yield "Each example is a machine that was made with the field as under *before*, while it is"
    yield f"as under *now*. The machine is {what}, in the first subnet of"
    yield "those selected. Tests play them all. The account:"
    yield ""
    yield "```text"
    for key, text in ACCOUNT.items():
        for line in text.splitlines():
            yield f"{key}: {line}"
    yield "```"
    for kind in (PROVISIONER, NODE_TEMPLATE):
        yield ""
        yield f"## {kind}"
        fields = [one for one in FIELDS if one.kind == kind]
        rows = (_row(field, one) for field in fields for one in EXAMPLES[kind, field.name])
        yield from table(("field", "class", "before", "now", "drift"), rows)


def _row(field: DriftField, one: Example) -> tuple[str, ...]:
    now = _quoted(one.now) + (f" and a new image: {_quoted(one.image)}" if one.image else "")
    drift = "yes" if one.is_drift else "no"
    return (f"`spec.{field.name}`", str(field.way), _quoted(one.before), now, drift)


def _quoted(text: str) -> str:
    return f"`{text}`" if text else "not set"
