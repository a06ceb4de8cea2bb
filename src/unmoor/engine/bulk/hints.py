"""Who can be meant at all? A selector that names a label is asked only about those who have it.

With a thousand applications, each spread among its own pods, nearly nobody means anybody: to ask
each selector about each pod would be a million questions with the answer no.

Must not: decide who is meant. What has no hint is always asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from unmoor.engine.selection import Selection
from unmoor.model.pod import Pod

T = TypeVar("T")
Hint = Hashable
ANYBODY: Hint = None


def hint_of(selection: Selection) -> Hint:
    """Return a mark that everybody whom ``selection`` means has; ANYBODY where none is sure."""
    named, selector = selection.namespaces, selection.selector
    if selector is None:
        return ANYBODY
    sure = dict(selector.match_labels)
    for one in selector.match_expressions:
        if one.operator == "In" and len(one.values) == 1:
            sure.setdefault(one.key, one.values[0])
    if not sure:
        return ANYBODY
    key = min(sure)
    namespace = next(iter(named)) if named is not None and len(named) == 1 else None
    return (namespace, key, sure[key])


def marks_of(pod: Pod) -> tuple[Hint, ...]:
    """Return every mark that a pod has."""
    labels = pod.metadata.labels.items()
    named = ((pod.namespace, key, value) for key, value in labels)
    return (ANYBODY, *named, *((None, key, value) for key, value in labels))


class Index(Generic[T]):
    """Things by hint."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._by_hint: dict[Hint, list[tuple[int, T]]] = {}
        self._count = 0

    def add(self, hint: Hint, one: T) -> None:
        """Take something in."""
        self._by_hint.setdefault(hint, []).append((self._count, one))
        self._count += 1

    def __len__(self) -> int:
        """How many things there are."""
        return self._count

    def near(self, hints: Iterable[Hint]) -> list[T]:
        """Return all that have one of these hints, in the order in which they came."""
        found = [entry for hint in dict.fromkeys(hints) for entry in self._by_hint.get(hint, ())]
        return [one for _, one in sorted(found, key=lambda entry: entry[0])]
