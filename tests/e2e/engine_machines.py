"""What the engine promises when nodes go and machines come, as a trial.

Some nodes are taken away. Their pods, and those that wait, go to nodes that stay, to machines that
are on their way, and to new ones. Then every machine is there as a node: of one of the types, and
in one of the places, that it may come to. kube-scheduler must put each pod where it was promised.

What fits nowhere is not asked: a machine that has come is one of those that it could have been, and
mostly roomier than the smallest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from random import Random

import msgspec

from tests.e2e import engine_promises
from tests.e2e.engine_promises import Objects
from tests.e2e.vouching import Promise, Trial
from tests.facts import reading
from unmoor.cloud import choice
from unmoor.engine import solving
from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.scene import Place
from unmoor.engine.scenery import scene_of
from unmoor.engine.sites import offerings_of
from unmoor.lifecycle import new_machine
from unmoor.model import names, resources
from unmoor.model.base import JSON
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import NODES, PODS
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View

GOING = 3
"""One node in so many is taken away."""


def asked(objects: Objects, types: Sequence[InstanceType], dice: Random) -> tuple[Trial, Plan]:
    """Take nodes away and ask the engine where everybody goes; answer as a trial."""
    view = reading.view_of(objects)
    nodes = [node.name for node in view.sorted(NODES)]
    gone = frozenset(dice.sample(nodes, max(len(nodes) // GOING, 1)))
    scene = msgspec.structs.replace(scene_of(view, types, without=gone), started=())
    moving = {pod.key: pod for pod in view.sorted(PODS) if _is_moving(pod, gone)}
    plan = solving.solve(scene, moving.values())
    by_name = {one.name: one for one in types}
    # A plan's machines are called as no node can be.
    called = {one.name: f"made-{at}" for at, one in enumerate(plan.machines)}
    made = [
        _place_of(msgspec.structs.replace(one, name=called[one.name]), by_name, view, dice)
        for one in plan.machines
    ]
    made += [place for place in scene.places if not place.is_node]
    order = [
        Promise(_pending(one), called.get(where, where))
        for key, where in plan.placements.items()
        for one in objects
        if one["kind"] == PODS.kind and _key(one) == key
    ]
    order += engine_promises.daemons_to_come(objects, view, made)
    return Trial([*engine_promises.shown(objects, gone), *map(_node, made)], order), plan


def _is_moving(pod: Pod, gone: Collection[str]) -> bool:
    if pod.is_terminal or pod.is_deleting:
        return False
    owner = pod.metadata.controller
    if owner is not None and owner.kind == "DaemonSet":
        return False
    return not pod.node_name or pod.node_name in gone


def _key(body: JSON) -> tuple[str, str]:
    return body["metadata"]["namespace"], body["metadata"]["name"]


def _pending(body: JSON) -> JSON:
    spec = {word: body["spec"][word] for word in body["spec"] if word != "nodeName"}
    return {**body, "spec": spec}


def _place_of(
    planned: NewMachine, types: Mapping[str, InstanceType], view: View, dice: Random
) -> Place:
    """The node that comes of a machine, of a type and in a place that it may get."""
    kind = types[dice.choice(planned.instance_types)]
    offering = dice.choice(offerings_of(kind, planned.requirements))
    provisioner = view.provisioner(planned.provisioner)
    assert provisioner is not None
    machine = new_machine.create(view, provisioner, planned, planned.name, types).body
    labels = choice.labels_of(
        kind,
        zone=offering.zone,
        capacity_type=offering.capacity_type,
        extra=machine["metadata"]["labels"],
    )
    return Place(
        name=planned.name,
        labels={**labels, names.HOSTNAME: planned.name},
        taints=provisioner.spec.taints,
        allocatable=kind.allocatable,
        is_node=False,
    )


def _node(place: Place) -> JSON:
    return {
        "kind": NODES.kind,
        "metadata": {"name": place.name, "labels": place.labels},
        "spec": {"taints": [msgspec.to_builtins(one) for one in place.taints]},
        "status": {"allocatable": resources.render(place.allocatable)},
    }
