"""What a list says, and what we learned ourselves while it was on its way."""

from __future__ import annotations

from tests.builders import machine, node
from tests.runtime.states import at_version, body_of, broken
from unmoor.model.kinds import MACHINES, NODES
from unmoor.runtime.store import Store


def versions(store: Store) -> dict[str, str]:
    return {held.name: held.metadata.resource_version for held in store.sorted(NODES)}


def test_a_server_that_was_restored_from_a_backup_is_believed() -> None:
    store = Store()
    for name, version in (("changed", 30), ("made", 40), ("remade", 50)):
        store.put(NODES, at_version(node(name), version, uid=f"{name}-new"))
    store.drop(NODES, at_version(node("deleted"), 60, uid="deleted-old"))
    store.forget("Node", ("", "forgotten"), "forgotten-old")

    store.begin(NODES)
    back = [
        at_version(node("changed"), 10, uid="changed-new"),
        at_version(node("remade"), 11, uid="remade-old"),
        at_version(node("deleted"), 12, uid="deleted-old"),
        at_version(node("forgotten"), 13, uid="forgotten-old"),
    ]
    store.replace(NODES, back, "20")

    assert versions(store) == {"changed": "10", "remade": "11", "deleted": "12", "forgotten": "13"}
    store.put(NODES, at_version(node("deleted"), 21, uid="deleted-old", labels={"a": "b"}))
    assert versions(store)["deleted"] == "21"


def test_what_we_wrote_while_a_list_was_under_way_stays() -> None:
    store = Store()
    for name in ("patched", "ended", "theirs"):
        store.put(NODES, at_version(node(name), 5))
    listed = [at_version(node(name), 5) for name in ("patched", "ended", "theirs")]

    store.begin(NODES)
    store.fold("Node", body_of(at_version(node("patched"), 30)))
    store.fold("Node", body_of(at_version(node("made"), 31)))
    store.forget("Node", ("", "ended"), "uid-node-ended")
    store.replace(NODES, listed, "20")

    assert versions(store) == {"made": "31", "patched": "30", "theirs": "5"}


def test_what_a_restored_server_answers_while_a_list_is_under_way_is_believed() -> None:
    """Its numbers are lower than those that we know from before the restore."""
    store = Store()
    store.put(NODES, at_version(node("read"), 50))
    store.put(NODES, at_version(node("written"), 51))
    store.forget("Node", ("", "back"), "uid-node-back")

    store.begin(NODES)
    store.fold("Node", body_of(at_version(node("read"), 10)))
    store.fold("Node", body_of(at_version(node("back"), 11)))
    assert versions(store) == {"read": "10", "back": "11", "written": "51"}

    store.fold("Node", body_of(at_version(node("written"), 23)))
    store.fold("Node", body_of(at_version(node("written"), 22)))  # its answer came late
    names = ("read", "back", "written")
    store.replace(NODES, [at_version(node(name), 20) for name in names], "21")

    assert versions(store) == {"read": "20", "back": "20", "written": "23"}


def test_what_we_read_while_a_list_was_under_way_may_be_older_than_the_list() -> None:
    store = Store()
    store.begin(NODES)
    store.fold("Node", body_of(at_version(node("a"), 5)))
    store.fold("Node", body_of(at_version(node("gone"), 6)))
    store.replace(NODES, [at_version(node("a"), 7)], "20")

    assert versions(store) == {"a": "7"}


def test_a_list_that_failed_leaves_no_doubt_about_the_next() -> None:
    store = Store()
    store.begin(NODES)
    store.fold("Node", body_of(at_version(node("a"), 30)))
    store.begin(NODES)
    store.replace(NODES, [], "20")

    assert versions(store) == {}


def test_what_is_broken_in_a_list_is_broken() -> None:
    store = Store()
    store.put(MACHINES, at_version(machine("m"), 50))
    store.put(MACHINES, at_version(machine("same"), 5))
    store.begin(MACHINES)
    store.replace(MACHINES, [], "20", [broken(machine("m"), 10), broken(machine("same"), 5)])

    assert dict(store.broken(MACHINES)) == {("", "m"): "odd"}
    assert [held.name for held in store.sorted(MACHINES)] == ["m", "same"]
