"""What may machines to come be? Those that are started, and those of each provisioner.

A machine that means nothing is left out: it will never be launched, as its own reports say. A
provisioner that cannot be used says why.

Must not: look at what is there; who asks says how much of the limits is used.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from unmoor.engine import blame
from unmoor.engine.daemons import Daemon, asked_of
from unmoor.engine.held import Held
from unmoor.engine.limits import left_by
from unmoor.engine.scene import Doubts, Started, Template, site_of_machine
from unmoor.engine.sites import OF_OFFERINGS, all_sold, all_suiting, offerings_of
from unmoor.model import names, resources
from unmoor.model.base import Key
from unmoor.model.instance import InstanceType, Offering, OfferingName
from unmoor.model.machine import Machine
from unmoor.model.provisioner import (
    NARROWS_TYPES,
    Provisioner,
    ProvisionerSpec,
    requirements_of,
    validate,
)
from unmoor.model.requirement import RequirementError, Requirements
from unmoor.model.resources import Resources

SHOWN_MAX = 3
"""So many types, or offerings, are named when none of them is to be had."""


class _Out(NamedTuple):
    """Offerings that a provisioner does not ask for, and those of which the cloud has none: until
    when, in words.
    """

    avoided: Mapping[str, str]
    sold_out: Mapping[str, str]


class _Future(msgspec.Struct, frozen=True):
    """What a machine that is not launched yet may become; many machines share one."""

    requirements: Requirements
    types: tuple[InstanceType, ...]
    daemons: Resources
    held: tuple[Held, ...]
    capacity: Resources


class Ahead:
    """Keeps what it has found out for the last scene, as long as what it follows from is the same.

    Dropping it costs time only.
    """

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._types: tuple[InstanceType, ...] = ()
        self._daemons: tuple[Daemon, ...] = ()
        self._futures: dict[object, _Future | None] = {}
        self._restocked: dict[str, InstanceType] = {}
        self._templates: dict[str, tuple[ProvisionerSpec, _Out, Template]] = {}

    def look(self, types: Sequence[InstanceType], daemons: tuple[Daemon, ...]) -> None:
        """Go by what the cloud offers now, and by what DaemonSets ask."""
        sold = tuple(types)
        if sold != self._types or daemons != self._daemons:
            self._types, self._daemons = sold, daemons
            self._futures, self._restocked, self._templates = {}, {}, {}

    def started_of(self, machines: Iterable[Machine], nodes: Container[Key] = ()) -> list[Started]:
        """Return what these machines may become. ``nodes``: the keys of all nodes.

        Of whose types none is to be had now may become any of them: the cloud may have some again
        when it is asked, and gives it up otherwise. Until then it is a place, lest its pods get
        two.
        """
        before, self._futures = self._futures, {}
        by_name: dict[str, InstanceType] = {}
        found = []
        for machine in machines:
            spec, labels = machine.spec, machine.metadata.labels
            same = (spec.requirements, spec.taints, tuple(labels.items()))
            if same not in self._futures:
                if same not in before:
                    by_name = by_name or {one.name: one for one in self._types}
                    before[same] = self._in_stock(_future(machine, by_name, self._daemons))
                self._futures[same] = before[same]
            future = self._futures[same]
            if future is None:
                continue
            started = Started(
                name=site_of_machine(machine.name, is_namesake=machine.key in nodes),
                provisioner=machine.provisioner_name,
                requirements=future.requirements,
                taints=spec.taints,
                types=future.types,
                daemons=future.daemons,
                held=future.held,
                capacity=future.capacity,
            )
            found.append(started)
        return found

    def _in_stock(self, future: _Future | None) -> _Future | None:
        """As if everything were to be had, where nothing is."""
        if future is None or all_sold(future.types, future.requirements):
            return future
        types = (self._restocked.setdefault(one.name, _restocked(one)) for one in future.types)
        return msgspec.structs.replace(future, types=tuple(types))

    def templates_of(
        self,
        provisioners: Iterable[Provisioner],
        used: Mapping[str, Resources],
        doubts: Doubts,
    ) -> list[Template]:
        """Return what the next machine of each would be.

        ``used``: by provisioner, the capacity of its machines, as far as it counts against its
        limits. Never raises: what is wrong with a provisioner is its ``problem``.
        """
        before, self._templates = self._templates, {}
        found = []
        for one in provisioners:
            known = before.get(one.name)
            out = _Out(doubts.avoided.get(one.name, {}), doubts.sold_out)
            if known is None or known[:2] != (one.spec, out):
                known = (one.spec, out, _template(one, self._types, self._daemons, out))
            self._templates[one.name] = known
            template = known[2]
            if one.limits and template.requirements:  # Without any, it is broken.
                left = left_by(one, used.get(one.name, {}))
                template = msgspec.structs.replace(
                    template, limits=left.limits, remaining=left.amounts
                )
            if hold := doubts.held.get(one.name):
                template = msgspec.structs.replace(template, hold=hold)
            found.append(template)
        return found


def _future(
    machine: Machine, by_name: Mapping[str, InstanceType], daemons: tuple[Daemon, ...]
) -> _Future | None:
    """None when its requirements mean nothing. Types out of stock count for the capacity, too.

    Where all of them are, its types are all of them. Its labels hold, whatever it asks for: the
    node will have them, and the cloud's answer stands there first. A type that is not on sale says
    nothing: until the machine has its capacity, it counts as one of those that it asks for.
    """
    try:
        written = Requirements.from_api(machine.spec.requirements)
    except RequirementError:
        return None
    labels = dict(machine.metadata.labels)
    if labels.get(names.INSTANCE_TYPE, "") not in by_name:
        labels.pop(names.INSTANCE_TYPE, None)
    has = Requirements.from_labels(labels)
    requirements = has.intersection(
        Requirements.all_of(one for one in written if one.key not in has)
    )
    wanted = requirements.get(names.INSTANCE_TYPE)
    named = by_name if wanted.is_complement else sorted(wanted.values & by_name.keys())
    suiting = _where_it_lies(_suiting((by_name[name] for name in named), requirements), has)
    asked, held = asked_of(daemons, requirements, machine.spec.taints)
    return _Future(
        requirements=requirements,
        types=all_sold(suiting, requirements) or suiting,
        daemons=asked,
        held=held,
        capacity=resources.largest(*(one.capacity for one in suiting)),
    )


def _where_it_lies(
    types: tuple[InstanceType, ...], labels: Requirements
) -> tuple[InstanceType, ...]:
    """The types, sold where the cloud says that the machine is, be it where none of them is."""
    zone, capacity_type = (labels.get(key).only_value for key in OF_OFFERINGS)
    if zone is None or capacity_type is None:
        return types
    if any(
        (sold.zone, sold.capacity_type) == (zone, capacity_type)
        for one in types
        for sold in one.offerings
    ):
        return types
    there = (Offering(zone=zone, capacity_type=capacity_type),)
    return tuple(msgspec.structs.replace(one, offerings=there) for one in types)


def _template(
    provisioner: Provisioner,
    types: tuple[InstanceType, ...],
    daemons: tuple[Daemon, ...],
    out: _Out,
) -> Template:
    """Return all of it but what its limits leave."""
    errors = validate(provisioner)
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return Template(
            provisioner=provisioner.name,
            weight=provisioner.weight,
            requirements=Requirements({}),
            problem=f"{errors[0]}{more}",
        )
    requirements = requirements_of(provisioner)
    suiting = _suiting(types, requirements)
    asked_for = tuple(one.without(out.avoided) for one in suiting) if out.avoided else suiting
    available = all_sold(asked_for, requirements)
    fault = "" if available else _fault(provisioner, requirements, types, suiting)
    asked, held = asked_of(daemons, requirements, provisioner.spec.taints)
    return Template(
        provisioner=provisioner.name,
        weight=provisioner.weight,
        requirements=requirements,
        taints=provisioner.spec.taints,
        types=available,
        daemons=asked,
        held=held,
        defaults=provisioner.defaults,
        left_out=_left_out(provisioner, requirements, types, available),
        problem="" if available else fault or _none_sold(provisioner, requirements, suiting, out),
        is_in_order=not fault,
    )


def _left_out(
    provisioner: Provisioner,
    requirements: Requirements,
    types: tuple[InstanceType, ...],
    available: tuple[InstanceType, ...],
) -> tuple[InstanceType, ...]:
    """The types that would suit if the provisioner's defaults did not choose among types."""
    chosen = provisioner.defaults & NARROWS_TYPES
    if not chosen:
        return ()
    others = Requirements.all_of(one for one in requirements if one.key not in chosen)
    inside = {one.name for one in available}
    suiting = all_sold(_suiting(types, others), others)
    return tuple(one for one in suiting if one.name not in inside)


def _fault(
    provisioner: Provisioner,
    requirements: Requirements,
    types: tuple[InstanceType, ...],
    suiting: tuple[InstanceType, ...],
) -> str:
    """Say what is wrong with its requirements, "" where something on sale meets them.

    ``types``: all of them, of which some are ``suiting``.
    """
    subject = f"provisioner/{provisioner.name}: spec.requirements"
    for one in requirements:
        if one.is_nothing:
            return f"{subject}: {one}, because they contradict each other; change one of them"
    if why := blame.words_of(requirements, types, provisioner.defaults, 1):
        return f"{subject}: {why}"
    return "" if suiting else f"{subject}: no instance type suits them; allow more"


def _none_sold(
    provisioner: Provisioner,
    requirements: Requirements,
    suiting: tuple[InstanceType, ...],
    out: _Out,
) -> str:
    """Say whose fault it is that none of these types is to be had: our memory's, or the cloud's."""
    subject = f"provisioner/{provisioner.name}: spec.requirements"
    left = [
        name
        for one in suiting
        for sold in offerings_of(one, requirements)
        if (name := str(OfferingName(one.name, sold.zone, sold.capacity_type))) in out.avoided
    ]
    if left:
        until = min(out.avoided[name] for name in left)
        return (
            f"{subject}: {_some(left)} would suit, and its machines have not come up there; it "
            f"asks for the first of them again at {until}: see why they do not, or allow more"
        )
    listed = {one.name for one in suiting}
    untils = [at for name, at in out.sold_out.items() if name.rsplit(" ", 2)[0] in listed]
    again = f"; the first are asked for again at {min(untils)}" if untils else ""
    return (
        f"{subject}: {_some([one.name for one in suiting])} would suit, none is to be had now in "
        f"an allowed zone and capacity type{again}; wait, or allow more"
    )


def _some(those: Sequence[str]) -> str:
    """Name the first of them."""
    more = f" and {len(those) - SHOWN_MAX} more" if len(those) > SHOWN_MAX else ""
    return ", ".join(those[:SHOWN_MAX]) + more


def _suiting(types: Iterable[InstanceType], requirements: Requirements) -> tuple[InstanceType, ...]:
    """The types that suit, to be had or not."""
    if any(one.is_nothing for one in requirements):
        return ()
    return all_suiting(types, requirements)


def _restocked(one: InstanceType) -> InstanceType:
    """The type as it is when everything is to be had."""
    offerings = (msgspec.structs.replace(sold, is_available=True) for sold in one.offerings)
    return msgspec.structs.replace(one, offerings=tuple(offerings))
