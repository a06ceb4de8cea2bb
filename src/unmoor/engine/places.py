"""What a node, or a machine without one, is worth to pods: its effective data (spec 9.5).

That changes while it comes up. Until a node is registered, its machine's labels and taints hold;
until it is initialized, its machine fills in what the kubelet has not reported yet, and taints that
only mark the start are overlooked. Those that go away by themselves are, too, unless they should be
gone by now.

A place whose quantities cannot be read offers nothing, as does one with a pod on it that cannot be
read: nobody knows what is left.

Must not: look around; a place is made of what is handed in.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter

import msgspec

from unmoor.engine.daemons import Daemon, daemon_sets_of, held_for, meant_for, reserved_for
from unmoor.engine.scene import Place, differing, site_of_machine
from unmoor.model import names, resources, taint
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.quantity import QuantityError
from unmoor.model.requirement import Requirement, RequirementError
from unmoor.model.resources import Quantities, Resources
from unmoor.model.storage import CSINode
from unmoor.model.taint import Taint

_IS_TERMINAL = attrgetter("is_terminal")
_EPHEMERAL = tuple(Taint(key=key, effect=effect) for key, effect in names.EPHEMERAL_TAINTS)


class Sources(msgspec.Struct, frozen=True):
    """All that a place is made of, DaemonSets aside; a node, a machine, or both."""

    node: Node | None
    machine: Machine | None
    pods: tuple[Pod, ...]
    volumes: CSINode | None = None
    has_unreadable_pods: bool = False
    is_late: bool = False
    is_namesake: bool = False
    """There is a node that has the name of this machine, and is another."""

    def is_same_node(self, other: Sources) -> bool:
        """True when the two differ in their pods at most; may be False all the same."""
        return (
            self.node is other.node
            and self.machine is other.machine
            and self.volumes is other.volumes
            and self.has_unreadable_pods == other.has_unreadable_pods
            and self.is_late == other.is_late
            and self.is_namesake == other.is_namesake
        )

    def is_called(self, called: Collection[str]) -> bool:
        """True when the node or the machine has one of these names."""
        return any(one is not None and one.name in called for one in (self.node, self.machine))


class Made(msgspec.Struct, frozen=True):
    """A place and what it was made of. ``daemons``: those that have a pod there."""

    sources: Sources
    daemons: tuple[Daemon, ...]
    place: Place


def made_of(sources: Sources, daemons: tuple[Daemon, ...], before: Made | None = None) -> Made:
    """Return the place that these make: a pure function, whose answers may be kept.

    ``before``: what was made earlier with the same ``daemons``. Where only the pods are others, the
    rest is taken from there.
    """
    if before is not None and before.sources.is_same_node(sources):
        bare, mine = before.place, before.daemons
        old, new = differing(before.sources.pods, sources.pods)
        are_live = len(bare.pods) == len(before.sources.pods) and not any(map(_IS_TERMINAL, new))
        if are_live and not any(map(daemon_sets_of, (*old, *new))):  # As nearly always.
            return Made(sources, mine, msgspec.structs.replace(bare, pods=sources.pods))
    else:
        bare = _without_pods(sources)
        mine = meant_for(daemons, bare.name, bare.labels, bare.taints)
    pods = tuple([pod for pod in sources.pods if not pod.is_terminal])
    reserved, held = reserved_for(mine, pods), held_for(mine, pods)
    place = msgspec.structs.replace(bare, pods=pods, reserved=reserved, held=held)
    return Made(sources, mine, place)


def _without_pods(sources: Sources) -> Place:
    node, machine = sources.node, sources.machine
    place = _standing(sources, node) if node is not None else _to_come(sources)
    return msgspec.structs.replace(
        place,
        volume_room=volume_room_of(sources.volumes),
        allocatable={} if sources.has_unreadable_pods else place.allocatable,
        capacity=capacity_of(node, machine),
    )


def _standing(sources: Sources, node: Node) -> Place:
    machine = sources.machine
    is_managed = machine is not None or bool(node.provisioner_name)
    is_initialized = node.is_initialized or not is_managed
    is_registered = is_initialized or node.metadata.labels.get(names.REGISTERED) == names.TRUE
    labels, taints, starting = node.metadata.labels, node.spec.taints, _EPHEMERAL
    if machine is not None and not is_registered:
        # What it will have once it is registered.
        labels, taints = {**labels, **_labels_of(machine)}, machine.spec.taints
    if machine is not None and not is_initialized:
        starting = (*starting, *machine.spec.startup_taints)
    # Who may run there is the same, and whoever finds no place elsewhere buys nothing for it.
    taints = tuple(one for one in taint.without(taints, starting) if not taint.is_going_soon(one))
    if sources.is_late:
        taints += tuple(one for one in node.spec.taints if taint.has(_EPHEMERAL, one))
    allocatable = _amounts(node.status.allocatable)
    if machine is not None and not is_initialized and allocatable is not None:
        allocatable = _filled(allocatable, _amounts(machine.status.allocatable))
    return Place(
        name=node.name,
        labels=labels,
        taints=taints,
        is_cordoned=node.is_cordoned,
        allocatable=allocatable or {},
        is_initialized=is_initialized,
        is_ready=node.is_ready,
        provisioner=labels.get(names.PROVISIONER_NAME, ""),
    )


def _to_come(sources: Sources) -> Place:
    machine = sources.machine
    assert machine is not None, "a place has a node or a machine"
    name = site_of_machine(machine.name, is_namesake=sources.is_namesake)
    return Place(
        name=name,
        labels={**_labels_of(machine), names.HOSTNAME: name},
        taints=taint.without(machine.spec.taints, _EPHEMERAL),
        allocatable=_amounts(machine.status.allocatable) or {},
        is_initialized=False,
        is_ready=False,
        is_node=False,
        provisioner=machine.provisioner_name,
    )


def _labels_of(machine: Machine) -> dict[str, str]:
    """What its node will be labelled: as the machine is, and where only one value is allowed."""
    certain = {}
    for one in machine.spec.requirements:
        try:
            wanted = Requirement.of(one.key, one.operator, one.values)
        except RequirementError:
            continue
        if wanted.only_value is not None:
            certain[wanted.key] = wanted.only_value
    labels = {**certain, **machine.metadata.labels}
    labels.pop(names.HOSTNAME, None)
    return labels


def _amounts(quantities: Quantities) -> dict[str, int] | None:
    """Return the amounts, None when one of them cannot be read."""
    try:
        return resources.parse_resources(quantities)
    except QuantityError:
        return None


def _filled(reported: dict[str, int], promised: Resources | None) -> dict[str, int]:
    """What is missing or zero on the node is taken from its machine."""
    return {
        **(promised or {}),
        **{name: amount for name, amount in reported.items() if amount},
    }


def capacity_of(node: Node | None, machine: Machine | None) -> dict[str, int]:
    """Return what counts against the limits of a provisioner, and what its status says it has.

    What cannot be read on the node is taken from its machine; until it is initialized, so is what
    is missing or zero. What cannot be read on either counts as nothing, and so does less than
    nothing: no machine makes room for others within a limit.
    """
    written = node.status.capacity if node is not None else {}
    reported, unreadable = _readable(written)
    promised, _ = _readable(machine.status.capacity if machine is not None else {})
    if node is not None and node.is_initialized:
        promised = {name: promised[name] for name in unreadable if name in promised}
    return {name: amount for name, amount in _filled(reported, promised).items() if amount > 0}


def _readable(written: Quantities) -> tuple[dict[str, int], list[str]]:
    """The amounts that can be read, and the names of the others."""
    amounts, unreadable = {}, []
    for name, value in written.items():
        try:
            amounts[name] = resources.parse_amount(name, value)
        except QuantityError:
            unreadable.append(name)
    return amounts, unreadable


def volume_room_of(volumes: CSINode | None) -> dict[str, int]:
    """Return driver to the number of volumes; those that say none take as many as one likes."""
    drivers = volumes.spec.drivers if volumes is not None else ()
    counts = {one.name: one.allocatable.count for one in drivers if one.allocatable is not None}
    return {name: count for name, count in counts.items() if count is not None}
