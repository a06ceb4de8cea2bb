"""Stories of pods that are not like others."""

from __future__ import annotations

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names


async def naked_and_do_not_evict_pods(stage: Stage) -> None:
    """A drain evicts what nobody re-creates and what asked to stay (R7, R17, T069, T071)."""
    field = await stage.field("naked")
    (first,) = await stage.nodes_up(field, "naked-1")
    await stage.apply(
        objects.pod("naked", namespace=field),
        objects.pod("stays", namespace=field, annotations={names.DO_NOT_EVICT: "true"}),
    )
    await stage.ready(field, "naked", 1)
    await stage.ready(field, "stays", 1)

    await stage.delete(kinds.NODES.ref(first))

    await stage.gone(kinds.NODES.ref(first))
    await stage.gone(kinds.PODS.ref("naked", field), kinds.PODS.ref("stays", field))


async def daemon_and_static_pods(stage: Stage) -> None:
    """Pods that belong to the node are neither evicted nor waited for (001:28 as R1, T075)."""
    field = await stage.field("daemons")
    (first,) = await stage.nodes_up(field, "daemons-1")
    found = await stage.api.get(kinds.NODES.ref(first))
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": first,
        "uid": found["metadata"]["uid"],
        "controller": True,
    }
    await stage.apply(
        objects.daemon_set("agent", namespace=field),
        objects.pod(
            "static",
            namespace=field,
            annotations={
                "kubernetes.io/config.mirror": "a1",
                "kubernetes.io/config.source": "file",
            },
            owners=(owner,),
            nodeName=first,
            tolerations=[{"operator": "Exists"}],
        ),
    )
    (agent,) = await stage.ready(field, "agent", 1)
    (static,) = await stage.ready(field, "static", 1)
    evicted: list[str] = []

    async def gone_or_spared() -> bool:
        alive = await stage.find(kinds.NODES.ref(first)) is not None
        running = {p.uid for p in await stage.pods(field) if not p.is_deleting}
        if alive and not {agent.uid, static.uid} <= running:
            evicted.append("a pod of the node went before the node")
        return not alive

    await stage.delete(kinds.NODES.ref(first))

    await stage.eventually("the node is gone", gone_or_spared)
    assert not evicted
