"""Stories of nodes that cost more than what runs on them needs (001:77-107)."""

from __future__ import annotations

from typing import Any

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.machine import Machine

WHEN_IT_PAYS = {"consolidation": {"enabled": True}}
SOLD = ("m5.large", "m5.4xlarge")


async def consolidation(stage: Stage) -> None:
    """A node goes when its pods fit onto the others; they are ready there before it is over."""
    field = await stage.field("merging", **_of_one_zone("merging"))
    await stage.nodes_up(field, "merged-1", "merged-2")
    await stage.apply(objects.deployment("web", namespace=field, replicas=4))
    await stage.ready(field, "web", 4)
    assert len({pod.node_name for pod in await stage.pods(field, "web")}) == 2

    await _switch_on(stage, field)
    [command] = await _finished(stage, field)

    assert command.spec.action == "delete"
    assert command.spec.replacements == ()
    assert command.phase is DisruptionPhase.SUCCEEDED
    pods = await stage.ready(field, "web", 4)
    [left] = await _machines(stage, field)
    assert {pod.node_name for pod in pods} == {left.node_name}


async def a_dear_node_is_replaced(stage: Stage) -> None:
    """One that is too large for its pods goes when a cheaper one is up."""
    field = await stage.field("shrinking", **_of_one_zone("shrinking"))
    [large] = await stage.nodes_up(field, "large-1", types=("m5.4xlarge",))
    await stage.apply(objects.deployment("web", namespace=field, replicas=2))
    await stage.ready(field, "web", 2)

    await _switch_on(stage, field)
    [command] = await _finished(stage, field)

    assert command.spec.action == "replace"
    assert [one.instance_types for one in command.spec.replacements] == [("m5.large",)]
    assert float(command.spec.saving_per_hour) > 0
    [small] = await _machines(stage, field)
    assert small.metadata.labels[names.INSTANCE_TYPE] == "m5.large"
    assert {pod.node_name for pod in await stage.ready(field, "web", 2)} == {small.node_name}
    assert await stage.find(kinds.NODES.ref(large)) is None


async def a_node_that_must_not_be_consolidated_stays(stage: Stage) -> None:
    """It is said why, and other nodes may still go onto it (R16)."""
    field = await stage.field("staying", **_of_one_zone("staying"))
    [kept] = await stage.nodes_up(field, "kept-1", types=("m5.4xlarge",))
    await stage.apply(objects.deployment("web", namespace=field, replicas=1))
    await stage.ready(field, "web", 1)
    marked = {"metadata": {"annotations": {names.DO_NOT_CONSOLIDATE: "true"}}}
    await stage.api.patch(kinds.NODES.ref(kept), marked)

    await _switch_on(stage, field)

    async def is_told() -> list[str]:
        said = await stage.events("Unconsolidatable", kept)
        return [message for message in said if names.DO_NOT_CONSOLIDATE in message]

    await stage.eventually("it is told", is_told)
    assert await stage.find(kinds.NODES.ref(kept)) is not None


def _of_one_zone(field: str) -> dict[str, Any]:
    """Two types in one zone, on demand: a plan that can be foretold. It is not switched on yet."""
    asked = {
        names.INSTANCE_TYPE: list(SOLD),
        names.CAPACITY_TYPE: ["on-demand"],
        names.ZONE: ["us-east-1a"],
    }
    requirements = [{"key": key, "operator": "In", "values": asked[key]} for key in asked]
    return {"requirements": requirements, "labels": {objects.FIELD: field}}


async def _switch_on(stage: Stage, field: str) -> None:
    await stage.api.patch(kinds.PROVISIONERS.ref(field), {"spec": WHEN_IT_PAYS})


async def _finished(stage: Stage, field: str) -> list[Disruption]:
    """The commands over nodes of this field, once there is one and all are over."""

    async def over() -> list[Disruption]:
        found = [
            one
            for one in await stage.listed(kinds.DISRUPTIONS)
            if any(node.machine.startswith(_PREFIX[field]) for node in one.spec.nodes)
        ]
        return found if found and all(one.phase.is_final for one in found) else []

    return await stage.eventually(f"a command of {field} is over", over)


_PREFIX = {"merging": "merged-", "shrinking": "large-"}


async def _machines(stage: Stage, provisioner: str) -> list[Machine]:
    return [
        one for one in await stage.listed(kinds.MACHINES) if one.provisioner_name == provisioner
    ]
