"""Who can be meant at all? A selector that names a label is asked only about those who have it.

With a thousand applications, each spread among its own pods, nearly nobody means anybody: to ask
each selector about each pod would be a million questions with the answer no.

Must not: decide who is meant. What has no hint is always asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

from unmoor.engine.bulk.crowd import Person
from unmoor.engine.selection import Selection
from unmoor.model.pod import Pod

T = TypeVar("T")
Hint = Hashable
ANYBODY: Hint = None


class Label(NamedTuple):
    """The mark of a label; ``namespace`` None: in whichever."""

    namespace: str | None
    key: str
    value: str


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
    return Label(namespace, key, sure[key])


def marks_of(pod: Pod) -> tuple[Hint, ...]:
    """Return every mark that a pod has."""
    labels = pod.metadata.labels.items()
    named = ((pod.namespace, key, value) for key, value in labels)
    return (ANYBODY, *named, *((None, key, value) for key, value in labels))


def held_mark(content: Hashable) -> Hint:
    """Return the mark of those who hold a term of this content."""
    return ("holds", content)


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


class People:
    """Everybody, by the labels that selectors name: a label that none names costs nothing."""

    def __init__(self) -> None:
        """Know nobody."""
        self._all: list[Person] = []
        self._holders: dict[Hint, list[Person]] = {}
        self._by_label: dict[str, dict[Hint, list[Person]]] = {}

    def add(self, person: Person) -> None:
        """Take somebody in."""
        self._all.append(person)
        for content in dict.fromkeys(person.held):
            self._holders.setdefault(held_mark(content), []).append(person)
        for key, found in self._by_label.items():
            _enter(found, key, person)

    def near(self, hint: Hint) -> list[Person]:
        """Return all who have this mark, in the order in which they came."""
        if hint is ANYBODY:
            return self._all
        if not isinstance(hint, Label):
            return self._holders.get(hint, [])
        key = hint.key
        if key not in self._by_label:
            found = self._by_label[key] = {}
            for person in self._all:
                _enter(found, key, person)
        return self._by_label[key].get(hint, [])


def _enter(found: dict[Hint, list[Person]], key: str, person: Person) -> None:
    value = person.sample.metadata.labels.get(key)
    if value is not None:
        for namespace in (person.sample.namespace, None):
            found.setdefault((namespace, key, value), []).append(person)
