"""Stories of nodes that are not as they would be made now (001:133-194, 002)."""

from __future__ import annotations

from typing import Any

from tests.scenarios import objects
from tests.scenarios.replacing import finished, machines_of, of_one_zone
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names
from unmoor.model.base import JSON
from unmoor.model.cluster import SIMULATED_SHELF
from unmoor.model.disruption import DisruptionPhase
from unmoor.runtime.ports import ApiError

OF_ROLLED = {"image": "rolled"}


async def drift(stage: Stage) -> None:
    """What nodes are made from is edited: they are replaced, and say why."""
    field = await stage.field("drifting", **of_one_zone("drifting"))
    [old] = await stage.nodes_up(field, "drifting-old")
    await stage.apply(objects.deployment("web", namespace=field, replicas=2))
    await stage.ready(field, "web", 2)

    edit = {"spec": {"annotations": {"edition": "2"}}}
    await stage.api.patch(kinds.PROVISIONERS.ref(field), edit)
    [command] = await finished(stage, "drifting-old")

    assert (command.spec.method, command.spec.action) == ("drift", "replace")
    assert 'annotations: nothing -> {"edition":"2"}' in command.spec.reason
    assert command.phase is DisruptionPhase.SUCCEEDED
    assert await stage.find(kinds.NODES.ref(old)) is None
    [new] = await machines_of(stage, field)
    assert new.metadata.annotations["edition"] == "2"
    assert {pod.node_name for pod in await stage.ready(field, "web", 2)} == {new.node_name}


async def a_new_image_rolls_a_fleet(stage: Stage) -> None:
    """No object of ours changes, but a newer image is there: empty nodes go, and come no more."""
    await _shelf(stage, "ami-1 image=rolled")
    template = {"name": "rolling"}
    spec: dict[str, Any] = {
        "amiSelector": OF_ROLLED,
        "subnetSelector": {"team": "*"},
        "securityGroupSelector": {"team": "*"},
    }
    body: JSON = {
        "apiVersion": kinds.NODE_TEMPLATES.api_version,
        "kind": kinds.NODE_TEMPLATES.kind,
        "metadata": template,
        "spec": spec,
    }
    await stage.apply((kinds.NODE_TEMPLATES.ref("rolling"), body))
    field = await stage.field("rolling", **of_one_zone("rolling"), providerRef=template)
    await stage.nodes_up(field, "rolling-1", "rolling-2")

    async def is_resolved() -> bool:
        (found,) = [
            one for one in await stage.listed(kinds.NODE_TEMPLATES) if one.name == "rolling"
        ]
        return [one.id for one in found.status.amis or ()] == ["ami-1"]

    await stage.eventually("the template says what it selects", is_resolved)
    await _shelf(stage, "ami-1 image=rolled\nami-2 image=rolled")
    commands = await finished(stage, "rolling-1", "rolling-2")

    assert {one.spec.method for one in commands} == {"drift"}
    assert await machines_of(stage, field) == []


async def another_controllers_mark_is_respected(stage: Stage) -> None:
    """R14: a node that somebody else disrupts is left to them, and it is said."""
    field = await stage.field("marked", **of_one_zone("marked"))
    [node] = await stage.nodes_up(field, "marked-1")
    theirs = {"metadata": {"annotations": {names.VOLUNTARY_DISRUPTION: "rebooting"}}}
    await stage.api.patch(kinds.NODES.ref(node), theirs)
    edit = {"spec": {"annotations": {"edition": "2"}}}
    await stage.api.patch(kinds.PROVISIONERS.ref(field), edit)

    async def is_told() -> list[str]:
        said = await stage.events("DeprovisioningBlocked", node)
        return [message for message in said if "rebooting" in message]

    await stage.eventually("it is told", is_told)
    assert await stage.find(kinds.NODES.ref(node)) is not None


async def _shelf(stage: Stage, images: str) -> None:
    ref, data = SIMULATED_SHELF, {"images": images}
    meta = {"name": ref.name, "namespace": ref.namespace}
    body: JSON = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
    try:
        await stage.api.create(ref, body)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
        await stage.api.patch(ref, {"data": data})
