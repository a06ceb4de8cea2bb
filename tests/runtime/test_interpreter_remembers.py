"""What the view keeps for a while: what is on sale or sold out, and which pods are to go where."""

from __future__ import annotations

from tests.runtime.bench import REQUEST, Bench, ScriptedCloud
from unmoor.lifecycle.effects import Avoid, Launch, Nominate, Observe
from unmoor.model.instance import OfferingName
from unmoor.model.kinds import PROVISIONERS
from unmoor.model.observation import Asked, ProblemKind
from unmoor.runtime.ports import CloudError


def test_what_is_on_sale_is_asked_of_the_cloud() -> None:
    bench = Bench(ScriptedCloud())
    effect = Observe(asked=Asked.INSTANCE_TYPES, subject="sim")

    assert bench.problem(effect) is None
    answer = bench.store.answer(Asked.INSTANCE_TYPES, "sim")
    assert answer is not None
    assert answer.result == ()


def test_what_a_launch_found_sold_out_is_in_the_view() -> None:
    cloud = ScriptedCloud()
    gone = OfferingName("m5.large", "z1", "spot")
    cloud.error = CloudError("insufficient-capacity", "none", sold_out=(gone,))
    bench = Bench(cloud)

    assert bench.problem(Launch(machine=bench.node, request=REQUEST))
    assert bench.store.answer(Asked.STOCK_OUT, "m5.large z1 on-demand") is None
    answer = bench.store.answer(Asked.STOCK_OUT, "m5.large z1 spot")
    assert answer is not None
    assert answer.result == 1


def test_whether_there_was_capacity_is_remembered_about_the_owner() -> None:
    cloud = ScriptedCloud()
    bench = Bench(cloud)
    owner = PROVISIONERS.ref("default", uid="u1")
    launch = Launch(machine=bench.node, request=REQUEST, owner=owner)
    said: list[object] = []
    for error in (
        None,
        CloudError("insufficient-capacity", "none"),
        CloudError("failed", "not today"),
        None,
    ):
        cloud.error = error
        bench.problem(launch)
        answer = bench.store.answer(Asked.CAPACITY, "u1")
        problem = answer.problem if answer is not None else None
        said.append(problem.kind if problem is not None else answer and answer.result)

    none = ProblemKind.INSUFFICIENT_CAPACITY
    assert said == [None, none, none, True]


def test_nobody_outside_hears_of_a_nomination() -> None:
    bench = Bench()
    calls = list(bench.api.calls)

    assert bench.problem(Nominate(places={"node/a": (("shop", "web-1"),)})) is None
    assert bench.api.calls == calls
    answer = bench.store.answer(Asked.NOMINATION, "node/a")
    assert answer is not None
    assert answer.result == (("shop", "web-1"),)


def test_what_did_not_come_up_is_kept_for_who_plans() -> None:
    bench = Bench()
    calls = list(bench.api.calls)

    assert bench.problem(Avoid(subject="default m5.large z1 spot", times=2)) is None
    assert bench.api.calls == calls
    answer = bench.store.answer(Asked.NO_SHOW, "default m5.large z1 spot")
    assert answer is not None
    assert answer.result == 2
