"""How a node becomes its machine's node, and when it is ready for pods (spec 6.1).

Registration happens once: one patch gives the Node our finalizer, its owner, the machine's labels,
annotations and taints, and the label that says so. Because the label is in the same patch, startup
taints that somebody removes afterwards never come back (T138). Initialization follows when the
node has all that was promised.

Must not: touch a node whose providerID is not the machine's; "" matches nothing (N15).
"""

from __future__ import annotations

from typing import Any

import msgspec

from unmoor.lifecycle import conditions
from unmoor.lifecycle.effects import Fact, Patch, label, own, owner, patch_as_seen
from unmoor.lifecycle.step import Step
from unmoor.model import names, resources, taint
from unmoor.model.base import Condition, OwnerReference
from unmoor.model.machine import MACHINE_INITIALIZED, MACHINE_REGISTERED, Machine
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.quantity import QuantityError
from unmoor.model.snapshot import View
from unmoor.model.taint import Taint
from unmoor.policy.ownership import is_ours

NOT_LAUNCHED = "NotLaunched"
NODE_NOT_FOUND = "NodeNotFound"
NODE_LOST = "NodeLost"
MULTIPLE_NODES = "MultipleNodesFound"
MACHINE_ONLY_ANNOTATIONS = frozenset(
    (names.LAUNCH_ATTEMPT, names.LINKED, names.REPLACEMENT_FOR, names.MADE_FROM)
)
"""About the launch, what was asked for, or the command that asked for it; not about the node."""

Waiting = tuple[str, str]
"""(reason, message): the first thing that is still missing."""

STARTUP_TAINTS_EXIST = "StartupTaintsExist"
"""Why a machine is not initialized: somebody else is to do something first."""


def node_of(view: View, machine: Machine) -> Node | Waiting:
    """Return the one node of a machine, or why there is none."""
    if not machine.is_launched:
        return NOT_LAUNCHED, "the cloud has not said which instance it is"
    nodes = view.nodes_of(machine.provider_id)
    if not nodes and machine.node_name:
        return NODE_LOST, f"its node {machine.node_name} is gone"
    if not nodes:
        return NODE_NOT_FOUND, f"no node with providerID {machine.provider_id} has joined"
    if len(nodes) > 1:
        listed = ", ".join(node.name for node in nodes)
        return MULTIPLE_NODES, f"several nodes have providerID {machine.provider_id}: {listed}"
    return nodes[0]


def register(view: View, machine: Machine, moment: Moment) -> Step[Any]:
    """Take one step towards registration."""
    found = node_of(view, machine)
    if not isinstance(found, Node):
        missing = conditions.false(MACHINE_REGISTERED, *found)
        waits = conditions.false(MACHINE_INITIALIZED, *found)
        return Step(effects=conditions.update(machine, missing, waits, moment=moment))
    if found.is_deleting:
        return Step()  # nothing is added to a node that goes; its machine goes with it
    if not is_claimed(found):
        return Step(effects=(claim(machine, found),))
    if not found.metadata.is_owned_by(machine.uid) and is_ours(view, found):
        # Another machine was first. Both own it, so that neither takes it along.
        why = f"machine {machine.name} stands for it as well"
        return Step(effects=(own(found, _owners(machine, found), why=why),))
    facts = (Fact("machines_registered", {"provisioner": machine.provisioner_name}),)
    return Step(
        effects=conditions.update(
            machine,
            conditions.true(MACHINE_REGISTERED),
            moment=moment,
            status={"nodeName": found.name},
            facts=facts,
        )
    )


def is_claimed(node: Node) -> bool:
    """True when the patch of :func:`claim` has reached the node."""
    is_labelled = node.metadata.labels.get(names.REGISTERED) == names.TRUE
    return is_labelled and names.TERMINATION_FINALIZER in node.metadata.finalizers


def claim(machine: Machine, node: Node) -> Patch:
    """All that a node gets from its machine, in one patch (T131-T137)."""
    metadata: dict[str, Any] = {
        "finalizers": _with_finalizer(node),
        "ownerReferences": msgspec.to_builtins(_owners(machine, node)),
        "labels": {**machine.metadata.labels, names.REGISTERED: names.TRUE},
    }
    body: dict[str, Any] = {"metadata": metadata}
    if not machine.linked_to:
        metadata["annotations"] = {
            key: value
            for key, value in machine.metadata.annotations.items()
            if key not in MACHINE_ONLY_ANNOTATIONS
        }
        taints = taint.merge(node.spec.taints, machine.spec.taints)
        taints = taint.merge(taints, machine.spec.startup_taints)
        body["spec"] = {"taints": msgspec.to_builtins(taints)}
    else:
        # A linked node keeps its own annotations; but whose it is must stand there.
        metadata["annotations"] = {names.MANAGED_BY: machine.managed_by}
    counted = () if machine.linked_to else (_created(machine),)
    why = f"it is the node of machine {machine.name}"
    return patch_as_seen(node, body, why=why, facts=counted)


def _created(machine: Machine) -> Fact:
    return Fact("nodes_created", {"provisioner": machine.provisioner_name})


def _with_finalizer(node: Node) -> list[str]:
    held = node.metadata.finalizers
    if names.TERMINATION_FINALIZER in held:
        return list(held)
    return [*held, names.TERMINATION_FINALIZER]


def _owners(machine: Machine, node: Node) -> tuple[OwnerReference, ...]:
    """R4: Node -> Machine; a reference to the Provisioner goes, it would skip the machine."""
    ours = owner(machine)
    kept = tuple(
        one
        for one in node.metadata.owner_references
        if one.kind != "Provisioner" and one.uid != ours.uid
    )
    return (*kept, ours)


def reassert(view: View, machine: Machine) -> Step[Any]:
    """After registration only the label is kept up (T133); taints are everybody's now.

    A node with neither label nor finalizer is another, whose kubelet has registered it once more.
    """
    found = node_of(view, machine)
    if isinstance(found, Node) and not found.is_deleting and not _was_claimed(found):
        return Step(effects=(claim(machine, found),))
    effects = tuple(
        label(node, {names.REGISTERED: names.TRUE}, why="it is registered")
        for node in view.nodes_of(machine.provider_id)
        if not node.is_deleting and node.metadata.labels.get(names.REGISTERED) != names.TRUE
    )
    return Step(effects=effects)


def _was_claimed(node: Node) -> bool:
    is_labelled = names.REGISTERED in node.metadata.labels
    return is_labelled or names.TERMINATION_FINALIZER in node.metadata.finalizers


def reinitialize(view: View, machine: Machine) -> Step[Any]:
    """Say it again on a node that took the place of the one that was initialized."""
    found = node_of(view, machine)
    if not isinstance(found, Node) or found.is_deleting or found.is_initialized:
        return Step()
    if not is_claimed(found) or what_is_missing(machine, found) is not None:
        return Step()
    return Step(effects=(_initialized(found),))


def _initialized(node: Node) -> Patch:
    return label(node, {names.INITIALIZED: names.TRUE}, why="it has all that was promised")


def initialize(view: View, machine: Machine, moment: Moment) -> Step[Any]:
    """Take one step towards initialization: the node's label first, the condition after it."""
    found = node_of(view, machine)
    if not isinstance(found, Node):
        return _not_yet(machine, found, moment)
    if found.is_deleting:
        return Step()
    missing = what_is_missing(machine, found)
    if missing is not None:
        return _not_yet(machine, missing, moment)
    if not found.is_initialized:
        return Step(effects=(_initialized(found),))
    facts = (Fact("machines_initialized", {"provisioner": machine.provisioner_name}),)
    return Step(
        effects=conditions.update(
            machine, conditions.true(MACHINE_INITIALIZED), moment=moment, facts=facts
        )
    )


def _not_yet(machine: Machine, why: Waiting, moment: Moment) -> Step[Any]:
    condition: Condition = conditions.false(MACHINE_INITIALIZED, *why)
    return Step(effects=conditions.update(machine, condition, moment=moment))


def what_is_missing(machine: Machine, node: Node) -> Waiting | None:
    """Return the first thing that keeps a node from being initialized, in the order of 6.1."""
    if not node.is_ready:
        return "NodeNotReady", f"node {node.name} is not Ready"
    for one in machine.spec.startup_taints:
        if taint.has(node.spec.taints, one):
            return STARTUP_TAINTS_EXIST, (
                f"node {node.name} still has the startup taint {one.identity_text}: "
                "whatever it waits for must remove it"
            )
    for key, effect in names.EPHEMERAL_TAINTS:
        if taint.has(node.spec.taints, Taint(key=key, effect=effect)):
            return "KnownEphemeralTaintsExist", (
                f"node {node.name} still has the taint {key}:{effect}: the cloud's controller or "
                "the node controller must remove it"  # T146
            )
    return _unregistered_resource(machine, node)


def _unregistered_resource(machine: Machine, node: Node) -> Waiting | None:
    for name, wanted in sorted(machine.spec.resources.requests.items()):
        try:
            is_wanted = resources.parse_amount(name, wanted) > 0
            is_there = resources.parse_amount(name, node.status.allocatable.get(name, 0)) > 0
        except QuantityError as error:
            return "ResourceNotRegistered", f"resource {name}: {error}"
        if is_wanted and not is_there:
            return "ResourceNotRegistered", (
                f"node {node.name} reports no {name}, which was asked for: look at the device "
                "plugin that should report it"
            )
    return None
