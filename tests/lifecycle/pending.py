"""Worlds in which pods wait for a node: types, provisioners and pods in a line each.

Types are those of the engine's scenes; provisioners name a template of no cloud, so that nothing is
added to what they ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tests import builders
from tests.engine.scenes import TYPES, instance_type
from tests.lifecycle.driver import World
from tests.lifecycle.rows import MACHINE, PROVISIONING
from unmoor.lifecycle.effects import Create
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.instance import InstanceType, Offering, OfferingName
from unmoor.model.machine import Machine
from unmoor.model.moment import rfc3339
from unmoor.model.observation import Answer, Asked
from unmoor.model.pod import Pod
from unmoor.model.provisioner import Provisioner
from unmoor.model.requirement import NodeSelectorRequirement

UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": names.HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}
"""The affinity of pods that do not share a node."""
SINGLE = instance_type("single-pod-instance-type", pods=1)


def waiting(name: str = "web-1", *, cpu: str = "1", **more: Any) -> Pod:
    """A pod of a ReplicaSet for which the scheduler has found no place; ``more``: ``annotations``,
    ``labels``, ``on``, ``status``, or fields of its spec as the API writes them.
    """
    on = more.pop("on", "")
    owner = msgspec.to_builtins(builders.REPLICA_SET)
    body = {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "creationTimestamp": rfc3339(builders.LONG_AGO),
            "labels": more.pop("labels", {"app": "web"}),
            "annotations": more.pop("annotations", {}),
            "ownerReferences": more.pop("owners", [owner]),
        },
        "spec": {
            "nodeName": on,
            "containers": [
                {"name": "main", "resources": {"requests": {"cpu": cpu} if cpu else {}}}
            ],
            **more.pop("spec", {}),
        },
        "status": {
            "phase": "Running" if on else "Pending",
            "conditions": [] if on else [UNSCHEDULABLE],
            **more.pop("status", {}),
        },
    }
    assert not more, f"put {sorted(more)} into spec"
    return msgspec.convert(body, Pod, strict=False)


def provisioner(name: str = "default", **more: Any) -> Provisioner:
    """One whose nodes may be anything; ``more``: ``deleted``, ``status``, or fields of its spec as
    the API writes them.
    """
    deleted = more.pop("deleted", False)
    body = {
        "metadata": {
            "name": name,
            "uid": f"uid-provisioner-{name}",
            "resourceVersion": "1",
            **({"deletionTimestamp": rfc3339(builders.NOW)} if deleted else {}),
        },
        "status": {"resources": more.pop("used", {})},
        "spec": {"providerRef": {"name": "default", "kind": "ScenarioTemplate"}, **more},
    }
    return msgspec.convert(body, Provisioner, strict=False)


def wanting(*objects: Object, types: tuple[InstanceType, ...] = TYPES, **more: Any) -> World:
    """A world of these objects; ``default`` is there when no other provisioner is."""
    has_one = any(isinstance(one, Provisioner) for one in objects)
    world = World(*objects, *(() if has_one else (provisioner(),)), **more)
    world.types = types
    return world


def planned(*objects: Object, types: tuple[InstanceType, ...] = TYPES, **more: Any) -> World:
    """The same, one batch later."""
    world = wanting(*objects, types=types, **more)
    world.run(PROVISIONING, for_s=2)
    return world


def launched(world: World) -> None:
    """Let all machines get their instance."""
    world.run(MACHINE, for_s=3)


def made(world: World) -> list[Machine]:
    """The machines that were made, by name."""
    found = (world.view.machine(name) for name in world.names("Machine"))
    return [one for one in found if one is not None]


def the_one(world: World) -> Machine:
    """The one machine that was made."""
    [effect] = world.done(Create)
    found = world.view.machine(effect.ref.name)
    assert found is not None
    return found


def asked(machine: Machine) -> Mapping[str, NodeSelectorRequirement]:
    """A machine's requirements by label."""
    return {one.key: one for one in machine.spec.requirements}


def sell_out(world: World, sold: InstanceType, offerings: Iterable[Offering]) -> None:
    """Somebody was refused these offerings just now."""
    for one in offerings:
        name = str(OfferingName(sold.name, one.zone, one.capacity_type))
        world.view._answers[Asked.STOCK_OUT][name] = Answer(world.moment, 1)


def homeless(world: World) -> list[str]:
    """The pods that were told that there is no place for them."""
    return [event.regarding.name for event in world.events("FailedScheduling")]
