"""Stories of nodes that fall empty."""

from __future__ import annotations

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds
from unmoor.model.disruption import DisruptionPhase


async def emptiness(stage: Stage) -> None:
    """An empty node goes when its time is up, one with a workload stays (001:53)."""
    field = await stage.field("emptiness", ttlSecondsAfterEmpty=5)
    await stage.nodes_up(field, "full-1")
    await stage.apply(objects.deployment("web", namespace=field, replicas=1))
    (pod,) = await stage.ready(field, "web", 1)
    await stage.apply(
        objects.machine("empty-1", provisioner=field, field=f"{field}-none"),
    )
    empty = await stage.node_of("empty-1")

    await stage.gone(kinds.NODES.ref(empty), kinds.MACHINES.ref("empty-1"))

    assert await stage.find(kinds.NODES.ref(pod.node_name)) is not None
    await stage.eventually("no instance is left", lambda: stage.has_no_instance("empty-1"))

    async def finished() -> bool:
        done = [
            d
            for d in await stage.listed(kinds.DISRUPTIONS)
            if any(n.name == empty for n in d.spec.nodes)
        ]
        return [d.phase for d in done] == [DisruptionPhase.SUCCEEDED]

    await stage.eventually("one command stands in the ledger as succeeded", finished)
