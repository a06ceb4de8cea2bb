"""A view as the engine looks at it: places, started machines and templates.

Bad input makes nothing else bad: a place whose quantities cannot be read offers nothing; a machine
whose requirements mean nothing is left out; a provisioner that cannot be used says why in
``Template.problem``. Nothing here raises for what an API object holds.

Must not: place anything, or decide what is to go; whoever asks says so in ``without``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from unmoor.engine.daemons import Daemon, asked_of, daemons_of
from unmoor.engine.limits import left_by
from unmoor.engine.places import Found, Sources, amounts_of, place_of
from unmoor.engine.scene import Scene, Started, Template
from unmoor.engine.sites import offerings_of, suits
from unmoor.model import names, resources, taint
from unmoor.model.base import Key
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import CSI_NODES, MACHINES, NODES, PODS, PROVISIONERS
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.provisioner import Provisioner, requirements_of, validate
from unmoor.model.requirement import RequirementError, Requirements
from unmoor.model.resources import Resources
from unmoor.model.snapshot import View
from unmoor.model.taint import Taint

TYPES_SHOWN = 3
"""So many types are named when none of them is to be had."""
_UNCLAIMED = Taint(key=names.UNINITIALIZED, effect=taint.NO_SCHEDULE)


def scene_of(
    view: View,
    types: Sequence[InstanceType],
    *,
    without: Collection[str] = (),
    placing: Collection[Key] = (),
) -> Scene:
    """Return what a simulation looks at.

    ``types``: what the cloud offers, as it is now. ``without``: names of nodes and machines that
    are to go; their pods are nowhere. ``placing``: keys of pods that are to be placed anew, so that
    they count nowhere.
    """
    return Scenery().scene_of(view, types, without=without, placing=placing)


class Scenery:
    """Keeps the places of the last scene, for those that have not changed since.

    Dropping it costs time only. Not to be shared between threads.
    """

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._daemons: tuple[Daemon, ...] = ()
        self._known: dict[tuple[bool, str], tuple[Sources, Found]] = {}

    @property
    def kept(self) -> int:
        """How many places are kept."""
        return len(self._known)

    def scene_of(
        self,
        view: View,
        types: Sequence[InstanceType],
        *,
        without: Collection[str] = (),
        placing: Collection[Key] = (),
    ) -> Scene:
        """Return what a simulation looks at (see :func:`scene_of`)."""
        known, self._known = self._known, {}
        daemons = daemons_of(view)
        if daemons != self._daemons:
            known, self._daemons = {}, daemons
        gone = frozenset(without)
        kept: dict[tuple[bool, str], tuple[Sources, Found]] = {}
        found = []
        for key, sources in _sources(view, frozenset(placing)):
            before = known.get(key)
            if sources.is_called(gone):
                kept |= {key: before} if before is not None else {}
                continue
            if before is None or before[0] != sources:
                before = (sources, place_of(sources, daemons))
            kept[key] = before
            found.append(before[1])
        started, promised = _started(view, types, daemons, gone)
        used = _used((*((one.place.provisioner, one.capacity) for one in found), *promised))
        templates = [
            _template(one, types, daemons, used.get(one.name, {}))
            for one in view.sorted(PROVISIONERS)
            if not one.is_deleting
        ]
        self._known = kept
        return Scene(
            view=view,
            places=tuple(sorted((one.place for one in found), key=lambda place: place.order)),
            started=started,
            templates=tuple(sorted(templates, key=lambda template: template.order)),
        )


# ------------------------------------------------------------------------------------------ places


def _sources(view: View, placing: frozenset[Key]) -> Iterator[tuple[tuple[bool, str], Sources]]:
    """Each node and each launched machine without one, unless it is being deleted."""
    moved = {pod.node_name for key in placing if (pod := view.all(PODS).get(key)) is not None}
    unreadable = view.nodes_with_unreadable_pods()
    for (_, name), node in view.all(NODES).items():
        machines = view.machines_of(node.provider_id)
        if node.is_deleting or _is_unclaimed(node) or any(one.is_deleting for one in machines):
            continue
        pods = view.pods_on(name)
        if name in moved:
            pods = tuple(pod for pod in pods if pod.key not in placing)
        yield (
            (True, name),
            Sources(
                node=node,
                machine=machines[0] if len(machines) == 1 else None,
                pods=pods,
                volumes=view.get(CSI_NODES, name),
                has_unreadable_pods=name in unreadable,
            ),
        )
    seen = set()
    for machine in view.sorted(MACHINES):
        if not _is_in_flight(view, machine) or machine.is_deleting:
            continue
        if machine.provider_id not in seen:
            seen.add(machine.provider_id)
            yield (False, machine.name), Sources(node=None, machine=machine, pods=())


def _is_unclaimed(node: Node) -> bool:
    """Nobody knows yet which machine it is: its machine is looked at in its place (spec 2.1)."""
    if node.provider_id:
        return False
    return bool(node.provisioner_name) or taint.has(node.spec.taints, _UNCLAIMED)


def _is_in_flight(view: View, machine: Machine) -> bool:
    """Launched, and its node has not joined yet. One that has lost its node promises nothing."""
    if not machine.provider_id or machine.node_name:
        return False
    return not view.nodes_of(machine.provider_id)


# ---------------------------------------------------------------------------------------- machines


class _Ahead(msgspec.Struct, frozen=True):
    """What a machine that is not launched yet may become; many machines share one."""

    requirements: Requirements
    types: tuple[InstanceType, ...]
    daemons: Resources
    capacity: Resources


def _started(
    view: View,
    types: Sequence[InstanceType],
    daemons: tuple[Daemon, ...],
    gone: frozenset[str],
) -> tuple[tuple[Started, ...], list[tuple[str, Resources]]]:
    """The machines that are not launched yet; and, by provisioner, what counts against its limits.

    That is the most that such a machine may come to, and the capacity of one that has lost its
    node: the instance may still be there.
    """
    found: list[Started] = []
    promised: list[tuple[str, Resources]] = []
    by_name = {one.name: one for one in types}
    known: dict[object, _Ahead | None] = {}
    for machine in view.sorted(MACHINES):
        if machine.is_deleting or machine.name in gone:
            continue
        if machine.provider_id:
            if machine.node_name and not view.nodes_of(machine.provider_id):
                promised.append(
                    (machine.provisioner_name, amounts_of(machine.status.capacity) or {})
                )
            continue
        spec, labels = machine.spec, machine.metadata.labels
        same = (spec.requirements, spec.taints, tuple(labels.items()))
        if same not in known:
            known[same] = _ahead(machine, by_name, daemons)
        ahead = known[same]
        if ahead is None:
            continue
        promised.append((machine.provisioner_name, ahead.capacity))
        found.append(
            Started(
                name=machine.name,
                provisioner=machine.provisioner_name,
                requirements=ahead.requirements,
                taints=machine.spec.taints,
                types=ahead.types,
                daemons=ahead.daemons,
            )
        )
    return tuple(found), promised


def _ahead(
    machine: Machine, by_name: Mapping[str, InstanceType], daemons: tuple[Daemon, ...]
) -> _Ahead | None:
    """None when its requirements mean nothing: it will never be launched."""
    try:
        written = Requirements.from_api(machine.spec.requirements)
    except RequirementError:
        return None
    requirements = written.intersection(Requirements.from_labels(machine.metadata.labels))
    wanted = requirements.get(names.INSTANCE_TYPE)
    named = by_name if wanted.is_complement else sorted(wanted.values & by_name.keys())
    suiting = _suiting((by_name[name] for name in named), requirements)
    return _Ahead(
        requirements=requirements,
        types=_to_be_had(suiting, requirements),
        daemons=asked_of(daemons, requirements, machine.spec.taints),
        capacity=resources.largest(*(one.capacity for one in suiting)),
    )


def _suiting(types: Iterable[InstanceType], requirements: Requirements) -> tuple[InstanceType, ...]:
    """The types that suit, to be had or not."""
    if any(one.is_nothing for one in requirements):
        return ()
    return tuple(one for one in types if suits(one, requirements))


def _to_be_had(
    types: Iterable[InstanceType], requirements: Requirements
) -> tuple[InstanceType, ...]:
    return tuple(one for one in types if offerings_of(one, requirements))


def _used(parts: Iterable[tuple[str, Resources]]) -> dict[str, Resources]:
    """Capacity by provisioner."""
    by_provisioner: dict[str, list[Resources]] = {}
    for provisioner, capacity in parts:
        by_provisioner.setdefault(provisioner, []).append(capacity)
    return {name: resources.total(parts) for name, parts in by_provisioner.items()}


# --------------------------------------------------------------------------------------- templates


def _template(
    provisioner: Provisioner,
    types: Sequence[InstanceType],
    daemons: tuple[Daemon, ...],
    used: Resources,
) -> Template:
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
    available = _to_be_had(suiting, requirements)
    return Template(
        provisioner=provisioner.name,
        weight=provisioner.weight,
        requirements=requirements,
        taints=provisioner.spec.taints,
        types=available,
        daemons=asked_of(daemons, requirements, provisioner.spec.taints),
        remaining=left_by(provisioner, used).amounts,
        problem="" if available else _nothing_to_be_had(provisioner, requirements, suiting),
    )


def _nothing_to_be_had(
    provisioner: Provisioner, requirements: Requirements, suiting: tuple[InstanceType, ...]
) -> str:
    subject = f"provisioner/{provisioner.name}: spec.requirements"
    for one in requirements:
        if one.is_nothing:
            return f"{subject}: {one}, because they contradict each other; change one of them"
    if not suiting:
        return f"{subject}: no instance type suits them; allow more"
    shown = ", ".join(one.name for one in suiting[:TYPES_SHOWN])
    more = f" and {len(suiting) - TYPES_SHOWN} more" if len(suiting) > TYPES_SHOWN else ""
    return (
        f"{subject}: {shown}{more} would suit, none is to be had now in an allowed zone and "
        "capacity type; wait, or allow more"
    )
