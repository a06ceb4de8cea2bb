"""The table: which controllers there are, what wakes each, and for which keys.

``app`` and ``sim`` run these same rows. A row's memory is None or of the step's own ``Memory`` type
(``eviction.Memory``, ``machine.Memory``, ``command_phases.Memory``, ``garbage.Memory``,
``consistency.Memory``, ``provisioning.Memory``, ``steering.Memory``); losing it is allowed at any
moment.

Key functions run for every change in the cluster, so each is a look-up or two, and says nothing for
the heartbeats of nodes that nobody is working on.

Must not: decide anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from unmoor.lifecycle import (
    consistency,
    deprovisioning,
    disruption_conditions,
    garbage,
    leases,
    machine,
    node_template,
    observed,
    provisioner,
    provisioning,
    settings,
    steering,
    termination,
    unreadable,
)
from unmoor.lifecycle.step import Step
from unmoor.model.base import Key as ObjectKey
from unmoor.model.cluster import ConfigMap, Lease
from unmoor.model.disruption import Disruption
from unmoor.model.kinds import PROVISIONERS
from unmoor.model.machine import Machine
from unmoor.model.moment import Moment
from unmoor.model.names import NODE_LEASES
from unmoor.model.node import Node
from unmoor.model.node_template import AWSNodeTemplate
from unmoor.model.pod import Pod
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.model.storage import VolumeAttachment
from unmoor.runtime.reconciler import ONE, Reconciler, StepFunction, Wake, Where, either

# Nodes that are on their way out.


def deleted_node(view: View, old: Node | None, new: Node | None) -> Iterable[str]:
    """The node itself, from its deletion on."""
    del view, old
    return (new.name,) if new is not None and new.is_deleting else ()


def deleted_node_of_pod(view: View, old: Pod | None, new: Pod | None) -> Iterable[str]:
    """The node that a pod is on, or was on, when that node is being deleted."""
    return _deleted(view, {pod.spec.node_name for pod in (old, new) if pod is not None})


def deleted_nodes_of_machine(view: View, old: Machine | None, new: Machine | None) -> Iterable[str]:
    """A machine's nodes: whose they are may have changed."""
    ids = {one.provider_id for one in (old, new) if one is not None}
    return _deleted(view, {node.name for one in ids for node in view.nodes_of(one)})


def deleted_node_of_volume(
    view: View, old: VolumeAttachment | None, new: VolumeAttachment | None
) -> Iterable[str]:
    """The node that a volume is attached to."""
    return _deleted(view, {one.spec.node_name for one in (old, new) if one is not None})


def _deleted(view: View, names: set[str]) -> Iterable[str]:
    found = [node for name in names if (node := view.node(name)) is not None]
    return sorted(node.name for node in found if node.is_deleting) if found else ()


# Machines.


def name_of_machine(view: View, old: Machine | None, new: Machine | None) -> Iterable[str]:
    """The machine itself, and others that stand for its instance."""
    given = [one for one in (old, new) if one is not None]
    claims = {claim for one in given for claim in one.claims}
    others = {one.name for claim in claims for one in view.machines_claiming(claim)}
    return sorted(others | {one.name for one in given})


def machine_of_node(view: View, old: Node | None, new: Node | None) -> Iterable[str]:
    """The machine behind a node."""
    return _machines(view, {one.provider_id for one in (old, new) if one is not None})


def machine_of_pod(view: View, old: Pod | None, new: Pod | None) -> Iterable[str]:
    """The machine behind the node that a pod is on, was on, or is on its way to."""
    names = {pod.spec.node_name or pod.nominated_to for pod in (old, new) if pod is not None}
    nodes = [node for name in names if (node := view.node(name)) is not None]
    return _machines(view, {node.spec.provider_id for node in nodes})


def machines_of_provisioner(
    view: View, old: Provisioner | None, new: Provisioner | None
) -> Iterable[str]:
    """All that a provisioner launched, when what it says has changed: not what is said of it."""
    if old is not None and new is not None and _said(old) == _said(new):
        return ()
    names = {one.name for one in (old, new) if one is not None}
    return [one.name for name in sorted(names) for one in view.machines_launched_by(name)]


def _said(provisioner: Provisioner) -> tuple[object, ...]:
    return (provisioner.uid, provisioner.spec, provisioner.is_deleting)


def _machines(view: View, provider_ids: set[str]) -> Iterable[str]:
    return [one.name for known in sorted(provider_ids) for one in view.machines_of(known)]


# The one loop, and the rest.


def waiting_pod(view: View, old: Pod | None, new: Pod | None) -> Iterable[str]:
    """A pod of which the scheduler begins to say that it has no place for it, nor makes one."""
    del view
    return (ONE,) if _waits(new) and not _waits(old) else ()


def _waits(pod: Pod | None) -> bool:
    if pod is None or pod.node_name or pod.nominated_to:
        return False
    return pod.is_unschedulable


def going_node(view: View, old: Node | None, new: Node | None) -> Iterable[str]:
    """A node that begins to go, or is gone: its pods, or who was to be one, need a place."""
    if new is None:
        return (ONE,) if old is not None and view.pods_nominated_to(old.name) else ()
    is_going = new.is_deleting
    return (ONE,) if is_going and (old is None or not old.is_deleting) else ()


def running_command(view: View, old: Disruption | None, new: Disruption | None) -> Iterable[str]:
    """A command that was written, moved on, or taken away."""
    del view, old, new
    return (ONE,)


def marked_node(view: View, old: Node | None, new: Node | None) -> Iterable[str]:
    """A node that a command acts on."""
    del view
    return (ONE,) if any(one is not None and one.disruption for one in (old, new)) else ()


def steered_node(view: View, old: Node | None, new: Node | None) -> Iterable[str]:
    """A node that bears the taint of those that are to go soon, or did."""
    del view
    return (ONE,) if any(one is not None and one.is_going_soon for one in (old, new)) else ()


def awaited_machine(view: View, old: Machine | None, new: Machine | None) -> Iterable[str]:
    """A machine that a command waits for, or that came for one."""
    del view
    return (ONE,) if any(one is not None and one.replacement_for for one in (old, new)) else ()


def name_of_provisioner(
    view: View, old: Provisioner | None, new: Provisioner | None
) -> Iterable[str]:
    """The provisioner itself."""
    del view
    return (either(old, new).name,)


def name_of_template(
    view: View, old: AWSNodeTemplate | None, new: AWSNodeTemplate | None
) -> Iterable[str]:
    """The node template itself."""
    del view
    return (either(old, new).name,)


def template_of_provisioner(
    view: View, old: Provisioner | None, new: Provisioner | None
) -> Iterable[str]:
    """The node template that a provisioner names, when that has changed."""
    del view
    before, after = (None if one is None else one.spec.provider_ref for one in (old, new))
    return (after.name,) if after is not None and after != before else ()


def machines_of_template(
    view: View, old: AWSNodeTemplate | None, new: AWSNodeTemplate | None
) -> Iterable[str]:
    """All machines of the provisioners that name a template."""
    name = either(old, new).name
    users = [
        one.name
        for one in view.sorted(PROVISIONERS)
        if one.spec.provider_ref is not None and one.spec.provider_ref.name == name
    ]
    return [one.name for user in users for one in view.machines_launched_by(user)]


def provisioner_of_machine(view: View, old: Machine | None, new: Machine | None) -> Iterable[str]:
    """Whose machine it is, when what it counts for has changed."""
    if old is not None and new is not None and _counted(old) == _counted(new):
        return ()
    return _provisioners(view, {one.provisioner_name for one in (old, new) if one is not None})


def provisioner_of_node(view: View, old: Node | None, new: Node | None) -> Iterable[str]:
    """Whose node it is, when what it counts for has changed."""
    if old is not None and new is not None and _counted(old) == _counted(new):
        return ()
    nodes = [one for one in (old, new) if one is not None]
    machines = [machine for node in nodes for machine in view.machines_of(node.provider_id)]
    names = {node.provisioner_name for node in nodes}
    return _provisioners(view, names | {machine.provisioner_name for machine in machines})


def _counted(one: Machine | Node) -> tuple[object, ...]:
    """All that matters to its provisioner."""
    return (one.uid, one.provisioner_name, one.provider_id, one.status.capacity)


def _provisioners(view: View, names: set[str]) -> Iterable[str]:
    return sorted(name for name in names if view.provisioner(name) is not None)


def unowned_lease(view: View, old: Lease | None, new: Lease | None) -> Iterable[str]:
    """A node lease that belongs to nobody; heartbeats of the others say nothing."""
    del view, old
    if new is None or new.namespace != NODE_LEASES or new.metadata.owner_references:
        return ()
    return (new.name,)


def lease_of_lost_node(view: View, old: Node | None, new: Node | None) -> Iterable[str]:
    """The lease of a node that is gone."""
    del view
    return (old.name,) if old is not None and new is None else ()


def our_settings(view: View, old: ConfigMap | None, new: ConfigMap | None) -> Iterable[ObjectKey]:
    """Our ConfigMap, whatever it is called: no other is followed."""
    del view, old
    return (new.key,) if new is not None else ()


def _harmless(step: StepFunction) -> StepFunction:
    def observe(view: View, key: Any, memory: Any, moment: Moment) -> Step[Any]:
        return observed.harmless(step(view, key, memory, moment))

    return observe


RECONCILERS: tuple[Reconciler, ...] = (
    Reconciler(
        name="termination",
        step=termination.advance,
        wakes=(
            Wake("Node", deleted_node),
            Wake("Pod", deleted_node_of_pod, at_start=False),
            Wake("Machine", deleted_nodes_of_machine),
            Wake("VolumeAttachment", deleted_node_of_volume),
        ),
    ),
    Reconciler(
        name="machine",
        step=machine.advance,
        wakes=(
            Wake("Machine", name_of_machine),
            Wake("Node", machine_of_node),
            Wake("Provisioner", machines_of_provisioner),
        ),
    ),
    Reconciler(
        name="disruption-conditions",
        step=disruption_conditions.advance,
        wakes=(
            Wake("Machine", name_of_machine),
            Wake("Node", machine_of_node),
            Wake("Pod", machine_of_pod, at_start=False),
            Wake("Provisioner", machines_of_provisioner),
            Wake("AWSNodeTemplate", machines_of_template, at_start=False),
        ),
    ),
    Reconciler(
        name="deprovisioning",
        step=deprovisioning.advance,
        wakes=(
            Wake("Disruption", running_command),
            Wake("Node", marked_node),
            Wake("Machine", awaited_machine),
        ),
        every_s=lambda view: view.settings.cadence.deprovisioning_poll_s,
        is_single=True,
        where=Where.WORKER,
    ),
    Reconciler(
        name="steering",
        step=steering.advance,
        wakes=(
            Wake("Disruption", running_command),
            Wake("Node", steered_node),
        ),
        is_single=True,
        where=Where.WORKER,
    ),
    Reconciler(
        name="provisioning",
        step=provisioning.advance,
        wakes=(Wake("Pod", waiting_pod), Wake("Node", going_node)),
        is_single=True,
        where=Where.WORKER,
    ),
    Reconciler(
        name="garbage",
        step=garbage.advance,
        every_s=lambda view: view.settings.cadence.machine_gc_s,
        is_single=True,
        where=Where.WORKER,
    ),
    Reconciler(
        name="leases",
        step=leases.advance,
        wakes=(Wake("Lease", unowned_lease), Wake("Node", lease_of_lost_node)),
    ),
    Reconciler(
        name="consistency",
        step=consistency.advance,
        wakes=(Wake("Machine", name_of_machine),),
    ),
    Reconciler(
        name="provisioner",
        step=provisioner.advance,
        wakes=(
            Wake("Provisioner", name_of_provisioner),
            Wake("Machine", provisioner_of_machine, at_start=False),
            Wake("Node", provisioner_of_node, at_start=False),
        ),
        every_s=lambda view: view.settings.cadence.provisioner_metrics_s,
        where=Where.WORKER,
    ),
    Reconciler(
        name="node-template",
        step=node_template.advance,
        wakes=(
            Wake("AWSNodeTemplate", name_of_template),
            Wake("Provisioner", template_of_provisioner),
        ),
    ),
    Reconciler(
        name="unreadable",
        step=unreadable.advance,
        every_s=lambda view: view.settings.cadence.resync_s,
        is_single=True,
    ),
    Reconciler(
        name="settings",
        step=settings.advance,
        wakes=(Wake("ConfigMap", our_settings),),
    ),
)
"""Every controller, in the order in which the page of controllers lists them."""

OBSERVING: tuple[Reconciler, ...] = tuple(
    msgspec.structs.replace(row, step=_harmless(row.step))
    for row in RECONCILERS
    if row.name in {"disruption-conditions", "deprovisioning", "unreadable", "settings"}
)
"""Those of a process that only observes: they decide, and none touches a node, pod or machine."""
