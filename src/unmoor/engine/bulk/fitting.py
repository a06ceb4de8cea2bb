"""What a machine to come turns into if a pod goes there: exactly what the oracle's ``fit`` says.

Must not: choose a machine, or change one.
"""

from __future__ import annotations

import numpy as np

from unmoor.engine import judge
from unmoor.engine.bulk.counting import Counting
from unmoor.engine.bulk.crowd import Ask
from unmoor.engine.bulk.fleet import Machine
from unmoor.engine.bulk.layout import Layout
from unmoor.engine.bulk.shapes import Flags, Shape, Shapes
from unmoor.engine.company import NEW_HOST
from unmoor.engine.held import collisions
from unmoor.engine.scene import Started, Template
from unmoor.model import names
from unmoor.model.requirement import Requirements


class Fitting:
    """Judges classes on machines to come."""

    def __init__(self, shapes: Shapes, counting: Counting) -> None:
        """Know nobody."""
        self._shapes = shapes
        self._types = shapes.types
        self._counting = counting
        self._tolerated: dict[tuple[int, int], bool] = {}
        self._ways: dict[int, tuple[tuple[int, Requirements], ...]] = {}

    def suits_any(self, ask: Ask) -> bool:
        """Return whether the class asks nothing of a machine but room."""
        return any(not len(way) for way in ask.wish.ways)

    def ways(self, ask: Ask) -> tuple[tuple[int, Requirements], ...]:
        """Return the alternatives of the class, numbered."""
        found = self._ways.get(ask.role)
        if found is None:
            found = tuple((self._shapes.way(way), way) for way in ask.wish.ways)
            self._ways[ask.role] = found
        return found

    def tolerates(self, ask: Ask, base: Template | Started) -> bool:
        """Return whether the class puts up with what every such machine has."""
        key = (ask.kind, id(base))
        found = self._tolerated.get(key)
        if found is None:
            found = not judge.base_refusals(ask.wish, base)
            self._tolerated[key] = found
        return found

    def may_be_on(self, ask: Ask, base: Template | Started) -> bool:
        """Return whether such a machine takes the class, whatever its type, while it is empty."""
        return self.tolerates(ask, base) and not collisions(ask.wish.held, base.held)

    def fit(self, ask: Ask, layout: Layout, machine: Machine) -> tuple[Shape, Flags] | None:
        """Exactly what the oracle's ``fit`` says."""
        if not self.tolerates(ask, machine.base):
            return None
        if ask.wish.held and collisions(ask.wish.held, machine.held):
            return None
        room = machine.flags & self._types.have_room(machine.row + ask.row)
        if not np.count_nonzero(room):
            return None
        for number, way in self.ways(ask):
            shape = self._shapes.with_way(machine.shape, number, way)
            if shape is None:
                continue
            flags: Flags = room & shape.types
            found = (shape, flags) if np.count_nonzero(flags) else None
            for domains in layout.domains:
                if found is not None:
                    found = self._in_a_domain(layout, machine, found, domains.key)
            if found is not None:
                return found
        return None

    def _in_a_domain(
        self, layout: Layout, machine: Machine, so_far: tuple[Shape, Flags], key: str
    ) -> tuple[Shape, Flags] | None:
        shape, flags = so_far
        domains = self._counting.domains(key)
        is_host = key == names.HOSTNAME
        numbers = (machine.host,) if is_host else self.values(key, shape, flags)
        if not numbers:
            return None if layout.needs_domain(key) else so_far
        allowed = layout.allowed(domains)
        kept = [one for one in numbers if allowed[one]]
        if not kept:
            return None
        pins = layout.pins(key)
        if is_host or (len(kept) == len(numbers) and not pins):
            return so_far
        kept.sort(key=lambda one: layout.rank(key, one, domains.names[one]))
        choices = [(one,) for one in kept] if pins else [tuple(kept)]
        for choice in choices:
            values = tuple(sorted(domains.names[one] for one in choice))
            narrowed = self._shapes.in_domains(shape, key, values)
            left: Flags = flags & narrowed.types
            if np.count_nonzero(left):
                return narrowed, left
        return None

    def values(self, key: str, shape: Shape, flags: Flags) -> tuple[int, ...]:
        """Return the domains of a label in which a machine that is yet to be opened may lie."""
        domains = self._counting.domains(key)
        if key == names.HOSTNAME:
            return (domains.of(NEW_HOST),)
        return shape.domains(domains, flags)
