"""Stories of what goes away in the middle of a drain, and comes back."""

from __future__ import annotations

from tests.scenarios.stage import Stage
from unmoor.model import kinds


async def restart_in_the_middle(stage: Stage) -> None:
    """Unmoor is killed in the middle of a drain, and its successor finishes (rule 4)."""
    field = await stage.field("restart")
    first, _ = await stage.nodes_up(field, "restart-1", "restart-2")
    await stage.guarded(field, 4, maxUnavailable=2)
    await stage.begin_drain(first)

    await stage.unmoor.kill()
    await stage.always("nothing happens while unmoor is away", lambda: stage.is_draining(first))
    await stage.unmoor.start()

    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("restart-1"))
    await stage.ready(field, "web", 4)
    await stage.eventually("no instance is left", lambda: stage.has_no_instance("restart-1"))


async def server_restarts_in_the_middle(stage: Stage) -> None:
    """The API server goes away under a drain and comes back: nothing is lost or done twice."""
    field = await stage.field("outage")
    first, _ = await stage.nodes_up(field, "outage-1", "outage-2")
    await stage.guarded(field, 4, maxUnavailable=2)
    await stage.begin_drain(first)

    await stage.restart_server()

    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("outage-1"))
    await stage.ready(field, "web", 4)
    await stage.eventually("its instance went", lambda: stage.has_no_instance("outage-1"))
    assert len(await stage.instances("outage-2")) == 1
