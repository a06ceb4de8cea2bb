"""Stories of what people delete: nodes, machines, provisioners, and the machine behind a node."""

from __future__ import annotations

from tests.scenarios import objects
from tests.scenarios.stage import Stage
from unmoor.model import kinds, names


async def manual_delete(stage: Stage) -> None:
    """``kubectl delete node``: cordon, drain, terminate, release (001:24-32)."""
    field = await stage.field("manual-delete")
    first, second = await stage.nodes_up(field, "manual-1", "manual-2")
    await stage.apply(objects.deployment("web", namespace=field, replicas=3))
    await stage.ready(field, "web", 3)

    await stage.delete(kinds.NODES.ref(first))

    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("manual-1"))
    pods = await stage.ready(field, "web", 3)
    assert {pod.node_name for pod in pods} == {second}
    await stage.eventually("the instance is told to go", lambda: stage.has_no_instance("manual-1"))


async def delete_by_label(stage: Stage) -> None:
    """``kubectl delete nodes -l karpenter.sh/provisioner-name=x`` (001:42-47)."""
    field = await stage.field("by-label")
    nodes = await stage.nodes_up(field, "label-1", "label-2", "label-3")
    for one in await stage.listed(kinds.NODES, labels=f"{names.PROVISIONER_NAME}={field}"):
        await stage.delete(kinds.NODES.ref(one.name))

    await stage.gone(*(kinds.NODES.ref(name) for name in nodes))
    await stage.gone(*(kinds.MACHINES.ref(f"label-{i}") for i in (1, 2, 3)))
    await stage.eventually(
        "no instance is left", lambda: stage.has_no_instance("label-1", "label-2", "label-3")
    )


async def cascade_in_background(stage: Stage) -> None:
    """Deleting the Provisioner takes its nodes along, gracefully (001:50, R4)."""
    await _cascade(stage, "cascade-b", "Background")


async def cascade_in_foreground(stage: Stage) -> None:
    """The same, and the Provisioner stays until its machines are gone (R4)."""
    await _cascade(stage, "cascade-f", "Foreground")


async def _cascade(stage: Stage, field: str, propagation: str) -> None:
    await stage.field(field)
    machines = (f"{field}-1", f"{field}-2")
    nodes = await stage.nodes_up(field, *machines)
    await stage.apply(objects.pod("naked", namespace=field))
    await stage.ready(field, "naked", 1)

    await stage.delete(kinds.PROVISIONERS.ref(field), propagation=propagation)

    await stage.gone(*(kinds.NODES.ref(name) for name in nodes))
    await stage.gone(*(kinds.MACHINES.ref(name) for name in machines))
    await stage.gone(kinds.PROVISIONERS.ref(field))
    await stage.eventually("no instance is left", lambda: stage.has_no_instance(*machines))


async def delete_machine(stage: Stage) -> None:
    """``kubectl delete machine``: the node goes first, then the instance (T081)."""
    field = await stage.field("delete-machine")
    (first,) = await stage.nodes_up(field, "dm-1")

    await stage.delete(kinds.MACHINES.ref("dm-1"))

    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("dm-1"))
    await stage.eventually("no instance is left", lambda: stage.has_no_instance("dm-1"))


async def delete_one_of_two_machines(stage: Stage) -> None:
    """Two Machines stand for one instance: it goes with the last of them, and not before."""
    field = await stage.field("twice")
    (first,) = await stage.nodes_up(field, "twice-1")
    (provider_id,) = await stage.instances("twice-1")
    linked = {names.LINKED: provider_id}
    await stage.apply(objects.machine("twice-2", provisioner=field, annotations=linked))

    async def is_up() -> bool:
        found = await stage.machine("twice-2")
        return found is not None and found.is_initialized

    async def is_spared() -> bool:
        found = await stage.node(first)
        return found is not None and not found.is_deleting

    await stage.eventually("the second machine has the node, too", is_up)
    await stage.delete(kinds.MACHINES.ref("twice-1"))
    await stage.gone(kinds.MACHINES.ref("twice-1"))
    await stage.always("the node stays", is_spared)
    assert len(await stage.instances("twice-1")) == 1

    await stage.delete(kinds.MACHINES.ref("twice-2"))
    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("twice-2"))
    await stage.eventually("no instance is left", lambda: stage.has_no_instance("twice-1"))


async def node_taken_away(stage: Stage) -> None:
    """Somebody removes a node's finalizer, and the node: its machine does not run on for ever."""
    field = await stage.field("taken-away")
    (first,) = await stage.nodes_up(field, "taken-1")

    await stage.api.patch(kinds.NODES.ref(first), {"metadata": {"finalizers": None}})
    await stage.delete(kinds.NODES.ref(first))

    async def said() -> list[str]:
        return await stage.events("NodeLost", "taken-1")

    assert await stage.eventually("it is told until when it may come back", said)
    assert await stage.find(kinds.MACHINES.ref("taken-1")) is not None
    await stage.gone(kinds.MACHINES.ref("taken-1"))
    await stage.eventually("its instance went", lambda: stage.has_no_instance("taken-1"))


async def machine_gone(stage: Stage) -> None:
    """The machine vanishes under a held drain: the node is released at once (001:29, R20)."""
    field = await stage.field("machine-gone")
    (first,) = await stage.nodes_up(field, "gone-1")
    await stage.guarded(field, 1, minAvailable=1)
    await stage.begin_drain(first)
    (provider_id,) = await stage.instances("gone-1")

    await stage.cloud.terminate(provider_id)

    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("gone-1"))


async def somebody_elses_finalizer(stage: Stage) -> None:
    """We drain, terminate and release our part; a finalizer of another keeps the node."""
    field = await stage.field("finalizer")
    (first,) = await stage.nodes_up(field, "finalizer-1")
    found = await stage.api.get(kinds.NODES.ref(first))
    finalizers = [*found["metadata"]["finalizers"], objects.HOLD]
    await stage.api.patch(kinds.NODES.ref(first), {"metadata": {"finalizers": finalizers}})
    await stage.delete(kinds.NODES.ref(first))

    async def only_theirs() -> bool:
        found = await stage.find(kinds.NODES.ref(first))
        return found is not None and found["metadata"].get("finalizers") == [objects.HOLD]

    await stage.eventually("only the other finalizer is left", only_theirs)
    await stage.eventually(
        "the instance is told to go", lambda: stage.has_no_instance("finalizer-1")
    )
    await stage.always("the node waits for its other owner", only_theirs)

    await stage.api.patch(kinds.NODES.ref(first), {"metadata": {"finalizers": None}})

    await stage.gone(kinds.NODES.ref(first), kinds.MACHINES.ref("finalizer-1"))
