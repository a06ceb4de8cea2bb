"""Stories of drains that must wait, and for how long."""

from __future__ import annotations

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names


async def budget_held_then_released(stage: Stage) -> None:
    """A budget holds the drain for as long as it is exhausted (001:28, T073)."""
    field = await stage.field("budget")
    (first,) = await stage.nodes_up(field, "budget-1")
    (pod,) = await stage.guarded(field, 1, minAvailable=1)
    await stage.begin_drain(first)

    async def said() -> list[str]:
        return await stage.events("FailedDraining", first)

    messages = await stage.eventually("the drain says what it waits for", said)
    await stage.eventually(
        "an event names the budget", lambda: _named(stage, first, f"{field}/web")
    )
    assert messages
    await stage.always("the pod is spared", lambda: stage.is_running(field, pod.uid))

    await stage.delete(kinds.BUDGETS.ref("web", field))

    await stage.gone(kinds.NODES.ref(first))


async def _named(stage: Stage, about: str, what: str) -> bool:
    return any(what in message for message in await stage.events("FailedDraining", about))


async def drain_deadline(stage: Stage) -> None:
    """With a deadline, the budget holds until then and no longer (decisions, "Ours, on top")."""
    field = await stage.field("deadline")
    (first,) = await stage.nodes_up(field, "deadline-1", annotations={names.DRAIN_DEADLINE: "8s"})
    (pod,) = await stage.guarded(field, 1, minAvailable=1)
    await stage.begin_drain(first)
    await stage.always("the pod is spared", lambda: stage.is_running(field, pod.uid), for_s=3.0)

    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("deadline-1"))


async def stuck_terminating_pod(stage: Stage) -> None:
    """A pod that never goes is given up some time after its grace (spec 5.2, T078)."""
    field = await stage.field("stuck")
    (first,) = await stage.nodes_up(field, "stuck-1")
    await stage.apply(objects.pod("held", namespace=field, finalizers=(objects.HOLD,)))
    await stage.ready(field, "held", 1)

    await stage.delete(kinds.NODES.ref(first))

    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("stuck-1"))
    held = kinds.PODS.ref("held", field)
    if await stage.find(held) is not None:
        await stage.api.patch(held, {"metadata": {"finalizers": None}})


async def blanket_toleration(stage: Stage) -> None:
    """Pods that come back to the draining node do not hold it for ever (R1)."""
    field = await stage.field("blanket")
    (first,) = await stage.nodes_up(field, "blanket-1")
    await stage.apply(
        objects.deployment(
            "stubborn",
            namespace=field,
            replicas=1,
            tolerations=[{"operator": "Exists"}],
        )
    )
    await stage.ready(field, "stubborn", 1)

    await stage.delete(kinds.NODES.ref(first))

    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("blanket-1"))
    await stage.eventually("no instance is left", lambda: stage.has_no_instance("blanket-1"))
