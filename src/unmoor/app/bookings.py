"""For whom was each machine ordered, and did anybody use it? A machine that nobody uses is told.

What is gone is forgotten, but for the names of machines that nobody ever used.

Must not: say anything itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized

from unmoor.model.base import Key
from unmoor.model.kinds import MACHINES

WASTED_MAX = 1_000
"""So many machines that are gone are remembered, because nobody used them."""


class Bookings:
    """Follows the machines that unmoor orders, from the order to their first pod."""

    def __init__(self) -> None:
        """Nothing is ordered."""
        self._expected: dict[str, set[Key]] = {}
        """By machine, the pods that are still to come. Machines that are used are not in it."""
        self._node_of: dict[str, str] = {}
        self._wasted: dict[str, None] = {}
        """Machines that are gone, and that nobody used; the latest of them."""
        self._used: set[str] = set()
        self._promised: set[Key] = set()
        self._bound: set[Key] = set()

    def order(self, machine: str) -> None:
        """A machine is ordered."""
        self._expected.setdefault(machine, set())

    def is_ordered(self, machine: str) -> bool:
        """True for a machine that was ordered and has no pod yet."""
        return machine in self._expected

    def promise(self, places: Mapping[str, Iterable[Key]]) -> None:
        """Pods are planned onto these places (``machine/general-a``), and no others are."""
        self._promised = {pod for pods in places.values() for pod in pods}
        for place, pods in places.items():
            kind, _, name = place.partition("/")
            if kind == MACHINES.kind.lower() and name in self._expected:
                # A pod that goes with its node does not come itself; its successor will.
                self._expected[name].update(set(pods) - self._bound)

    def is_promised(self, pod: Key) -> bool:
        """True when a place is on its way for a pod that waits."""
        return pod in self._promised

    def refuse(self, pod: Key) -> None:
        """No place is on its way for it any more."""
        self._promised.discard(pod)

    def join(self, machine: str, node: str) -> None:
        """The machine has become a node."""
        self._node_of[machine] = node
        if node in self._used:
            self._expected.pop(machine, None)

    def use(self, pod: Key, node: str) -> list[str]:
        """A pod is on a node; return the machines to which nobody is to come any more."""
        self._bound.add(pod)
        if node not in self._used:
            self._used.add(node)
            for machine in [one for one, joined in self._node_of.items() if joined == node]:
                self._expected.pop(machine, None)
        return self._settle(pod)

    def leave(self, pod: Key) -> list[str]:
        """A pod is gone; return the machines to which nobody is to come any more."""
        self._bound.discard(pod)
        self._promised.discard(pod)
        return self._settle(pod)

    def end(self, machine: str) -> None:
        """The machine is gone."""
        is_expected = self._expected.pop(machine, None) is not None
        if self._node_of.pop(machine, None) is not None and is_expected:
            self._wasted[machine] = None
            if len(self._wasted) > WASTED_MAX:
                del self._wasted[next(iter(self._wasted))]

    def remove(self, node: str) -> None:
        """The node is gone."""
        self._used.discard(node)

    @property
    def known(self) -> int:
        """How many things are remembered, whatever they are."""
        kept: list[Sized] = [self._expected, self._node_of, self._wasted]
        kept += [self._used, self._promised, self._bound]
        return sum(len(one) for one in kept)

    def is_used(self, node: str) -> bool:
        """True when a pod was ever on it, as long as the node is there."""
        return node in self._used

    def _settle(self, pod: Key) -> list[str]:
        left = []
        for machine, pods in self._expected.items():
            if pod in pods:
                pods.discard(pod)
                if not pods:
                    left.append(machine)
        return left

    def unused(self) -> list[str]:
        """Return the machines that were ordered, have become nodes, and never had a pod."""
        there = (machine for machine in self._expected if machine in self._node_of)
        return sorted({*there, *self._wasted})
