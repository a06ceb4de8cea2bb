"""What stories of replaced nodes have in common."""

from __future__ import annotations

from typing import Any

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names
from unmoor.model.disruption import Disruption
from unmoor.model.machine import Machine


def of_one_zone(field: str, *types: str) -> dict[str, Any]:
    """A provisioner's spec: one type, one zone, on demand, and the label of its field."""
    asked = {
        names.INSTANCE_TYPE: list(types or ("m5.large",)),
        names.CAPACITY_TYPE: ["on-demand"],
        names.ZONE: ["us-east-1a"],
    }
    requirements = [{"key": key, "operator": "In", "values": asked[key]} for key in asked]
    return {"requirements": requirements, "labels": {objects.FIELD: field}}


async def finished(stage: Stage, *machines: str) -> list[Disruption]:
    """The commands over these machines, once all of them are in one and all are over."""

    async def over() -> list[Disruption]:
        found = [
            one
            for one in await stage.listed(kinds.DISRUPTIONS)
            if any(node.machine in machines for node in one.spec.nodes)
        ]
        there = {node.machine for one in found for node in one.spec.nodes}
        is_over = there >= set(machines) and all(one.phase.is_final for one in found)
        return found if is_over else []

    return await stage.eventually(f"a command over {', '.join(machines)} is over", over)


async def machines_of(stage: Stage, provisioner: str) -> list[Machine]:
    """The machines of a provisioner."""
    return [
        one for one in await stage.listed(kinds.MACHINES) if one.provisioner_name == provisioner
    ]
