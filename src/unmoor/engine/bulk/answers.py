"""What the fast engine found, in the words of the plan.

Reasons are worked out when somebody reads them: the oracle is then put where the fast engine ended,
and asked. Until then they cost nothing.

Must not: change what was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from unmoor.engine import oracle
from unmoor.engine.bulk.fleet import Machine
from unmoor.engine.bulk.shapes import Shape
from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.pricing import TYPES_PER_MACHINE_MAX
from unmoor.engine.refusal import Refusal
from unmoor.model.base import Key
from unmoor.model.pod import Pod

if TYPE_CHECKING:
    from unmoor.engine.bulk.greedy import Greedy


class Reasons(Mapping[Key, tuple[Refusal, ...]]):
    """Why each pod that is left has no place; asked for one by one."""

    def __init__(
        self, greedy: Greedy, known: dict[Key, tuple[Refusal, ...]], left: list[tuple[Pod, int]]
    ) -> None:
        """``known``: what is wrong with the pod itself; ``left``: who found no place."""
        self._greedy = greedy
        self._known = known
        self._left = {pod.key: (pod, level) for pod, level in left}
        self._run: oracle.Run | None = None

    def __getitem__(self, key: Key) -> tuple[Refusal, ...]:
        """The reasons on the best destination."""
        if key not in self._known:
            pod, level = self._left[key]
            if self._run is None:
                self._run = _replayed(self._greedy)
            self._known[key] = self._run.explain(self._run.wish(pod, level))
        return self._known[key]

    def __iter__(self) -> Iterator[Key]:
        """Pods that are refused themselves first, then those that found no place."""
        yield from [key for key in self._known if key not in self._left]
        yield from self._left

    def __len__(self) -> int:
        """How many pods have no place."""
        return len({*self._known, *self._left})

    def __eq__(self, other: object) -> bool:
        """Equal to any mapping with the same reasons."""
        return isinstance(other, Mapping) and dict(self) == dict(other)

    __hash__ = None  # type: ignore[assignment]


def _replayed(greedy: Greedy) -> oracle.Run:
    run = oracle.Run(greedy.scene)
    run.standing = list(greedy.ground.standing)
    run.opened = [machine.as_opened(greedy.types) for machine in greedy.fleet.all]
    run.remaining |= greedy.remaining
    run.watched = greedy.watched
    return run


def answer(
    greedy: Greedy, refused: dict[Key, tuple[Refusal, ...]], left: list[tuple[Pod, int]]
) -> Plan:
    """Return the plan."""
    prices = _Prices(greedy)
    return Plan(
        placements=greedy.placements,
        machines=tuple(prices.machine(one) for one in greedy.fleet.all if not one.is_started),
        refused=Reasons(greedy, refused, left),
        given_up=greedy.given_up,
    )


class _Prices:
    """Types by price, worked out once for each shape."""

    def __init__(self, greedy: Greedy) -> None:
        types = greedy.types
        self._greedy = greedy
        self._names = [one.name for one in types.all]
        number = {pair: at for at, pair in enumerate(types.pairs)}
        self._prices = np.full((len(types.all), len(types.pairs)), np.inf)
        for at, one in enumerate(types.all):
            for offering in one.offerings:
                if offering.price_usd_per_h is not None:
                    pair = (offering.zone, offering.capacity_type)
                    column = number[pair]
                    self._prices[at, column] = min(
                        self._prices[at, column], offering.price_usd_per_h
                    )
        self._by_name = np.argsort(np.array(self._names, dtype=object), kind="stable")
        self._ranked: dict[int, tuple[list[int], list[float]]] = {}

    def _of(self, shape: Shape) -> tuple[list[int], list[float]]:
        found = self._ranked.get(shape.number)
        if found is None:
            cheapest = np.where(shape.sold, self._prices, np.inf).min(axis=1, initial=np.inf)
            order = self._by_name[np.argsort(cheapest[self._by_name], kind="stable")]
            found = self._ranked[shape.number] = (order.tolist(), cheapest.tolist())
        return found

    def machine(self, machine: Machine) -> NewMachine:
        order, cheapest = self._of(machine.shape)
        flags = machine.flags.tolist()
        chosen = [at for at in order if flags[at]]
        price = cheapest[chosen[0]]
        asked = set(machine.base.daemons)
        for ask in machine.asks:
            asked |= ask.wish.requests.keys()
        columns = self._greedy.columns
        amounts = dict(zip(columns, machine.row.tolist(), strict=True))
        return NewMachine(
            name=machine.name,
            provisioner=machine.base.provisioner,
            requirements=machine.shape.requirements,
            instance_types=tuple(self._names[at] for at in chosen[:TYPES_PER_MACHINE_MAX]),
            requests={name: amounts[name] for name in columns if name in asked},
            pods=tuple(pod.key for pod in machine.pods),
            price_usd_per_h=None if price == np.inf else price,
        )
