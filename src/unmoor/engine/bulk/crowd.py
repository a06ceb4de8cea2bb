"""Pods as classes: who is equal in everything that decides where a pod may go, and who is counted.

A class has all that its pods want at one level of giving up. Classes that differ in size only, that
is in what their containers ask for and hold, play the same role. A person is what others see of a
pod: its namespace, its labels, whom it keeps away, whether it is on its way out.

As with API objects (``model.base``), ``gc=False`` keeps them out of the cyclic collector, which
would go through all of them again and again.

Must not: place anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter

import msgspec
import numpy as np

from unmoor.engine import judge
from unmoor.engine.bulk.numbering import Numbering
from unmoor.engine.bulk.shapes import Amounts, Flags, amounts
from unmoor.engine.requests import Requests
from unmoor.engine.scene import Scene, Started, Template
from unmoor.engine.selection import Term, content_of
from unmoor.engine.wish import OF_SIZE, Wish, outline_of, required_apart, with_size
from unmoor.model import resources
from unmoor.model.pod import Pod, PodSpec
from unmoor.model.quantity import QuantityError
from unmoor.model.snapshot import View

_OF_NO_ACCOUNT = frozenset(
    ("node_name", "priority", "priority_class_name", "termination_grace_period_seconds")
)
"""Fields of a pod's spec that decide nothing about where it may go."""
_SIZES: Callable[[PodSpec], tuple[object, ...]] = attrgetter(*OF_SIZE)
_PARTS: Callable[[PodSpec], tuple[object, ...]] = attrgetter(
    *(
        name
        for name in PodSpec.__struct_fields__
        if name not in _OF_NO_ACCOUNT and name not in OF_SIZE
    )
)


class Person(msgspec.Struct, frozen=True, gc=False):
    """What others see of a pod; ``sample`` is one of those who look like this."""

    number: int
    sample: Pod
    holds: tuple[Term, ...]
    held: tuple[Hashable, ...] = ()
    """The content of each term that it holds."""


class Role(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """All that classes of the same level have in common that differ in size only.

    ``outline``: their wish without size; ``kind``: the number of its wants of a node.
    """

    number: int
    outline: Wish
    person: Person
    kind: int


class Ask(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A class at one level. ``row``: its requests; ``role``, ``kind``: the numbers of these."""

    number: int
    role: int
    wish: Wish
    person: Person
    kind: int
    row: Amounts
    asked: tuple[tuple[int, int], ...]
    """The same as columns and amounts, without what it does not ask for."""
    is_too_large: bool


class Crowd:
    """All classes and persons of one simulation."""

    def __init__(
        self, view: View, columns: Sequence[str], known: Requests, *, has_soft_taints: bool
    ) -> None:
        """``columns``: the resources that matter, in the order of the amounts.

        ``known``: what pods were found to ask.
        """
        self._requests = known
        self._view = view
        self._columns = columns
        self._has_soft_taints = has_soft_taints
        self._classes: Numbering[Hashable] = Numbering()
        self._parts: Numbering[Hashable] = Numbering()
        self._part_of: list[int] = []
        self._persons: dict[Hashable, Person] = {}
        self._seen: dict[Hashable, int] = {}
        self._numbers: dict[int, int] = {}
        self._faces: dict[Hashable, Person] = {}
        self._asks: dict[tuple[int, int], Ask] = {}
        self._roles: dict[tuple[int, int], Role] = {}
        self._kinds: Numbering[Hashable] = Numbering()

    def look(self, view: View) -> None:
        """Go by this view from now on; it says the same of namespaces and storage."""
        self._view = view

    def number_of(self, pod: Pod) -> int:
        """Return the number of the pod's class."""
        found = self._numbers.get(id(pod))
        if found is None:
            found = self._numbers[id(pod)] = self._number(pod)
        return found

    def _number(self, pod: Pod) -> int:
        spec = pod.spec
        parts, sizes = (pod.metadata.labels, *_PARTS(spec)), _SIZES(spec)
        # Parts that are the same object are equal; the pods keep them alive as long as we look.
        own = (pod.namespace, _itself(pod), pod.is_deleting)
        face = (*own, *map(id, parts))
        part = self._seen.get(face)
        if part is None:
            part = self._seen[face] = self._parts.of((*own, content_of(parts)))
        face = (part, *map(id, sizes))
        found = self._seen.get(face)
        if found is None:
            found = self._seen[face] = self._classes.of((part, content_of(sizes)))
            if found == len(self._part_of):
                self._part_of.append(part)
        return found

    def ask(self, pod: Pod, level: int) -> Ask:
        """Return the class of a pod that has given up ``level`` preferences."""
        key = (self.number_of(pod), level)
        found = self._asks.get(key)
        if found is None:
            found = self._asks[key] = self._make(pod, level)
        return found

    def _make(self, pod: Pod, level: int) -> Ask:
        role = self._role(pod, level)
        wish = with_size(role.outline, pod, self._requests)
        limit = resources.AMOUNT_LIMIT
        row = amounts([wish.requests], self._columns)[0]
        return Ask(
            number=len(self._asks),
            role=role.number,
            wish=wish,
            person=role.person,
            kind=role.kind,
            row=row,
            asked=tuple((column, one) for column, one in enumerate(row.tolist()) if one > 0),
            is_too_large=any(amount >= limit for amount in wish.requests.values()),
        )

    def _role(self, pod: Pod, level: int) -> Role:
        key = (self._part_of[self.number_of(pod)], level)
        found = self._roles.get(key)
        if found is None:
            outline = outline_of(pod, self._view, level, has_soft_taints=self._has_soft_taints)
            found = self._roles[key] = Role(
                number=len(self._roles),
                outline=outline,
                person=self.person(pod),
                kind=self._kinds.of(content_of(judge.asked_of_a_node(outline))),
            )
        return found

    def person(self, pod: Pod) -> Person:
        """Return what others see of a pod."""
        affinity = pod.spec.affinity
        face = (pod.namespace, id(pod.metadata.labels), id(affinity), pod.is_deleting)
        found = self._faces.get(face)
        if found is None:
            apart = affinity.pod_anti_affinity if affinity is not None else None
            holds = apart.required if apart is not None else ()
            content = (
                pod.namespace,
                content_of(pod.metadata.labels),
                content_of(holds),
                pod.is_deleting,
            )
            found = self._persons.get(content)
            if found is None:
                number = len(self._persons)
                terms = required_apart(pod, self._view)
                found = Person(number, pod, terms, tuple(term.content for term in terms))
                self._persons[content] = found
            self._faces[face] = found
        return found


def _itself(pod: Pod) -> tuple[str, str] | None:
    """A pod with a volume of its own is like no other, not even like one that had its name."""
    volumes = pod.spec.volumes
    is_one = volumes and any(one.ephemeral is not None for one in volumes)
    return (pod.name, pod.uid) if is_one else None


def fits_in(free: Amounts, row: Amounts) -> Flags:
    """Return for each row of ``free`` whether ``row`` fits; what is not asked for always fits."""
    asked = np.flatnonzero(row > 0)
    found: Flags = np.ones(len(free), dtype=bool)
    for column in asked:
        found &= free[:, column] >= row[column]
    return found


def columns_of(scene: Scene, pods: Iterable[Pod], known: Requests) -> tuple[str, ...]:
    """Every resource that somebody asks for, sorted.

    ``known``: what others were found to ask; what these ``pods`` ask is found out.
    """
    for pod in pods:
        with suppress(QuantityError):
            known.of(pod)
    found = {resources.CPU, resources.MEMORY, resources.PODS} | known.names
    bases: list[Template | Started] = [*scene.templates, *scene.started]
    for base in bases:
        found |= base.daemons.keys()
    return tuple(sorted(found))
