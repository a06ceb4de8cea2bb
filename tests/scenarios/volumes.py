"""Stories of volumes: they let go of a node before its machine ends, or run out of time (T05)."""

from __future__ import annotations

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds


async def _draining_with_volume(stage: Stage, name: str) -> str:
    """A node that is deleted, without pods, and with a volume that is still attached."""
    field = await stage.field(name)
    (first,) = await stage.nodes_up(field, f"{name}-1")
    await stage.apply(
        objects.pod("db", namespace=field),
        *objects.claimed_volume(name, namespace=field, node=first),
    )
    attached = {"status": {"attached": True}}
    await stage.api.patch(kinds.ATTACHMENTS.ref(name), attached, subresource="status")
    await stage.ready(field, "db", 1)

    await stage.delete(kinds.NODES.ref(first))

    await stage.gone(kinds.PODS.ref("db", field))
    return first


async def volume_detached(stage: Stage) -> None:
    """The pods are gone: the machine goes when the volume has let go of the node."""
    first = await _draining_with_volume(stage, "volume")
    await stage.always("the volume is waited for", lambda: stage.is_draining(first), for_s=2.0)
    assert await stage.instances("volume-1")

    await stage.delete(kinds.ATTACHMENTS.ref("volume"))

    await stage.gone(kinds.NODES.ref(first), within_s=3.0)


async def volume_never_detached(stage: Stage) -> None:
    """It does not let go: after ``cadence.detachLimit`` the machine goes anyway."""
    first = await _draining_with_volume(stage, "volume-stuck")
    begun = stage.clock.now().mono

    await stage.gone(kinds.NODES.ref(first))

    assert stage.clock.now().mono - begun >= 5.0
    assert await stage.find(kinds.ATTACHMENTS.ref("volume-stuck")) is not None
    await stage.delete(kinds.ATTACHMENTS.ref("volume-stuck"))
