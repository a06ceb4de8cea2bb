"""What the garbage collector does, ours and the real one, seen through the Api port alone."""

from typing import Any

import pytest

from tests.contract.faces import Place, changed, exists, gone
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import CONFIG_MAPS, KINDS, LEASES, NODES, PODS


async def owned_by(
    place: Place, *refs: Ref, blocks: bool = False, controller: bool = False
) -> list[JSON]:
    """Owner references to these objects as they are now."""
    found = []
    for ref in refs:
        uid = (await place.api.get(ref))["metadata"]["uid"]
        kind = KINDS[ref.kind]
        reference: JSON = {"apiVersion": kind.api_version, "kind": ref.kind, "name": ref.name}
        reference["uid"] = uid
        if blocks:
            reference["blockOwnerDeletion"] = True
        if controller:
            reference["controller"] = True
        found.append(reference)
    return found


async def dependent(place: Place, name: str, owners: list[JSON], **meta: Any) -> Ref:
    return await place.config_map(name, ownerReferences=owners, **meta)


async def test_dependents_go_with_their_owner(collected: Place) -> None:
    owner = await collected.config_map("owner")
    child = await dependent(collected, "child", await owned_by(collected, owner))
    grandchild = await dependent(collected, "grandchild", await owned_by(collected, child))
    stranger = await collected.config_map("stranger")
    await collected.delete(owner, propagation="Background")

    await gone(collected.api, grandchild)
    assert not await exists(collected.api, child)
    assert await exists(collected.api, stranger)


async def test_a_namespaced_object_may_belong_to_a_node(collected: Place) -> None:
    node = await collected.node()
    meta = {"name": "lease", "ownerReferences": await owned_by(collected, node)}
    await collected.create(LEASES, {"metadata": meta, "spec": {"holderIdentity": "me"}})
    await collected.delete(node)

    await gone(collected.api, collected.ref(LEASES, "lease"))


async def test_a_node_goes_with_its_machine(collected: Place) -> None:
    machine = await collected.machine()
    owners = await owned_by(collected, machine, blocks=True)
    node = await collected.node(metadata={"ownerReferences": owners})
    await collected.delete(machine)

    await gone(collected.api, node)


async def test_a_finalizer_holds_a_dependent(collected: Place) -> None:
    machine = await collected.machine()
    meta = {"ownerReferences": await owned_by(collected, machine), "finalizers": ["a.b/c"]}
    node = await collected.node(metadata=meta)
    await collected.delete(machine)

    await changed(collected.api, node, lambda obj: "deletionTimestamp" in obj["metadata"])
    await collected.api.patch(node, {"metadata": {"finalizers": None}})
    assert not await exists(collected.api, node)


async def test_an_owner_that_never_was(collected: Place) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "no-such-uid"}
    child = await dependent(collected, "child", [owner])

    await gone(collected.api, child)


async def test_an_owner_of_the_same_name_is_another(collected: Place) -> None:
    owner = await collected.config_map("owner")
    [reference] = await owned_by(collected, owner)
    child = await dependent(collected, "child", [{**reference, "uid": "an-older-uid"}])

    await gone(collected.api, child)
    assert await exists(collected.api, owner)


async def test_one_living_owner_is_enough(collected: Place) -> None:
    first, second = await collected.config_map("first"), await collected.config_map("second")
    child = await dependent(collected, "child", await owned_by(collected, first, second))
    await collected.delete(first)

    after = await changed(
        collected.api, child, lambda obj: len(obj["metadata"]["ownerReferences"]) == 1
    )
    assert after["metadata"]["ownerReferences"][0]["name"] == "second"
    await collected.delete(second)
    await gone(collected.api, child)


async def test_foreground_waits_for_those_that_block(collected: Place) -> None:
    owner = await collected.config_map("owner")
    blocking = await dependent(
        collected,
        "blocking",
        await owned_by(collected, owner, blocks=True),
        finalizers=["a.b/c"],
    )
    going = await collected.delete(owner, propagation="Foreground")

    assert going["metadata"]["finalizers"] == ["foregroundDeletion"]
    await changed(collected.api, blocking, lambda obj: "deletionTimestamp" in obj["metadata"])
    assert await exists(collected.api, owner)
    await collected.api.patch(blocking, {"metadata": {"finalizers": None}})
    await gone(collected.api, owner)


async def test_foreground_does_not_wait_for_those_that_do_not_block(collected: Place) -> None:
    owner = await collected.config_map("owner")
    child = await dependent(
        collected, "child", await owned_by(collected, owner), finalizers=["a.b/c"]
    )
    await collected.delete(owner, propagation="Foreground")

    await gone(collected.api, owner)
    await changed(collected.api, child, lambda obj: "deletionTimestamp" in obj["metadata"])


async def test_foreground_without_dependents_is_soon_over(collected: Place) -> None:
    owner = await collected.machine()
    await collected.delete(owner, propagation="Foreground")

    await gone(collected.api, owner)


async def test_foreground_goes_down_the_line(collected: Place) -> None:
    owner = await collected.config_map("owner")
    child = await dependent(collected, "child", await owned_by(collected, owner, blocks=True))
    grandchild = await dependent(
        collected,
        "grandchild",
        await owned_by(collected, child, blocks=True),
        finalizers=["a.b/c"],
    )
    await collected.delete(owner, propagation="Foreground")

    await changed(collected.api, grandchild, lambda obj: "deletionTimestamp" in obj["metadata"])
    waiting = await collected.api.get(child)
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    await collected.api.patch(grandchild, {"metadata": {"finalizers": None}})
    await gone(collected.api, owner)
    assert not await exists(collected.api, child)


async def test_an_owner_in_foreground_is_no_owner(collected: Place) -> None:
    """A dependent with another, living owner loses the one that waits, and stays."""
    first, second = await collected.config_map("first"), await collected.config_map("second")
    owners = await owned_by(collected, first, second, blocks=True)
    child = await dependent(collected, "child", owners)
    await collected.delete(first, propagation="Foreground")

    await gone(collected.api, first)
    references = (await collected.api.get(child))["metadata"]["ownerReferences"]
    assert [one["name"] for one in references] == ["second"]


async def test_orphans_stay(collected: Place) -> None:
    owner = await collected.config_map("owner")
    child = await dependent(collected, "child", await owned_by(collected, owner))
    # The real collector must have seen the dependent, or it does not know whom to set free.
    await collected.config_map("later")
    await collected.delete(owner, propagation="Orphan")

    await gone(collected.api, owner)
    after = await changed(
        collected.api, child, lambda obj: "ownerReferences" not in obj["metadata"]
    )
    assert "deletionTimestamp" not in after["metadata"]


async def test_a_pod_that_is_collected_gets_its_grace_period(collected: Place) -> None:
    owner = await collected.config_map("owner")
    meta = {"ownerReferences": await owned_by(collected, owner, controller=True)}
    pod = await collected.pod("pod", phase="Running", metadata=meta)
    await collected.delete(owner)

    after = await changed(collected.api, pod, lambda obj: "deletionTimestamp" in obj["metadata"])
    assert after["metadata"]["deletionGracePeriodSeconds"] == 30


@pytest.mark.parametrize("resource", [CONFIG_MAPS, PODS, NODES], ids=lambda one: str(one.kind))
async def test_an_owner_added_later_counts(collected: Place, resource: Any) -> None:
    owner = await collected.machine()
    if resource is CONFIG_MAPS:
        ref = await collected.config_map("late")
    elif resource is PODS:
        ref = await collected.pod("late")
    else:
        ref = await collected.node("late")
    owners = await owned_by(collected, owner)
    await collected.api.patch(ref, {"metadata": {"ownerReferences": owners}})
    await collected.delete(owner)

    await gone(collected.api, ref)
