"""Stories of what is only observed: recorded, and not done."""

from __future__ import annotations

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names
from unmoor.model.disruption import Disruption, DisruptionPhase


async def what_is_observed_is_recorded_and_not_done(stage: Stage) -> None:
    """As soon as nobody asks for that any more, it is done."""
    watched = {names.OBSERVE: "true"}
    field = await stage.field("watching", annotations=watched, ttlSecondsAfterEmpty=1)
    await stage.apply(objects.machine("watched-1", provisioner=field, field=f"{field}-none"))
    node = await stage.node_of("watched-1")

    async def phases() -> list[tuple[DisruptionPhase, bool]]:
        commands = [one for one in await stage.listed(kinds.DISRUPTIONS) if _is_about(one, node)]
        return sorted((one.phase, one.spec.is_observed) for one in commands)

    async def is_observed() -> bool:
        return await phases() == [(DisruptionPhase.OBSERVED, True)]

    async def is_untouched() -> bool:
        found = await stage.node(node)
        assert found is not None
        return not (found.is_deleting or found.is_cordoned or found.disruption)

    await stage.eventually("it is recorded", is_observed)
    await stage.always("it is recorded once", is_observed, for_s=4.0)
    assert await is_untouched()
    assert await stage.events("DeprovisioningObserved", node)

    unwatched = {"metadata": {"annotations": {names.OBSERVE: None}}}
    await stage.api.patch(kinds.PROVISIONERS.ref(field), unwatched)
    await stage.gone(kinds.NODES.ref(node), kinds.MACHINES.ref("watched-1"))

    async def is_over() -> bool:
        return await phases() == [
            (DisruptionPhase.CANCELLED, True),
            (DisruptionPhase.SUCCEEDED, False),
        ]

    await stage.eventually("the record says so", is_over)


def _is_about(command: Disruption, node: str) -> bool:
    return any(one.name == node for one in command.spec.nodes)
