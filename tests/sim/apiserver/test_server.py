"""The embedded API server's own affairs: versions, history, snapshots, determinism, sharing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.sim.apiserver.cast import CONTAINER, Clock, add_node, add_pod, label
from unmoor.model.base import JSON
from unmoor.model.kinds import CONFIG_MAPS, NAMESPACES, NODES, PODS, Resource
from unmoor.runtime.ports import ApiError, DeleteOptions, Query
from unmoor.sim.apiserver import Entry, Server, Watch
from unmoor.sim.apiserver.server import SNAPSHOTS_LIMIT
from unmoor.sim.apiserver.storage import HISTORY_LIMIT_ENTRIES


def drain(watch: Watch) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    while (told := watch.next()) is not None:
        found.append((told[0], told[1]["metadata"]["name"]))
    return found


def code_of(call: Callable[[], object]) -> int:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value.code


# ---------------------------------------------------------------------------------------- same seed


def a_life(seed: int) -> list[tuple[str, JSON]]:
    """Some writes, and everything that was told of them."""
    server = Server(Clock(), seed)
    written: list[tuple[str, JSON]] = []
    server.observers.append(lambda _, entry: written.append((entry.type, entry.obj)))
    for _ in range(3):
        server.create(CONFIG_MAPS.ref("", "default"), {"metadata": {"generateName": "c-"}})
    add_node(server, "a", metadata={"name": "a", "finalizers": ["a.b/c"]})
    server.delete(NODES.ref("a"))
    server.patch(NODES.ref("a"), {"metadata": {"finalizers": None}})
    return written


def test_same_seed_same_story() -> None:
    assert a_life(7) == a_life(7)


def test_another_seed_has_other_uids() -> None:
    uids = [{obj["metadata"]["uid"] for _, obj in a_life(seed)} for seed in (7, 8)]

    assert not uids[0] & uids[1]


def test_the_version_counts_writes_of_every_kind(server: Server) -> None:
    before = int(server.version)
    add_node(server, "a")
    add_pod(server, "p")

    assert int(server.version) == before + 2


# ------------------------------------------------------------------------------------------ sharing


def test_a_write_shares_what_it_does_not_change(server: Server) -> None:
    ref = add_pod(server, "p")
    before = server.get(ref)
    after = label(server, ref, "x")

    assert after is server.get(ref)
    assert after is not before
    assert after["spec"] is before["spec"]
    assert after["status"] is before["status"]
    assert "labels" not in before["metadata"]


def test_a_refused_write_leaves_no_trace(server: Server) -> None:
    ref = add_node(server, "a")
    before, version = server.get(ref), server.version
    bad = {
        "spec": {"taints": [{"key": "a", "effect": "Never"}]},
        "metadata": {"labels": {"a": "b"}},
    }

    assert code_of(lambda: server.patch(ref, bad)) == 422
    assert server.get(ref) is before
    assert server.version == version


def test_the_body_of_a_create_is_not_written_to(server: Server) -> None:
    body: JSON = {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER]}}
    server.create(PODS.ref("p", "default"), body)

    assert body == {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER]}}


def test_observers_see_every_write_with_what_was_before(server: Server) -> None:
    seen: list[tuple[str, str, bool]] = []

    def observe(resource: Resource[Any], entry: Entry) -> None:
        seen.append((resource.kind, entry.type, entry.old is None))

    server.observers.append(observe)
    ref = add_node(server, "a")
    label(server, ref, "x")
    server.delete(ref)

    assert seen == [
        ("Node", "ADDED", True),
        ("Node", "MODIFIED", False),
        ("Node", "DELETED", False),
    ]


# ------------------------------------------------------------------------------------------ history


def test_history_is_bounded_and_what_is_older_is_expired(server: Server) -> None:
    ref = add_node(server, "a")
    first = server.version
    for number in range(2 * HISTORY_LIMIT_ENTRIES):
        label(server, ref, str(number))
    recent = str(int(server.version) - HISTORY_LIMIT_ENTRIES // 2)

    assert code_of(lambda: server.watch(NODES, since=first)) == 410
    assert len(drain(server.watch(NODES, since=recent))) == HISTORY_LIMIT_ENTRIES // 2


def test_a_watch_that_sleeps_too_long_is_cut(server: Server) -> None:
    ref = add_node(server, "a")
    watch = server.watch(NODES, since=server.version)
    for number in range(2 * HISTORY_LIMIT_ENTRIES + 1):
        label(server, ref, str(number))

    assert watch.next() is None
    assert not watch.is_open


def test_writes_of_other_kinds_do_not_expire_a_watch(server: Server) -> None:
    add_node(server, "a")
    since = server.version
    ref = add_pod(server, "p")
    for number in range(2 * HISTORY_LIMIT_ENTRIES):
        label(server, ref, str(number))

    assert drain(server.watch(NODES, since=since)) == []


def test_compaction_expires_everything_older(server: Server) -> None:
    add_node(server, "a")
    since = server.version
    add_node(server, "b")
    server.compact()
    with pytest.raises(ApiError) as caught:
        server.watch(NODES, since=since)

    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    assert caught.value.message == f"too old resource version: {since} ({server.version})"
    assert drain(server.watch(NODES, since=server.version)) == []


def test_an_open_watch_survives_a_compaction_that_it_has_seen(server: Server) -> None:
    watch = server.watch(NODES, since=server.version)
    add_node(server, "a")
    seen = drain(watch)
    server.compact()
    add_node(server, "b")

    assert seen + drain(watch) == [("ADDED", "a"), ("ADDED", "b")]


# -------------------------------------------------------------------------------------------- pages


def test_a_page_of_a_forgotten_list_is_expired(server: Server) -> None:
    for name in "abc":
        add_node(server, name)
    first = server.list(NODES, limit=1)
    server.compact()
    with pytest.raises(ApiError) as caught:
        server.list(NODES, limit=1, after=first.next)

    assert (caught.value.code, caught.value.reason) == (410, "Expired")


def test_snapshots_are_bounded(server: Server) -> None:
    for name in "ab":
        add_node(server, name)
    tokens = []
    for number in range(SNAPSHOTS_LIMIT + 1):
        tokens.append(server.list(NODES, limit=1).next)
        label(server, NODES.ref("a"), str(number))

    assert code_of(lambda: server.list(NODES, limit=1, after=tokens[0])) == 410
    assert len(server.list(NODES, limit=1, after=tokens[1]).items) == 1


def test_lists_of_one_version_do_not_mix(server: Server) -> None:
    for name in ("a", "b", "c", "d"):
        label(server, add_node(server, name), "x" if name in "ab" else "y")
    for _ in range(SNAPSHOTS_LIMIT):
        server.list(NODES, limit=1)
    first = server.list(NODES, Query(labels="l=x"), limit=1)
    server.list(NODES, Query(labels="l=y"), limit=1)
    second = server.list(NODES, Query(labels="l=x"), limit=1, after=first.next)

    assert [one["metadata"]["name"] for one in second.items] == ["b"]


def test_a_page_can_be_asked_for_twice(server: Server) -> None:
    for name in "abc":
        add_node(server, name)
    first = server.list(NODES, limit=1)
    pages = [server.list(NODES, limit=1, after=first.next) for _ in range(2)]

    assert pages[0] == pages[1]
    assert (pages[0].remaining, pages[0].items[0]["metadata"]["name"]) == (1, "b")


# ---------------------------------------------------------------------------------- other behaviour


def test_delete_collection(server: Server) -> None:
    for name, node in (("a", "n"), ("b", ""), ("c", "n")):
        add_pod(server, name, node)
    deleted = server.delete_collection(PODS, Query(fields="spec.nodeName=n"))

    assert [one["metadata"]["name"] for one in deleted] == ["a", "c"]
    ends = [one["metadata"].get("deletionTimestamp") for one in server.list(PODS).items]
    assert ends == ["2026-01-01T00:00:30Z", None, "2026-01-01T00:00:30Z"]


def test_shortening_counts_from_the_first_deletion(server: Server, clock: Clock) -> None:
    ref = add_pod(server, "p", "n")
    server.delete(ref)
    clock.wall += timedelta(seconds=20)
    server.delete(ref, DeleteOptions(grace_s=5))

    assert server.get(ref)["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"


def test_a_namespace_goes_when_it_is_finalized(server: Server) -> None:
    ref = NAMESPACES.ref("shop")
    server.create(ref, {"metadata": {"name": "shop"}})
    server.delete(ref)
    going = server.get(ref)
    server.replace(ref, {**going, "spec": {"finalizers": []}}, subresource="finalize")

    assert going["status"]["phase"] == "Terminating"
    assert code_of(lambda: server.get(ref)) == 404


def test_an_unknown_kind_is_not_found(clock: Clock) -> None:
    server = Server(clock, resources=[NODES, NAMESPACES])

    assert code_of(lambda: server.get(PODS.ref("p", "default"))) == 404
