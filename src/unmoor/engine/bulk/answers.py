"""What the fast engine found, in the words of the plan.

Reasons are worked out when somebody reads them: the oracle is then put where the fast engine ended,
and asked. Until then they cost nothing. Equal pods share one, and there is an end to it: the oracle
looks at every pod there is for each of them.

Must not: change what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from unmoor.engine import blame, oracle
from unmoor.engine.bulk.fleet import Machine
from unmoor.engine.bulk.prices import Prices
from unmoor.engine.defaulted import with_all_types
from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.pricing import cheapest_of
from unmoor.engine.refusal import Refusal
from unmoor.engine.scene import Template
from unmoor.engine.wish import Wish
from unmoor.model import names
from unmoor.model.base import Key
from unmoor.model.instance import InstanceType
from unmoor.model.requirement import Requirements

if TYPE_CHECKING:
    from unmoor.engine.bulk.crowd import Ask
    from unmoor.engine.bulk.greedy import Greedy

LOOKS_MAX = 500_000
"""So many looks at pods, places and types are spent on the reasons of one plan, 7 us each; the
first is worked out whatever it takes."""
PROVISIONER_LOOKS = 10
"""As long as so many looks it takes to hear what a provisioner says, its types aside."""


class Explainer:
    """The oracle, put where the fast engine ended."""

    def __init__(self, greedy: Greedy) -> None:
        """``greedy``: one that has run, and that runs no more."""
        self._greedy = greedy
        self._known = dict(greedy.refused)
        self._left = {pod.key: (pod, level) for pod, level in greedy.queue}
        self._run: oracle.Run | None = None
        self._of_class: dict[int, tuple[Refusal, ...]] = {}

    def itself(self) -> Explainer:
        """Return this one: for reasons that are always asked of the same."""
        return self

    def looks(self, key: Key) -> int:
        """How many looks it takes to say why this pod has no place."""
        if key in self._known or self._ask(key).number in self._of_class:
            return 0
        return _looks(self._replayed, self._ask(key))

    def of(self, key: Key) -> tuple[Refusal, ...]:
        """Return the reasons on the best destination."""
        if key in self._known:
            return self._known[key]
        ask = self._ask(key)
        if ask.number not in self._of_class:
            self._of_class[ask.number] = self._replayed.explain(ask.wish)
        return self._of_class[ask.number]

    def _ask(self, key: Key) -> Ask:
        return self._greedy.crowd.ask(*self._left[key])

    @property
    def _replayed(self) -> oracle.Run:
        if self._run is None:
            self._run = _replayed(self._greedy)
        return self._run


class Reasons(Mapping[Key, tuple[Refusal, ...]]):
    """Why each pod that is left has no place; asked for one by one, and remembered.

    () once ``looks_max`` is reached: a later plan says it, if that one is asked first.
    """

    def __init__(
        self,
        keys: Iterable[Key],
        explainer: Callable[[], Explainer],
        looks_max: int = LOOKS_MAX,
    ) -> None:
        """``keys``: who has no place. ``explainer``: who knows why, once somebody asks."""
        self._keys = dict.fromkeys(keys)
        self._explainer = explainer
        self._found: dict[Key, tuple[Refusal, ...]] = {}
        self._looks, self._looks_max = 0, looks_max

    def __getitem__(self, key: Key) -> tuple[Refusal, ...]:
        """The reasons on the best destination."""
        if key not in self._keys:
            raise KeyError(key)
        if key not in self._found:
            explainer = self._explainer()
            looks = explainer.looks(key)
            if looks and self._looks and self._looks + looks > self._looks_max:
                return ()
            self._looks += looks
            self._found[key] = explainer.of(key)
        return self._found[key]

    def begin_anew(self) -> None:
        """Have as many looks again for those that were not asked for yet."""
        self._looks = 0

    def __iter__(self) -> Iterator[Key]:
        """Pods that are refused themselves first, then those that found no place."""
        return iter(self._keys)

    def __len__(self) -> int:
        """How many pods have no place."""
        return len(self._keys)

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
    """How many looks the oracle takes: everybody is looked at once for each question, and all types
    of a provisioner for each way to suit it.
    """
    wish = ask.wish
    questions = 1 + len(wish.spreads) + sum(map(len, wish.near)) + len(wish.apart)
    questions += sum(term.selection.has(wish.pod) for term in run.watched)
    looks = questions * sum(1 + len(site.pods) for site in run.sites)
    meant = blame.meant_by(wish, run.scene.templates)
    return looks + sum(_looks_at_offer(one, wish) for one in meant)


def _looks_at_offer(template: Template, wish: Wish) -> int:
    """What its defaults leave out is looked at, too."""
    wider = with_all_types(template) or template
    undefined = names.WELL_KNOWN_LABELS
    ways = sum(wider.requirements.compatible(way, undefined=undefined) for way in wish.ways)
    return PROVISIONER_LOOKS + ways * len(wider.types)


def _replayed(greedy: Greedy) -> oracle.Run:
    run = oracle.Run(greedy.scene)
    run.standing = [greedy.ground.site(at) for at in range(greedy.ground.count)]
    run.opened = [machine.as_opened(greedy.types) for machine in greedy.fleet.all]
    run.remaining |= greedy.remaining
    run.watched = greedy.watched
    return run


def answer(
    greedy: Greedy, prices: Prices, explainer: Callable[[], Explainer] | None = None
) -> Plan:
    """Return the plan.

    ``explainer``: who says why pods have no place, if ``greedy`` is to run again.
    """
    if explainer is None:
        explainer = Explainer(greedy).itself
    left = {pod.key: None for pod, _ in greedy.queue}
    themselves = [key for key in greedy.refused if key not in left]
    return Plan(
        placements=greedy.placements,
        machines=tuple(
            _machine(one, greedy.columns, prices) for one in greedy.fleet.all if not one.is_started
        ),
        refused=Reasons([*themselves, *left], explainer),
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
        price_book=_book(prices.types.all[chosen[0]], machine.shape.requirements),
    )


def _book(one: InstanceType, requirements: Requirements) -> str:
    """Whose prices those of its cheapest offering are, looked up only where there are several."""
    return cheapest_of(one, requirements).book if one.spot_book else one.price_book
