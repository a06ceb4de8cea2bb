"""The pods of one node, as the server lists them, and those among them that nobody can read."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.builders import pod
from tests.runtime.states import at_version, broken
from unmoor.model.kinds import PODS
from unmoor.runtime.ports import Page
from unmoor.runtime.store import Store


def on_a(name: str, version: int, **meta: Any) -> Any:
    return at_version(pod(name, on="a"), version, **meta)


def test_a_list_of_a_nodes_pods_is_the_truth_about_that_node_alone() -> None:
    store = Store()
    for one in (on_a("old", 3), on_a("kept", 4), on_a("new", 30)):
        store.put(PODS, one)
    store.put(PODS, at_version(pod("elsewhere", on="b"), 5))
    store.fold_pods("a", Page((on_a("kept", 8), on_a("hidden", 9)), (), "20"))

    assert [one.name for one in store.pods_on("a")] == ["hidden", "kept", "new"]
    assert [one.name for one in store.pods_on("b")] == ["elsewhere"]
    assert store.pods_on("a")[1].metadata.resource_version == "8"


def test_what_is_unreadable_is_where_it_says_until_it_is_mended_or_gone() -> None:
    store = Store()
    odd = msgspec.structs.replace(broken(on_a("odd", 5), 5), node="a")
    store.mark_broken(PODS, odd)
    assert store.unreadable_pods_on("a") == ((("shop", "odd"), "odd"),)
    assert store.unreadable_pods_on("b") == ()

    frozen = store.freeze()
    store.put(PODS, on_a("odd", 6))
    assert store.unreadable_pods_on("a") == ()
    assert frozen.unreadable_pods_on("a") != ()

    store.mark_broken(PODS, msgspec.structs.replace(broken(on_a("more", 7), 7), node="a"))
    store.fold_pods("a", Page((on_a("odd", 6),), (), "20"))
    assert store.unreadable_pods_on("a") == ()


def test_where_an_unreadable_pod_is_the_server_knows() -> None:
    store = Store()
    nowhere = broken(on_a("odd", 5), 5)
    store.mark_broken(PODS, nowhere)
    assert store.unreadable_pods_on("a") == ()

    version = store.version
    store.fold_pods("a", Page((), (nowhere,), "20"))
    assert store.unreadable_pods_on("a") == ((("shop", "odd"), "odd"),)
    assert store.version > version


def test_a_pod_that_was_readable_on_its_node_is_no_riddle() -> None:
    store = Store()
    store.put(PODS, on_a("odd", 5))
    store.mark_broken(PODS, msgspec.structs.replace(broken(on_a("odd", 6), 6), node="a"))
    assert store.unreadable_pods_on("a") == ()

    store.put(PODS, at_version(pod("pending", on=""), 5))
    bound = at_version(pod("pending", on="a"), 6)
    store.mark_broken(PODS, msgspec.structs.replace(broken(bound, 6), node="a"))
    assert [key for key, _ in store.unreadable_pods_on("a")] == [("shop", "pending")]
