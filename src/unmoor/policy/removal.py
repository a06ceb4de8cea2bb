"""What would it take, and save, if these nodes went? (001:79-81, 96-98, spec 3.4, 3.5)

Their pods fit elsewhere: they can go. It takes one machine more, and that one is cheaper than what
they cost together, whatever offering the cloud picks: they can be replaced. Else they stay, with a
reason. A price that nobody knows, or a zero, is no ground for a replacement; whether pods fit
elsewhere does not depend on it.

Must not: choose nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf

import msgspec

from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.sites import offerings_of
from unmoor.model import names
from unmoor.model.instance import InstanceType
from unmoor.model.money import usd_per_h
from unmoor.model.requirement import IN, Requirement, Requirements
from unmoor.policy import balance, worth
from unmoor.policy.command import Candidate
from unmoor.policy.look import Look
from unmoor.policy.simulation import Outcome, Simulation
from unmoor.policy.verdict import Reason

SPOT_TYPES_LEAST = 15
"""So many cheaper types must there be where spot replaces spot (R9, spec 3.11)."""


class Removal(msgspec.Struct, frozen=True):
    """Nodes that may go, and what that takes.

    ``price_usd_per_h``: what they cost, None when a price of theirs is unknown; likewise
    ``saving_usd_per_h``, where a replacement counts with the dearest offering of a type.
    """

    nodes: tuple[Candidate, ...]
    plan: Plan
    price_usd_per_h: float | None
    saving_usd_per_h: float | None

    @property
    def is_replacement(self) -> bool:
        """A machine comes in their stead."""
        return bool(self.plan.machines)


class Refused(msgspec.Struct, frozen=True):
    """Why they stay: the reason, and in words for a person."""

    reason: Reason
    message: str


def no_place(why_not: str) -> Refused:
    """Say that some pods would have none."""
    return Refused(Reason.NO_PLACE, f"not all pods would schedule: {why_not}")


def removal_of(look: Look, nodes: Collection[Candidate]) -> Removal | Refused:
    """Return what it takes to do without these nodes, or why they stay."""
    simulation = look.simulation
    if simulation is None:
        return Refused(Reason.TYPES_UNKNOWN, "the cloud has not said yet what it sells")
    outcome = simulation.without([one.node.name for one in nodes])
    return judged(look, simulation, tuple(nodes), outcome)


def possible(look: Look, nodes: Collection[Candidate]) -> Removal | None:
    """Return what it takes to do without these nodes, None when they stay.

    Why nothing is possible is not asked, which takes longer than to find out that it is not.
    """
    simulation = look.simulation
    if simulation is None:
        return None
    outcome = simulation.without([one.node.name for one in nodes])
    if not outcome.is_possible:
        return None
    found = judged(look, simulation, tuple(nodes), outcome)
    return found if isinstance(found, Removal) else None


def judged(
    look: Look, simulation: Simulation, nodes: tuple[Candidate, ...], outcome: Outcome
) -> Removal | Refused:
    """Return what an outcome of the simulation means for these nodes."""
    if not outcome.is_possible:
        return no_place(outcome.why_not)
    price = price_of(nodes, simulation)
    if not outcome.machines:
        if again := worth.moved_lately(look, nodes, is_deletion=True):
            return Refused(Reason.NOT_WORTH_IT, again)
        return _weighed(look, Removal(nodes, outcome.plan, price, price))
    if len(outcome.machines) > 1:
        message = f"can't remove without creating {len(outcome.machines)} nodes"
        return Refused(Reason.NEEDS_MACHINES, message)
    if again := worth.moved_lately(look, nodes, is_deletion=False):
        return Refused(Reason.NOT_WORTH_IT, again)
    if price is None:
        message = "the price of what it is is not known, so nothing can be called cheaper"
        return Refused(Reason.PRICE_UNKNOWN, message)
    cheaper = _cheaper(simulation, nodes, outcome.machines[0], price, look)
    if isinstance(cheaper, Refused):
        return cheaper
    plan = msgspec.structs.replace(outcome.plan, machines=(cheaper,))
    saving = price - _dearest(simulation, cheaper)
    least = look.view.settings.least_saving * price
    if saving < least:
        message = (
            f"a replacement would save {usd_per_h(saving)} of {usd_per_h(price)}, less than "
            f"unmoor.leastSaving ({look.view.settings.least_saving:g})"
        )
        return Refused(Reason.NOT_WORTH_IT, message)
    return _weighed(look, Removal(nodes, plan, price, saving))


def _weighed(look: Look, removal: Removal) -> Removal | Refused:
    words = balance.why_not(look, removal.nodes, removal.saving_usd_per_h)
    return Refused(Reason.NOT_WORTH_IT, words) if words else removal


def price_of(nodes: Iterable[Candidate], simulation: Simulation) -> float | None:
    """Return what these nodes cost together, in USD per hour; None when one's price is unknown."""
    prices = [_price(one, simulation) for one in nodes]
    known = [price for price in prices if price]  # a zero is no price (R34)
    return sum(known) if len(known) == len(prices) else None


def _price(candidate: Candidate, simulation: Simulation) -> float | None:
    return price_at(candidate.node.metadata.labels, simulation)


def price_at(labels: Mapping[str, str], simulation: Simulation) -> float | None:
    """Return what the offering costs that these labels name, to be had or not."""
    return simulation.price_at(labels)


def worst_price(one: InstanceType, requirements: Requirements) -> float:
    """Return the most that a launch of this type may cost (spec 3.5); infinite when unknown."""
    offered = offerings_of(one, requirements)
    spot = [each for each in offered if each.capacity_type == names.SPOT]
    prices = [each.price_usd_per_h for each in spot or offered]
    return max((price or inf for price in prices), default=inf)


def _cheaper(
    simulation: Simulation,
    nodes: tuple[Candidate, ...],
    planned: NewMachine,
    price: float,
    look: Look,
) -> NewMachine | Refused:
    """Return the planned machine as those types alone that are cheaper than the nodes."""
    wanted = planned.requirements
    prices = {name: worst_price(simulation.types[name], wanted) for name in planned.instance_types}
    left = [name for name in planned.instance_types if prices[name] < price]
    if not left:
        return Refused(Reason.NOT_CHEAPER, "can't replace with a cheaper node")
    if any(map(worth.is_spot, nodes)) and (refused := _of_spot(left, look)):
        return refused
    # If there is no spot, no machine is better than a dearer one (spec 3.4, 8).
    only_spot = Requirements.all_of([Requirement.of(names.CAPACITY_TYPE, IN, [names.SPOT])])
    narrowed = wanted.intersection(only_spot)
    if spot := [name for name in left if offerings_of(simulation.types[name], narrowed)]:
        left, wanted = spot, narrowed
    left = _without_the_same(simulation, nodes, left, prices)
    if not left:
        message = "can't replace with a cheaper node: it would be one of those that go"
        return Refused(Reason.NOT_CHEAPER, message)
    back = worth.replaced_lately(look, nodes)
    if not (others := [name for name in left if name not in back]):
        return Refused(Reason.NOT_WORTH_IT, back[left[0]])
    left = others
    return msgspec.structs.replace(
        planned,
        requirements=wanted,
        instance_types=tuple(left),
        price_usd_per_h=min(prices[name] for name in left),
    )


def _of_spot(left: list[str], look: Look) -> Refused | None:
    """Why a spot node is not replaced by one of these types (R9)."""
    message = "a spot node is never replaced, only deleted"
    if not look.view.settings.spot_to_spot:
        return Refused(Reason.SPOT_TO_SPOT, f"{message} (unmoor.spotToSpot is off)")
    if len(left) >= SPOT_TYPES_LEAST:
        return None
    message = (
        f"a spot node is replaced only where {SPOT_TYPES_LEAST} cheaper types would do, or it "
        f"would soon be interrupted; here {len(left)} would"
    )
    return Refused(Reason.SPOT_TO_SPOT, message)


def _without_the_same(
    simulation: Simulation,
    nodes: tuple[Candidate, ...],
    left: list[str],
    prices: dict[str, float],
) -> list[str]:
    """Return the types that are cheaper than each node that is of a type among them (spec 3.8).

    Where a node that goes is what would come, it had better stay, and the others go.
    """
    gone: dict[str, float] = {}
    for one in nodes:
        name = one.node.metadata.labels.get(names.INSTANCE_TYPE, "")
        price = _price(one, simulation) or 0.0
        gone[name] = min(price, gone.get(name, inf))
    most = min((gone[name] for name in left if name in gone), default=inf)
    return [name for name in left if prices[name] < most]


def _dearest(simulation: Simulation, machine: NewMachine) -> float:
    """What the machine may cost: the cheapest of its types, at the dearest offering."""
    return min(
        worst_price(simulation.types[name], machine.requirements) for name in machine.instance_types
    )
