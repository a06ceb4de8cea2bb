"""What becomes of a namespace that is deleted, seen through the Api port alone."""

from tests.contract.faces import Place, changed, exists, gone, refused
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import LEASES, NAMESPACES


def itself(place: Place) -> Ref:
    return NAMESPACES.ref(place.namespace)


async def test_an_empty_namespace_goes(collected: Place) -> None:
    answer = await collected.delete(itself(collected))

    assert answer["status"]["phase"] == "Terminating"
    await gone(collected.api, itself(collected))


async def test_a_namespace_goes_with_what_is_in_it(collected: Place) -> None:
    config = await collected.config_map("a")
    pod = await collected.pod("waiting")
    await collected.create(LEASES, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}})
    node = await collected.node()
    await collected.delete(itself(collected))

    await gone(collected.api, itself(collected))
    assert not await exists(collected.api, config)
    assert not await exists(collected.api, pod)
    assert await exists(collected.api, node)


async def test_a_namespace_waits_for_finalizers(collected: Place) -> None:
    held = await collected.config_map("held", finalizers=["a.b/c"])
    other = await collected.config_map("other")
    await collected.delete(itself(collected))

    await gone(collected.api, other)
    error = await refused(collected.config_map("new"))
    assert (error.code, error.reason) == (403, "Forbidden")
    assert await exists(collected.api, itself(collected))
    await collected.api.patch(held, {"metadata": {"finalizers": None}})
    await gone(collected.api, itself(collected))


def is_leaving(pod: JSON) -> bool:
    return "deletionTimestamp" in pod["metadata"]


async def test_pods_of_a_namespace_keep_their_grace(collected: Place) -> None:
    pod = await collected.pod(phase="Running")
    await collected.delete(itself(collected))
    leaving = await changed(collected.api, pod, is_leaving)

    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30
    await collected.delete(pod, grace_s=0)
    await gone(collected.api, itself(collected))


async def test_a_namespace_with_a_finalizer_of_its_own(collected: Place) -> None:
    ref = itself(collected)
    await collected.api.patch(ref, {"metadata": {"finalizers": ["a.b/c"]}})
    config = await collected.config_map("a")
    await collected.delete(ref)

    await gone(collected.api, config)
    await changed(collected.api, ref, lambda found: not found["spec"].get("finalizers"))
    await collected.api.patch(ref, {"metadata": {"finalizers": None}})
    await gone(collected.api, ref)
