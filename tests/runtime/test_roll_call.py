"""The question who is on a node, against the answers of a server."""

from __future__ import annotations

from tests.runtime.bench import Bench
from tests.runtime.scripted import Slow, refused
from unmoor.lifecycle.effects import Observe
from unmoor.model.kinds import NODES
from unmoor.model.observation import Asked, ProblemKind


def whom() -> Observe:
    return Observe(asked=Asked.PODS, subject="a")


def test_who_is_on_a_node_is_in_the_view_with_the_time_of_asking() -> None:
    bench = Bench()
    gone = bench.see("Pod", "gone", "shop", spec={"nodeName": "a"})
    elsewhere = bench.see("Pod", "elsewhere", "shop", spec={"nodeName": "b"})
    bench.api.remove("Pod", "gone", "shop")
    bench.api.put("Pod", "hidden", "shop", spec={"nodeName": "a"})
    bench.api.plan("list", Slow(5.0))
    assert bench.problem(whom()) is None
    answer = bench.store.answer(Asked.PODS, "a")

    assert [one.name for one in bench.store.pods_on("a")] == ["hidden"]
    assert bench.held(gone) is None
    assert bench.held(elsewhere) is not None
    assert answer is not None
    assert (answer.result, answer.at.mono, answer.problem) == (0.0, 5.0, None)


def test_who_is_there_and_cannot_be_read_is_there() -> None:
    """Not even where it is can be read; but the server has been asked for this node."""
    bench = Bench()
    bench.api.put("Pod", "odd", "shop", spec={"nodeName": "a"})
    bench.api.unreadable.add(("Pod", ("shop", "odd")))

    assert bench.problem(whom()) is None
    assert bench.store.unreadable_pods_on("a") == ((("shop", "odd"), "odd"),)


def test_a_roll_call_without_an_answer_changes_nothing() -> None:
    bench = Bench()
    there = bench.see("Pod", "there", "shop", spec={"nodeName": "a"})
    bench.api.remove("Pod", "there", "shop")
    bench.api.plan("list", refused(500, "InternalError"))
    assert bench.problem(whom()) is ProblemKind.FAILED
    answer = bench.store.answer(Asked.PODS, "a")

    assert bench.held(there) is not None
    assert answer is not None
    assert answer.result is None
    assert answer.problem is not None


def which() -> Observe:
    return Observe(asked=Asked.NODES, subject="all")


def test_which_nodes_there_are_is_in_the_view_with_the_time_of_asking() -> None:
    bench = Bench()
    gone = bench.see("Node", "gone")
    bench.api.remove("Node", "gone")
    bench.api.put("Node", "hidden")
    bench.api.put("Node", "odd")
    bench.api.unreadable.add(("Node", ("", "odd")))
    bench.api.plan("list", Slow(5.0))
    assert bench.problem(which()) is None
    answer = bench.store.answer(Asked.NODES, "all")

    assert bench.store.node("hidden") is not None
    assert bench.store.broken(NODES) == {("", "odd"): "odd"}
    assert bench.held(gone) is not None  # the watch will say so
    assert answer is not None
    assert (answer.result, answer.at.mono, answer.problem) == (0.0, 5.0, None)


def test_which_nodes_there_are_may_be_left_open() -> None:
    bench = Bench()
    bench.api.plan("list", refused(500, "InternalError"))
    assert bench.problem(which()) is ProblemKind.FAILED
    answer = bench.store.answer(Asked.NODES, "all")

    assert answer is not None
    assert answer.result is None
    assert answer.problem is not None
