"""How a watch looks on the wire."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.sim.http.client import MAPS, TABLE, Client, opened
from unmoor.model.base import Ref
from unmoor.sim.apiserver import Server, status

PLAIN = "application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
INITIAL = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
BOOKMARKS = "allowWatchBookmarks=true"
END = "k8s.io/initial-events-end"


def server_of(client: Client) -> Server:
    return client.face._server


async def some(
    client: Client, path: str, count: int, accept: str = "application/json"
) -> list[Any]:
    found: list[Any] = []
    async with asyncio.timeout(5), client.watch(path, accept) as events:
        async for one in events:
            found.append(one)
            if len(found) == count:
                break
    return found


async def test_what_there_is_comes_first_and_its_end_is_marked(client: Client) -> None:
    for name in ("a", "b"):
        await client.create(MAPS, "ConfigMap", name)

    *objects, end = await some(client, f"{MAPS}?{INITIAL}&{BOOKMARKS}", 3)

    assert [one["type"] for one in objects] == ["ADDED", "ADDED"]
    assert end["type"] == "BOOKMARK"
    assert end["object"]["kind"] == "ConfigMap"
    assert end["object"]["metadata"]["annotations"] == {END: "true"}
    assert end["object"]["metadata"]["resourceVersion"] == server_of(client).version


async def test_what_comes_later_follows_the_mark(client: Client) -> None:
    async with asyncio.timeout(5), client.watch(f"{MAPS}?{INITIAL}&{BOOKMARKS}") as events:
        assert (await anext(events))["type"] == "BOOKMARK"
        await client.create(MAPS, "ConfigMap", "a")
        assert (await anext(events))["object"]["metadata"]["name"] == "a"


async def test_bookmarks_are_sent_to_who_wants_them(client: Client) -> None:
    async with (
        asyncio.timeout(5),
        client.watch(f"{MAPS}?watch=1&{BOOKMARKS}") as wanted,
        client.watch(f"{MAPS}?watch=1") as unwanted,
    ):
        server_of(client).send_bookmarks()
        await client.create(MAPS, "ConfigMap", "a")
        types = [(await anext(wanted))["type"] for _ in range(2)]

        assert types == ["BOOKMARK", "ADDED"]
        assert (await anext(unwanted))["type"] == "ADDED"


async def test_too_old_a_version_is_an_error_event(client: Client) -> None:
    await client.create(MAPS, "ConfigMap", "a")
    server_of(client).compact()

    (error,) = await some(client, f"{MAPS}?watch=1&resourceVersion=1", 1)

    assert error["type"] == "ERROR"
    assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")


async def test_a_watch_that_the_server_ends_with_an_error(client: Client) -> None:
    async with asyncio.timeout(5), client.watch(f"{MAPS}?watch=1") as events:
        server_of(client).close_watches("ConfigMap", status.expired("compacted"))
        assert (await anext(events))["object"]["code"] == 410
        assert [one async for one in events] == []


async def test_a_watch_ends_when_its_time_is_up(client: Client) -> None:
    await client.create(MAPS, "ConfigMap", "a")
    async with asyncio.timeout(5), client.watch(f"{MAPS}?watch=1&timeoutSeconds=1") as events:
        assert len([one async for one in events]) == 1


async def test_a_table_tells_its_columns_once(client: Client) -> None:
    for name in ("a", "b"):
        await client.create(MAPS, "ConfigMap", name, data={"k": "v"})

    first, second, end = await some(client, f"{MAPS}?{INITIAL}&{BOOKMARKS}", 3, TABLE)

    assert [one["name"] for one in first["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert first["object"]["rows"][0]["cells"] == ["a", 1, "0s"]
    assert second["object"]["columnDefinitions"] is None
    (row,) = end["object"]["rows"]
    assert row["object"]["metadata"]["annotations"] == {END: "true"}


async def test_only_metadata_is_told_to_who_wants_no_more(client: Client) -> None:
    await client.create(MAPS, "ConfigMap", "a", data={"k": "v"})

    (event,) = await some(client, f"{MAPS}?watch=1", 1, PARTIAL)

    assert event["object"]["kind"] == "PartialObjectMetadata"
    assert "data" not in event["object"]


async def test_one_object_can_be_watched_by_its_path(client: Client) -> None:
    for name in ("a", "b"):
        await client.create(MAPS, "ConfigMap", name)

    (event,) = await some(client, f"{MAPS}/b?watch=1", 1)

    assert event["object"]["metadata"]["name"] == "b"


async def test_who_hangs_up_is_forgotten() -> None:
    async with opened() as client:
        server = server_of(client)
        async with client.watch(f"{MAPS}?watch=1"):
            assert len(server._open_watches()) == 1
        async with asyncio.timeout(5):
            while server._open_watches():
                await client.get(MAPS)  # as good as a pause: the face gets its turn


async def test_a_thousand_events_are_told_in_order(client: Client) -> None:
    async with asyncio.timeout(20), client.watch(f"{MAPS}?watch=1") as events:
        for number in range(1000):
            server_of(client).create(
                Ref("ConfigMap", "", namespace="default"),
                {"metadata": {"name": f"m{number}"}, "data": {"k": "x" * 500}},
            )
        names = [(await anext(events))["object"]["metadata"]["name"] for _ in range(1000)]

    assert names == [f"m{number}" for number in range(1000)]
