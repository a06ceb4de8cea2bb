"""What a watch tells, and from when on; on each face alike."""

import asyncio

import pytest

from tests.contract.faces import PATIENCE_S, Place, refused, told, version_of, watching
from unmoor.model.base import JSON
from unmoor.model.kinds import CONFIG_MAPS, INSTANCES, MACHINES, NODES, PODS
from unmoor.model.pod import Pod
from unmoor.runtime.ports import Broken, Change, Query


def names(changes: list[tuple[str, JSON]]) -> list[tuple[str, str]]:
    return [(kind, obj["metadata"]["name"]) for kind, obj in changes]


def versions(changes: list[tuple[str, JSON]]) -> list[int]:
    return [int(obj["metadata"]["resourceVersion"]) for _, obj in changes]


async def test_a_watch_replays_what_came_after_its_version(place: Place) -> None:
    await place.config_map("before")
    since = await version_of(place, CONFIG_MAPS)
    ref = await place.config_map("a")
    await place.api.patch(ref, {"data": {"a": "2"}})
    await place.config_map("b")
    await place.delete(ref)

    changes = await told(place, CONFIG_MAPS, since=since, count=4)

    assert names(changes) == [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert versions(changes) == sorted(set(versions(changes)))
    assert versions(changes)[0] > int(since)


async def test_a_watch_waits_for_what_comes(place: Place) -> None:
    since = await version_of(place, NODES)
    watching = asyncio.create_task(told(place, NODES, since=since, count=2))
    await asyncio.sleep(0)
    await place.node("a")
    await place.node("b")

    async with asyncio.timeout(PATIENCE_S):
        changes = await watching

    assert names(changes) == [("ADDED", place.name("a")), ("ADDED", place.name("b"))]


async def test_two_watches_are_told_the_same(place: Place) -> None:
    since = await version_of(place, NODES)
    await place.node("a")
    await place.node("b")

    first = await told(place, NODES, since=since, count=2)

    assert await told(place, NODES, since=since, count=2) == first


async def test_a_watch_from_an_objects_version_begins_behind_it(place: Place) -> None:
    await place.config_map("a")
    middle = await place.api.get(await place.config_map("b"))
    await place.config_map("c")

    changes = await told(place, CONFIG_MAPS, since=middle["metadata"]["resourceVersion"], count=1)

    assert names(changes) == [("ADDED", "c")]


async def test_changes_are_decoded(place: Place) -> None:
    since = await version_of(place, PODS)
    await place.pod("a")

    async with watching(place.api, PODS, place.selection, since) as events:
        async for event in events:
            assert isinstance(event, Change)
            assert isinstance(event.object, Pod)
            assert event.object.name == "a"
            break


async def test_what_does_not_decode_is_broken(place: Place) -> None:
    await place.instance("bad", spec={"cluster": 5})
    await place.instance("good", spec={"cluster": "mine"})
    page = await place.api.list(INSTANCES, place.selection)

    assert [one.name for one in page.items] == [place.name("good")]
    [broken] = page.broken
    assert (broken.ref.kind, broken.ref.name) == ("Instance", place.name("bad"))
    assert broken.ref.uid
    assert "cluster" in broken.problem


async def test_what_does_not_decode_does_not_end_a_watch(place: Place) -> None:
    since = await version_of(place, INSTANCES)
    await place.instance("bad", spec={"cluster": 5})
    await place.instance("good", spec={"cluster": "mine"})

    async with watching(place.api, INSTANCES, place.selection, since) as events:
        bad, good = await anext(events), await anext(events)

    assert isinstance(bad, Broken)
    assert bad.ref.name == place.name("bad")
    assert int(bad.resource_version) > int(since)
    assert isinstance(good, Change)


async def test_a_deletion_of_what_does_not_decode_is_one(place: Place) -> None:
    bad = await place.instance("bad", spec={"cluster": 5})
    since = await version_of(place, INSTANCES)
    await place.delete(bad)

    async with watching(place.api, INSTANCES, place.selection, since) as events:
        told = await anext(events)

    assert isinstance(told, Broken)
    assert (told.ref.name, told.is_deleted) == (place.name("bad"), True)
    assert told.ref.uid


async def test_without_a_version_a_watch_begins_with_what_there_is(place: Place) -> None:
    await place.config_map("b")
    await place.config_map("a")
    await version_of(place, CONFIG_MAPS)  # a server's cache may lag; a list waits for it

    changes = await told(place, CONFIG_MAPS, since="0", count=2)

    assert names(changes) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_write_that_changes_nothing_is_not_told(place: Place) -> None:
    ref = await place.config_map("a")
    since = await version_of(place, CONFIG_MAPS)
    await place.api.patch(ref, {"data": {"a": "1"}})
    await place.config_map("b")

    assert names(await told(place, CONFIG_MAPS, since=since, count=1)) == [("ADDED", "b")]


async def test_a_refused_write_is_not_told(place: Place) -> None:
    ref = await place.node("a")
    since = await version_of(place, NODES)
    await refused(place.api.patch(ref, {"metadata": {"uid": "another"}}))
    await place.node("b")

    assert names(await told(place, NODES, since=since, count=1)) == [("ADDED", place.name("b"))]


# --------------------------------------------------------------------------------------- selections


async def test_labels_that_begin_to_match_are_an_addition(place: Place) -> None:
    ref = await place.config_map("a", labels={**place.labels, "tier": "db"})
    since = await version_of(place, CONFIG_MAPS)
    await place.api.patch(ref, {"metadata": {"labels": {"tier": "web"}}})
    await place.api.patch(ref, {"data": {"x": "y"}})
    await place.api.patch(ref, {"metadata": {"labels": {"tier": None}}})

    query = Query(labels=f"{place.selection.labels},tier=web")
    changes = await told(place, CONFIG_MAPS, since=since, count=3, query=query)

    assert names(changes) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert changes[2][1]["metadata"]["labels"]["tier"] == "web"
    assert versions(changes) == sorted(set(versions(changes)))


async def test_a_field_that_begins_to_match_is_an_addition(place: Place) -> None:
    ref = await place.pod("a")
    since = await version_of(place, PODS)
    await place.bind(ref, "n1")

    waiting = Query(namespace=place.namespace, fields="spec.nodeName=")
    bound = Query(namespace=place.namespace, fields="spec.nodeName=n1")

    assert names(await told(place, PODS, since=since, count=1, query=waiting)) == [("DELETED", "a")]
    assert names(await told(place, PODS, since=since, count=1, query=bound)) == [("ADDED", "a")]


async def test_a_watch_of_one_name(place: Place) -> None:
    since = await version_of(place, MACHINES)
    await place.machine("a")
    await place.machine("b")

    query = Query(fields=f"metadata.name={place.name('b')}")

    assert names(await told(place, MACHINES, since=since, count=1, query=query)) == [
        ("ADDED", place.name("b"))
    ]


async def test_a_namespace_narrows_a_watch(place: Place) -> None:
    since = await version_of(place, PODS)
    await place.api.create(
        PODS.ref("elsewhere", "default"),
        {
            "metadata": {"generateName": "elsewhere-", "labels": place.labels},
            "spec": {"containers": [{"name": "main", "image": "img"}]},
        },
    )
    await place.pod("here")

    query = Query(namespace=place.namespace)

    assert names(await told(place, PODS, since=since, count=1, query=query)) == [("ADDED", "here")]


# ---------------------------------------------------------------------------------------- deletions


async def test_a_deleted_object_has_the_version_of_its_deletion(place: Place) -> None:
    ref = await place.config_map("a")
    last = await place.api.get(ref)
    since = await version_of(place, CONFIG_MAPS)
    await place.delete(ref)

    [(kind, obj)] = await told(place, CONFIG_MAPS, since=since, count=1)

    assert kind == "DELETED"
    assert int(obj["metadata"]["resourceVersion"]) > int(last["metadata"]["resourceVersion"])
    assert obj["data"] == last["data"]
    assert "deletionTimestamp" not in obj["metadata"]


async def test_an_object_that_loses_its_last_finalizer_is_told_as_it_was(place: Place) -> None:
    ref = await place.machine("a", metadata={"finalizers": ["a.b/c"]})
    since = await version_of(place, MACHINES)
    await place.delete(ref)
    await place.api.patch(ref, {"metadata": {"finalizers": None, "labels": {"late": "x"}}})

    changes = await told(place, MACHINES, since=since, count=2)

    assert [kind for kind, _ in changes] == ["MODIFIED", "DELETED"]
    last = changes[1][1]["metadata"]
    assert last["finalizers"] == ["a.b/c"]
    assert "late" not in last["labels"]


async def test_a_pod_that_goes_at_once_is_told_twice(place: Place) -> None:
    ref = await place.pod("a")
    since = await version_of(place, PODS)
    await place.delete(ref)

    changes = await told(place, PODS, since=since, count=2)

    assert [kind for kind, _ in changes] == ["MODIFIED", "DELETED"]
    assert [obj["metadata"]["deletionGracePeriodSeconds"] for _, obj in changes] == [0, 0]


async def test_the_life_of_an_evicted_pod(place: Place) -> None:
    ref = await place.pod("a", phase="Running")
    since = await version_of(place, PODS)
    await place.evict(ref)
    await place.delete(ref, grace_s=0)

    changes = await told(place, PODS, since=since, count=4)
    graces = [obj["metadata"].get("deletionGracePeriodSeconds") for _, obj in changes]

    assert [kind for kind, _ in changes] == ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]
    assert graces == [None, 30, 0, 0]


async def test_a_budget_that_pays_is_told_before_the_pod(place: Place) -> None:
    ref = await place.pod("a", phase="Running")
    budget = await place.budget()
    since = int((await place.api.get(budget))["metadata"]["resourceVersion"])
    await place.evict(ref)
    paid = int((await place.api.get(budget))["metadata"]["resourceVersion"])
    went = int((await place.api.get(ref))["metadata"]["resourceVersion"])

    assert since < paid < went


# ----------------------------------------------------------------------------------------- refusals


async def first_event(place: Place, since: str) -> object:
    async with watching(place.api, NODES, place.selection, since) as events:
        return await anext(events)


async def test_a_version_that_is_none_is_an_error(place: Place) -> None:
    error = await refused(first_event(place, "yesterday"))

    assert (error.code, error.reason) == (500, "InternalError")
    assert error.message == (
        'resourceVersion: Invalid value: "yesterday": strconv.ParseUint: parsing "yesterday": '
        "invalid syntax"
    )


@pytest.mark.parametrize("query", [Query(labels="a b"), Query(fields="spec.color=red")])
async def test_a_bad_selector_is_a_bad_request(place: Place, query: Query) -> None:
    error = await refused(told(place, NODES, since="0", count=1, query=query))

    assert (error.code, error.reason) == (400, "BadRequest")
