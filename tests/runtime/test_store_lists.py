"""What a list says, and what we learned ourselves while it was on its way."""

from __future__ import annotations

from tests.builders import machine, node
from tests.runtime.states import at_version, body_of, broken, take
from unmoor.model.kinds import MACHINES, NODES
from unmoor.model.node import Node
from unmoor.runtime.store import TURN, Store


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
    take(store, NODES, back, "20")

    assert versions(store) == {"changed": "10", "remade": "11", "deleted": "12", "forgotten": "13"}
    store.put(NODES, at_version(node("deleted"), 21, uid="deleted-old", labels={"a": "b"}))
    assert versions(store)["deleted"] == "21"


def test_a_version_that_a_restored_server_has_given_twice_means_what_it_says_now() -> None:
    store = Store()
    store.put(NODES, at_version(node("a", labels={"word": "before"}), 30))
    store.put(NODES, at_version(node("b"), 30))
    told: list[str] = []
    store.subscribe(lambda _kind, _old, new: told.append(new.name if new else ""))

    store.begin(NODES)
    take(store, NODES, [at_version(node("a"), 30), at_version(node("b"), 30)], "40")

    assert store.get(NODES, "a") == at_version(node("a"), 30)
    assert told == ["a"]


def test_what_we_wrote_while_a_list_was_under_way_stays() -> None:
    store = Store()
    for name in ("patched", "ended", "theirs"):
        store.put(NODES, at_version(node(name), 5))
    listed = [at_version(node(name), 5) for name in ("patched", "ended", "theirs")]

    store.begin(NODES)
    store.fold("Node", body_of(at_version(node("patched"), 30)))
    store.fold("Node", body_of(at_version(node("made"), 31)))
    store.forget("Node", ("", "ended"), "uid-node-ended")
    take(store, NODES, listed, "20")

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
    take(store, NODES, [at_version(node(name), 20) for name in names], "21")

    assert versions(store) == {"read": "20", "back": "20", "written": "23"}


def test_what_we_read_while_a_list_was_under_way_may_be_older_than_the_list() -> None:
    store = Store()
    store.begin(NODES)
    store.fold("Node", body_of(at_version(node("a"), 5)))
    store.fold("Node", body_of(at_version(node("gone"), 6)))
    take(store, NODES, [at_version(node("a"), 7)], "20")

    assert versions(store) == {"a": "7"}


def test_a_list_that_failed_leaves_no_doubt_about_the_next() -> None:
    store = Store()
    store.begin(NODES)
    store.fold("Node", body_of(at_version(node("a"), 30)))
    store.begin(NODES)
    take(store, NODES, [], "20")

    assert versions(store) == {}


def test_what_is_broken_in_a_list_is_broken() -> None:
    store = Store()
    store.put(MACHINES, at_version(machine("m"), 50))
    store.put(MACHINES, at_version(machine("same"), 5))
    store.begin(MACHINES)
    take(store, MACHINES, [], "20", [broken(machine("m"), 10), broken(machine("same"), 5)])

    assert dict(store.broken(MACHINES)) == {("", "m"): "odd"}
    assert [held.name for held in store.sorted(MACHINES)] == ["m", "same"]


# ------------------------------------------------------------------------------------ long lists

MANY = 2 * TURN + 10


def many(version: int) -> list[Node]:
    return [at_version(node(f"n{number:04}"), version) for number in range(MANY)]


def test_a_long_list_is_taken_in_turns() -> None:
    store = Store()
    sizes = [len(store.all(NODES)) for _ in store.replacing(NODES, many(5), "20")]

    assert sizes == [TURN, 2 * TURN]
    assert len(store.all(NODES)) == MANY


def test_what_a_long_list_does_not_have_goes_in_turns() -> None:
    store = Store()
    take(store, NODES, many(5), "20")
    left = [len(store.all(NODES)) for _ in store.replacing(NODES, [], "30")]

    assert left == [MANY - TURN, MANY - 2 * TURN]
    assert len(store.all(NODES)) == 0


def test_what_we_write_between_two_turns_stays() -> None:
    store = Store()
    take(store, NODES, [*many(5), at_version(node("unlisted"), 5)], "20")
    store.begin(NODES)
    turns = store.replacing(NODES, many(6), "30")
    next(turns)
    for name in ("n0000", f"n{MANY - 1:04}", "unlisted", "made"):
        store.fold("Node", body_of(at_version(node(name), 40)))
    store.forget("Node", ("", "n0001"), "uid-node-n0001")
    store.forget("Node", ("", "n0400"), "uid-node-n0400")
    for _ in turns:
        pass

    held = versions(store)
    assert {name: version for name, version in held.items() if version != "6"} == {
        "n0000": "40",
        f"n{MANY - 1:04}": "40",
        "unlisted": "40",
        "made": "40",
    }
    assert "n0001" not in held
    assert "n0400" not in held
    assert len(held) == MANY


def test_an_answer_that_comes_late_does_not_undo_the_turn_before() -> None:
    """It is older than the list, which has had its say about this object."""
    store = Store()
    take(store, NODES, [*many(5), at_version(node("gone"), 5)], "20")
    store.begin(NODES)
    turns = store.replacing(NODES, many(25), "30")
    next(turns)
    store.fold("Node", body_of(at_version(node("n0000"), 21)))
    for _ in turns:
        pass
    assert versions(store)["n0000"] == "25"

    store.begin(NODES)
    turns = store.replacing(NODES, [], "40")
    next(turns)
    store.fold("Node", body_of(at_version(node("n0000"), 21)))
    for _ in turns:
        pass
    assert versions(store) == {}


def test_what_is_deleted_while_others_go_is_no_trouble() -> None:
    store = Store()
    take(store, NODES, many(5), "20")
    turns = store.replacing(NODES, [], "30")
    next(turns)
    for held in store.sorted(NODES):
        store.forget("Node", held.key, held.uid)
    for _ in turns:
        pass

    assert len(store.all(NODES)) == 0
