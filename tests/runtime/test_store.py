"""The live view: whatever comes twice, late or out of order, it is what the server last said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.builders import machine, moment, node, pod
from tests.runtime.states import at_version, body_of, broken, take
from unmoor.model.base import JSON, Object
from unmoor.model.kinds import KIND_OF, KINDS, MACHINES, NODES, PODS, ref_of
from unmoor.model.observation import Answer, Asked
from unmoor.model.settings import Settings
from unmoor.runtime import store as store_module
from unmoor.runtime.store import Store


class Listening:
    """Hears what a store tells: kind, and the versions before and after."""

    def __init__(self, store: Store) -> None:
        self.heard: list[tuple[str, str, str]] = []
        store.subscribe(self)

    def __call__(self, kind: str, old: Any | None, new: Any | None) -> None:
        before, after = (
            "-" if obj is None else obj.metadata.resource_version for obj in (old, new)
        )
        self.heard.append((kind, before, after))


A = node("a")
POD = pod("web-1", on="a")


# ------------------------------------------------------------------------------------- one object


def test_changes_are_told_once_and_in_order() -> None:
    store = Store()
    listening = Listening(store)
    store.put(NODES, at_version(A, 5))
    store.put(NODES, at_version(A, 5))
    store.put(NODES, at_version(A, 7))
    store.drop(NODES, at_version(A, 9))

    assert listening.heard == [("Node", "-", "5"), ("Node", "5", "7"), ("Node", "7", "-")]
    assert store.node("a") is None


@pytest.mark.parametrize("late", [3, 5])
def test_a_late_event_does_not_undo_our_own_write(late: int) -> None:
    store = Store()
    store.put(NODES, at_version(A, 3))
    store.fold("Node", body_of(at_version(A, 5, labels={"ours": "yes"})))
    store.put(NODES, at_version(A, late))

    held = store.node("a")
    assert held is not None
    assert held.metadata.labels == {"ours": "yes"}


@pytest.mark.parametrize("late", [3, 9, 10])
def test_a_late_event_does_not_bring_back_what_is_gone(late: int) -> None:
    store = Store()
    store.put(NODES, at_version(A, 3))
    store.drop(NODES, at_version(A, 10))
    store.put(NODES, at_version(A, late))
    store.mark_broken(NODES, broken(A, late))

    assert store.node("a") is None
    assert store.broken(NODES) == {}


def test_what_left_a_selection_may_come_back() -> None:
    store = Store()
    store.drop(PODS, at_version(POD, 10))
    store.put(PODS, at_version(POD, 12))

    assert store.pods_on("a") == (at_version(POD, 12),)


def test_a_deletion_that_is_older_than_what_we_know_is_no_deletion() -> None:
    store = Store()
    store.put(PODS, at_version(POD, 12))
    store.drop(PODS, at_version(POD, 10))

    assert store.get(PODS, "web-1", "shop") is not None


def test_a_successor_of_the_same_name_ends_its_predecessor() -> None:
    store = Store()
    listening = Listening(store)
    store.put(PODS, at_version(POD, 5))
    store.put(PODS, at_version(POD, 8, uid="next"))
    store.put(PODS, at_version(POD, 6))
    store.drop(PODS, at_version(POD, 7))
    store.put(PODS, at_version(POD, 9))

    assert listening.heard == [("Pod", "-", "5"), ("Pod", "5", "-"), ("Pod", "-", "8")]
    assert store.find(PODS.ref("web-1", "shop", "next")) is not None
    assert store.find(ref_of(POD)) is None


def test_foreign_versions_are_taken_as_they_come() -> None:
    store = Store()
    for text in ("x1", "", "x0"):
        store.put(NODES, at_version(A, text))

    held = store.node("a")
    assert held is not None
    assert held.metadata.resource_version == "x0"


def test_tombstones_are_bounded() -> None:
    store = Store()
    for number in range(store_module.TOMBSTONES_KEPT + 5):
        store.drop(NODES, at_version(A, 10, uid=f"{number}"))

    assert len(store._gone) == store_module.TOMBSTONES_KEPT


# ------------------------------------------------------------------------------------------ lists


def test_a_list_removes_what_it_does_not_have() -> None:
    store = Store()
    store.put(NODES, at_version(node("a"), 5))
    store.put(NODES, at_version(node("b"), 6))
    listening = Listening(store)
    take(store, NODES, [at_version(node("b"), 7)], "9")

    assert listening.heard == [("Node", "6", "7"), ("Node", "5", "-")]
    assert [n.name for n in store.sorted(NODES)] == ["b"]


def test_a_list_does_not_undo_newer_writes_of_ours() -> None:
    store = Store()
    store.fold("Node", body_of(at_version(node("new"), 12)))
    store.fold("Node", body_of(at_version(node("a", is_cordoned=True), 12)))
    store.put(NODES, at_version(node("gone"), 4))
    store.forget("Node", ("", "gone"), "uid-node-gone")
    take(store, NODES, [at_version(node("a"), 5), at_version(node("gone"), 4)], "10")

    assert [n.name for n in store.sorted(NODES)] == ["a", "new"]
    held = store.node("a")
    assert held is not None
    assert held.is_cordoned


def test_a_list_in_which_nothing_changed_tells_nothing() -> None:
    store = Store()
    nodes = [at_version(node(name), 5) for name in "abc"]
    take(store, NODES, nodes, "9", [broken(node("d"), 5)])
    listening = Listening(store)
    version = store.version
    take(store, NODES, nodes, "20", [broken(node("d"), 5)])

    assert listening.heard == []
    assert store.version == version


# ---------------------------------------------------------------------------------- broken objects


def test_a_broken_object_keeps_its_last_state_until_it_can_be_read() -> None:
    store = Store()
    store.put(MACHINES, at_version(machine("m"), 5))
    listening = Listening(store)
    store.mark_broken(MACHINES, broken(machine("m"), 7))
    store.put(MACHINES, at_version(machine("m"), 6))
    is_broken_still = dict(store.broken(MACHINES))
    store.put(MACHINES, at_version(machine("m"), 8))

    assert is_broken_still == {("", "m"): "odd"}
    assert store.broken(MACHINES) == {}
    assert listening.heard == [("Machine", "5", "5"), ("Machine", "5", "6"), ("Machine", "6", "8")]


def test_an_old_complaint_about_a_mended_object_is_ignored() -> None:
    store = Store()
    store.put(MACHINES, at_version(machine("m"), 9))
    store.mark_broken(MACHINES, broken(machine("m"), 7))

    assert store.broken(MACHINES) == {}


def test_what_was_never_readable_wakes_nobody_but_is_known() -> None:
    store = Store()
    listening = Listening(store)
    store.mark_broken(MACHINES, broken(machine("m"), 7))

    assert listening.heard == []
    assert store.broken(MACHINES) == {("", "m"): "odd"}
    assert store.version == 1


def test_a_broken_successor_ends_its_predecessor() -> None:
    store = Store()
    store.put(PODS, at_version(POD, 5))
    store.mark_broken(PODS, broken(at_version(POD, 7, uid="next"), 7))

    assert store.get(PODS, "web-1", "shop") is None
    assert store.broken(PODS) == {("shop", "web-1"): "odd"}


def test_a_list_says_which_objects_are_broken_now() -> None:
    store = Store()
    for name in ("mended", "gone", "odd"):
        store.put(MACHINES, at_version(machine(name), 5))
        store.mark_broken(MACHINES, broken(machine(name), 6))
    store.mark_broken(MACHINES, broken(machine("unseen"), 6))
    take(
        store,
        MACHINES,
        [at_version(machine("mended"), 8)],
        "9",
        [broken(machine("odd"), 6, "still odd")],
    )

    assert store.broken(MACHINES) == {("", "odd"): "still odd"}
    assert [m.name for m in store.sorted(MACHINES)] == ["mended", "odd"]


def test_the_deletion_of_a_broken_object_ends_it() -> None:
    store = Store()
    store.put(MACHINES, at_version(machine("m"), 5))
    store.mark_broken(MACHINES, broken(machine("m"), 6))
    store.drop(MACHINES, at_version(machine("m"), 7))

    assert store.machine("m") is None
    assert store.broken(MACHINES) == {}


@pytest.mark.parametrize(
    ("version", "uid", "is_left"),
    [(7, "", False), (4, "", True), (7, "predecessor", True)],
    ids=["it", "an old word", "another of the name"],
)
def test_a_deletion_that_cannot_be_read(version: int, uid: str, *, is_left: bool) -> None:
    store = Store()
    store.put(MACHINES, at_version(machine("m"), 5))
    told = broken(at_version(machine("m"), version, **({"uid": uid} if uid else {})), version)
    store.mark_broken(MACHINES, msgspec.structs.replace(told, is_deleted=True))

    assert (store.machine("m") is not None) is is_left
    assert store.broken(MACHINES) == {}


# ------------------------------------------------------------------------------------ our own eyes


def test_an_answer_that_cannot_be_read_is_noted() -> None:
    store = Store()
    store.put(NODES, at_version(A, 5))
    body = body_of(at_version(A, 6))
    body["spec"]["unschedulable"] = "perhaps"
    store.fold("Node", body)
    store.fold("Node", {"metadata": 3})

    assert list(store.broken(NODES)) == [("", "a"), ("", "")]
    assert store.node("a") is not None


def test_nulls_in_an_answer_mean_nothing_there() -> None:
    body = body_of(at_version(A, 6))
    body["spec"]["taints"] = None
    store = Store()
    store.fold("Node", body)

    assert store.node("a") is not None


GONE = {"deletionTimestamp": "2024-05-01T12:00:00Z"}


@pytest.mark.parametrize(
    ("obj", "meta", "is_gone"),
    [
        (node("a"), {**GONE, "finalizers": []}, True),
        (node("a"), {**GONE, "finalizers": ["x"]}, False),
        (node("a"), {"finalizers": []}, False),
        (POD, {**GONE, "deletionGracePeriodSeconds": 30}, False),
        (POD, {**GONE, "deletionGracePeriodSeconds": 0}, True),
        (POD, {**GONE, "deletionGracePeriodSeconds": 0, "finalizers": ["x"]}, False),
    ],
)
def test_the_last_state_of_what_went_at_once_is_not_kept(
    obj: Object, meta: JSON, *, is_gone: bool
) -> None:
    store = Store()
    kind = KIND_OF[type(obj)]
    body = body_of(obj)
    body["metadata"] = {**body["metadata"], **meta, "resourceVersion": "9"}
    store.put(KINDS[kind], obj)
    store.fold(kind, body)

    assert (store.find(ref_of(obj)) is None) == is_gone
    if is_gone:
        store.put(KINDS[kind], at_version(obj, 8))
        assert store.find(ref_of(obj)) is None


@pytest.mark.parametrize(("uid", "is_gone"), [("uid-node-a", True), ("other", False), ("", False)])
def test_only_what_was_meant_is_forgotten(uid: str, *, is_gone: bool) -> None:
    store = Store()
    store.put(NODES, at_version(A, 5))
    store.forget("Node", ("", "a"), uid)
    store.put(NODES, at_version(A, 6))

    assert (store.node("a") is None) == is_gone


def test_answers_are_kept_within_bounds_and_may_be_lost() -> None:
    """One sort does not drive out another, as many evictions what did not come up."""
    store = Store()
    answer: Answer[bool] = Answer(moment(), result=True)
    store.record(Asked.NO_SHOW, "m5.large", answer)
    for number in range(store_module.ANSWERS_KEPT + 2):
        store.record(Asked.EVICTION, f"{number}", answer)
        store.record(Asked.EVICTION, "0", answer)

    assert store.answer(Asked.EVICTION, "0") == answer
    assert store.answer(Asked.EVICTION, "1") is None
    assert len(list(store.answers(Asked.EVICTION))) == store_module.ANSWERS_KEPT
    assert store.answer(Asked.NO_SHOW, "m5.large") == answer
    store.forget_answers()
    assert store.answer(Asked.EVICTION, "0") is None


# ---------------------------------------------------------------------------- versions and freezing


def test_each_change_is_another_version_and_no_news_is_none() -> None:
    store = Store()
    versions = [store.version]
    store.put(NODES, at_version(A, 5))
    versions.append(store.version)
    store.mark_broken(NODES, broken(node("b"), 7))
    versions.append(store.version)
    store.drop(NODES, at_version(A, 8))
    versions.append(store.version)
    store.configure(Settings(kept_disruptions=3))
    versions.append(store.version)
    store.put(NODES, at_version(A, 4))

    assert versions == sorted(set(versions))
    assert store.version == versions[-1]


def test_asking_a_view_writes_nothing_into_it() -> None:
    frozen = Store().freeze()

    assert frozen.answer(Asked.EVICTION, "0") is None
    assert not list(frozen.answers(Asked.NO_SHOW))

    assert not frozen._answers


def test_a_frozen_view_stays_as_it_is() -> None:
    store = Store()
    store.put(NODES, at_version(A, 5))
    store.put(PODS, at_version(POD, 5))
    frozen = store.freeze()
    version = store.version
    store.put(PODS, at_version(pod("web-2", on="a"), 6))
    store.drop(PODS, at_version(POD, 7))
    store.drop(NODES, at_version(A, 8))
    store.mark_broken(NODES, broken(node("b"), 9))
    store.record(Asked.EVICTION, "u", Answer(moment(), result=True))
    store.configure(Settings(kept_disruptions=3))

    assert frozen.node("a") is not None
    assert frozen.pods_on("a") == (at_version(POD, 5),)
    assert frozen.broken(NODES) == {}
    assert frozen.answer(Asked.EVICTION, "u") is None
    assert frozen.settings == Settings()
    assert frozen.version == version
