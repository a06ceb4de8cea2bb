"""Stories of pods that wait for a node."""

from __future__ import annotations

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names
from unmoor.model.machine import Machine


async def a_machine_for_pods_that_wait(stage: Stage) -> None:
    """Pods without a place get one machine together, and run on its node."""
    field = await stage.field("pending", labels={objects.FIELD: "pending"})
    await stage.apply(objects.deployment("web", namespace=field, replicas=3))
    pods = await stage.ready(field, "web", 3)

    (node,) = {pod.node_name for pod in pods}
    (machine,) = await _machines(stage, field)
    assert machine.node_name == node
    assert machine.metadata.annotations[names.MANAGED_BY] == objects.CLUSTER
    assert [owner.name for owner in machine.metadata.owner_references] == [field]
    found = await stage.node(node)
    assert found is not None
    assert found.metadata.labels[objects.FIELD] == field
    assert len(await stage.instances(machine.name)) == 1
    assert await stage.events("Nominated", pods[0].name) != []


async def pods_of_a_node_that_goes_find_another(stage: Stage) -> None:
    """A deleted node is replaced before its last pod has gone (T216)."""
    field = await stage.field("moving", labels={objects.FIELD: "moving"})
    await stage.guarded(field, 2, maxUnavailable=1)
    (old,) = await _machines(stage, field)
    await stage.delete(kinds.NODES.ref(old.node_name))

    await stage.gone(kinds.NODES.ref(old.node_name), kinds.MACHINES.ref(old.name))
    pods = await stage.ready(field, "web", 2)
    (new,) = await _machines(stage, field)
    assert {pod.node_name for pod in pods} == {new.node_name}
    await stage.eventually("no instance is left", lambda: stage.has_no_instance(old.name))


async def a_pod_that_fits_nowhere_is_told_why(stage: Stage) -> None:
    """No machine is made for a pod that none could take."""
    field = await stage.field("hopeless", labels={objects.FIELD: "hopeless"})
    huge = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "5000"}}}
    await stage.apply(objects.pod("huge", namespace=field, containers=[huge]))

    async def is_told() -> list[str]:
        said = await stage.events("FailedScheduling", "huge")
        return [message for message in said if "nor can one be made" in message]

    (message,) = await stage.eventually("it is told", is_told)
    assert "cpu" in message
    assert await _machines(stage, field) == []


async def _machines(stage: Stage, provisioner: str) -> list[Machine]:
    return [
        one for one in await stage.listed(kinds.MACHINES) if one.provisioner_name == provisioner
    ]
