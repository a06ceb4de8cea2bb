"""Stories of nodes that have lived for long enough (001:54)."""

from __future__ import annotations

from tests.scenarios import objects
from tests.scenarios.replacing import finished, machines_of, of_one_zone
from tests.scenarios.stage import Stage
from unmoor.model import kinds
from unmoor.model.disruption import DisruptionPhase


async def expiration(stage: Stage) -> None:
    """An old node is replaced by a new one before it goes, and its pods are moved."""
    field = await stage.field("ageing", **of_one_zone("ageing"))
    [old] = await stage.nodes_up(field, "ageing-old")
    await stage.apply(objects.deployment("web", namespace=field, replicas=2))
    await stage.ready(field, "web", 2)

    await stage.api.patch(kinds.PROVISIONERS.ref(field), {"spec": {"ttlSecondsUntilExpired": 0}})
    [command, *_] = await finished(stage, "ageing-old")
    await stage.api.patch(kinds.PROVISIONERS.ref(field), {"spec": {"ttlSecondsUntilExpired": None}})

    assert command.spec.method == "expiration"
    assert command.spec.action == "replace"
    assert command.phase is DisruptionPhase.SUCCEEDED
    assert await stage.find(kinds.NODES.ref(old)) is None
    assert await machines_of(stage, field)
    await stage.ready(field, "web", 2)
