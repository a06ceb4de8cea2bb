"""Stories of replacements that do not come up, or are not wanted any more (001:20-21)."""

from __future__ import annotations

from typing import Any

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names
from unmoor.model.cluster import SIMULATED_SHELF, UNAVAILABLE
from unmoor.model.disruption import Disruption, DisruptionPhase, LeftOutReason
from unmoor.model.machine import Machine
from unmoor.runtime.ports import ApiError

SMALL, LARGE = "m6i.large", "m6i.4xlarge"
"""Types of these stories alone: one of them is sold out."""
OLD, NEW = "m7i.large", "m7i.4xlarge"


async def without_capacity_for_its_replacement_a_node_stays(stage: Stage) -> None:
    """It is uncordoned, its pods have not moved, and nothing of the attempt is left."""
    field = await _underused(stage, "soldout", "soldout-1", (SMALL, LARGE))
    before = {pod.uid for pod in await stage.ready(field, "web", 2)}
    await _sold_out(stage, f"{SMALL} * *")

    await _switch_on(stage, field)
    command = await _over(stage, "soldout-1")

    assert command.phase is DisruptionPhase.CANCELLED
    assert {one.reason for one in command.status.left_out.values()} == {
        LeftOutReason.REPLACEMENT_FAILED
    }
    assert "did not come up" in command.status.message
    await stage.eventually("nothing of it is left", lambda: _is_as_before(stage, field))
    assert {pod.uid for pod in await stage.ready(field, "web", 2)} == before


async def who_uncordons_gets_the_node_back_and_the_replacement_goes(stage: Stage) -> None:
    """A person wants the node to stay while its replacement is coming up."""
    field = await _underused(stage, "wanted", "wanted-1", (OLD, NEW), startup=True)
    await _switch_on(stage, field)
    [machine] = await stage.eventually("its replacement is there", lambda: _second(stage, field))
    node = await stage.node_of("wanted-1")
    await stage.api.patch(kinds.NODES.ref(node), {"spec": {"unschedulable": False}})

    command = await _over(stage, "wanted-1")
    assert command.phase is DisruptionPhase.CANCELLED
    assert "uncordoned" in command.status.message
    await stage.gone(kinds.MACHINES.ref(machine.name))
    await stage.eventually("nothing of it is left", lambda: _is_as_before(stage, field))


async def _underused(
    stage: Stage, name: str, machine: str, types: tuple[str, str], *, startup: bool = False
) -> str:
    """A node that is too large for its pods; the next one of its Provisioner never gets ready, if
    ``startup``: nobody removes its startup taint.
    """
    asked = {
        names.INSTANCE_TYPE: list(types),
        names.CAPACITY_TYPE: ["on-demand"],
        names.ZONE: ["us-east-1a"],
    }
    terms = [{"key": key, "operator": "In", "values": values} for key, values in asked.items()]
    taint = {"key": "x.y/wait", "effect": "NoSchedule"}
    more: dict[str, Any] = {"startupTaints": [taint]} if startup else {}
    field = await stage.field(name, requirements=terms, labels={objects.FIELD: name}, **more)
    await stage.nodes_up(field, machine, types=types[1:])
    await stage.apply(objects.deployment("web", namespace=field, replicas=2))
    await stage.ready(field, "web", 2)
    return field


async def _sold_out(stage: Stage, what: str) -> None:
    data = {UNAVAILABLE: what}
    try:
        await stage.api.patch(SIMULATED_SHELF, {"data": data})
    except ApiError as error:
        if error.code != 404:
            raise
        name = {"name": SIMULATED_SHELF.name, "namespace": SIMULATED_SHELF.namespace}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": data}
        await stage.apply((SIMULATED_SHELF, body))


async def _switch_on(stage: Stage, field: str) -> None:
    spec = {"spec": {"consolidation": {"enabled": True}}}
    await stage.api.patch(kinds.PROVISIONERS.ref(field), spec)


async def _over(stage: Stage, machine: str) -> Disruption:
    """The first command that was to replace the node of this machine, once it is over."""

    async def over() -> list[Disruption]:
        return [
            one
            for one in await stage.listed(kinds.DISRUPTIONS)
            if one.phase.is_final and any(node.machine == machine for node in one.spec.nodes)
        ]

    found = await stage.eventually(f"a command over {machine} is over", over)
    return min(found, key=lambda one: len(one.name))


async def _second(stage: Stage, field: str) -> list[Machine]:
    """The machine that bears the name of a command, when it has an instance."""
    found = [one for one in await _machines(stage, field) if one.replacement_for]
    return [one for one in found if one.provider_id]


async def _is_as_before(stage: Stage, field: str) -> bool:
    machines = await _machines(stage, field)
    nodes = [await stage.node(one.node_name) for one in machines]
    is_free = all(node and not (node.is_cordoned or node.disruption) for node in nodes)
    return len(machines) == 1 and is_free


async def _machines(stage: Stage, provisioner: str) -> list[Machine]:
    found = await stage.listed(kinds.MACHINES)
    return [one for one in found if one.provisioner_name == provisioner]
