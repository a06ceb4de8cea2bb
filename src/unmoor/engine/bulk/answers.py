"""What the fast engine found, in the words of the plan.

Reasons are worked out when somebody reads them: the oracle is then put where the fast engine ended,
and asked. Until then they cost nothing. Equal pods share one, and there is an end to it: the oracle
looks at every pod there is for each of them.

Must not: change what was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from unmoor.engine import oracle
from unmoor.engine.bulk.fleet import Machine
from unmoor.engine.bulk.prices import Prices
from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.refusal import Refusal
from unmoor.model.base import Key
from unmoor.model.pod import Pod

if TYPE_CHECKING:
    from unmoor.engine.bulk.crowd import Ask
    from unmoor.engine.bulk.greedy import Greedy

LOOKS_MAX = 500_000
"""So many looks at pods and places are spent on the reasons of one plan, 7 us each; the first is
worked out whatever it takes."""


class Reasons(Mapping[Key, tuple[Refusal, ...]]):
    """Why each pod that is left has no place; asked for one by one.

    () once ``looks_max`` is reached: a later plan says it, if that one is asked first.
    """

    def __init__(
        self,
        greedy: Greedy,
        known: dict[Key, tuple[Refusal, ...]],
        left: list[tuple[Pod, int]],
        looks_max: int = LOOKS_MAX,
    ) -> None:
        """``known``: what is wrong with the pod itself; ``left``: who found no place."""
        self._greedy = greedy
        self._known = known
        self._left = {pod.key: (pod, level) for pod, level in left}
        self._run: oracle.Run | None = None
        self._of_class: dict[int, tuple[Refusal, ...]] = {}
        self._looks, self._looks_max = 0, looks_max

    def __getitem__(self, key: Key) -> tuple[Refusal, ...]:
        """The reasons on the best destination."""
        if key in self._known:
            return self._known[key]
        pod, level = self._left[key]
        ask = self._greedy.crowd.ask(pod, level)
        if ask.number not in self._of_class:
            if self._run is None:
                self._run = _replayed(self._greedy)
            looks = _looks(self._run, ask)
            if self._looks and self._looks + looks > self._looks_max:
                return ()
            self._looks += looks
            self._of_class[ask.number] = self._run.explain(ask.wish)
        return self._of_class[ask.number]

    def begin_anew(self) -> None:
        """Have as many looks again for those that were not asked for yet."""
        self._looks = 0

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


def once_more(plan: Plan) -> Plan:
    """Return the plan as it was answered, for the same question."""
    if isinstance(plan.refused, Reasons):
        plan.refused.begin_anew()
    return plan


def _looks(run: oracle.Run, ask: Ask) -> int:
    """How many looks the oracle takes: everybody is looked at once for each question."""
    wish = ask.wish
    questions = 1 + len(wish.spreads) + sum(map(len, wish.near)) + len(wish.apart)
    questions += sum(term.selection.has(wish.pod) for term in run.watched)
    return questions * sum(1 + len(site.pods) for site in run.sites)


def _replayed(greedy: Greedy) -> oracle.Run:
    run = oracle.Run(greedy.scene)
    run.standing = list(greedy.ground.standing)
    run.opened = [machine.as_opened(greedy.types) for machine in greedy.fleet.all]
    run.remaining |= greedy.remaining
    run.watched = greedy.watched
    return run


def answer(greedy: Greedy, prices: Prices) -> Plan:
    """Return the plan."""
    return Plan(
        placements=greedy.placements,
        machines=tuple(
            _machine(one, greedy.columns, prices) for one in greedy.fleet.all if not one.is_started
        ),
        refused=Reasons(greedy, greedy.refused, list(greedy.queue)),
        given_up=greedy.given_up,
    )


def _machine(machine: Machine, columns: Sequence[str], prices: Prices) -> NewMachine:
    _, cheapest = prices.of(machine.shape)
    chosen = prices.asked_for(machine.shape, machine.flags).tolist()
    price = float(cheapest[chosen[0]])
    asked = set(machine.base.daemons)
    for ask in machine.asks:
        asked |= ask.wish.requests.keys()
    amounts = dict(zip(columns, machine.row.tolist(), strict=True))
    return NewMachine(
        name=machine.name,
        provisioner=machine.base.provisioner,
        requirements=machine.shape.requirements,
        instance_types=tuple(prices.names[at] for at in chosen),
        requests={name: amounts[name] for name in columns if name in asked},
        pods=tuple(pod.key for pod in machine.pods),
        price_usd_per_h=None if price == inf else price,
    )
