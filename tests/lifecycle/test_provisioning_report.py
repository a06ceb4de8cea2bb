"""What is said of a plan: where pods go, why they go nowhere, and how often."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import machine, node
from tests.engine.pieces import instance_type, view_of
from tests.lifecycle.driver import World
from tests.lifecycle.pending import homeless, planned, provisioner, the_one, waiting, wanting
from tests.lifecycle.rows import PROVISIONING
from unmoor.engine import solving
from unmoor.engine.plan import Plan
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.scene import Scene
from unmoor.engine.scenery import scene_of
from unmoor.lifecycle import provisioning_report as report
from unmoor.lifecycle.provisioning_report import Result
from unmoor.model import names
from unmoor.model.base import Key
from unmoor.policy.provisionable import Wanting
from unmoor.policy.verdict import Reason, Verdict


def said(world: World, reason: Reason) -> list[Verdict]:
    """What the next look at pods says for a reason."""
    world.memories.clear()
    world.step(PROVISIONING, "all")
    world.wait(1)
    steps = [world.step(PROVISIONING, "all") for _ in range(2)]  # the first may ask what is sold
    return [one for step in steps for one in step.verdicts if one.reason is reason]


def test_a_pod_is_told_where_it_goes() -> None:
    world = planned(waiting())
    [event] = world.events("Nominated")

    assert (event.regarding.name, event.is_warning) == ("web-1", False)
    assert event.message == f"it is to run on machine {the_one(world).name}, which is coming up"


def test_once_as_long_as_it_is_the_same_place() -> None:
    world = planned(node(), machine(), waiting())
    world.run(PROVISIONING, for_s=300, tick_s=10)
    assert [event.message for event in world.events("Nominated")] == ["it is to run on node a"]
    world.drop(world.view.node("a"))
    world.drop(world.view.machine("m-a"))
    world.run(PROVISIONING, for_s=15)

    assert len(world.events("Nominated")) == 2


def test_ten_pods_are_told_at_once_and_five_more_each_second() -> None:
    pods = [waiting(f"web-{number:02}", cpu="10m") for number in range(40)]
    there = node(allocatable={"cpu": "8", "pods": "100"})
    world = planned(there, machine(), *pods)
    assert len(world.events("Nominated")) == 10
    world.wait(10)
    world.settle(PROVISIONING)

    assert len(world.events("Nominated")) == 20
    assert len({event.regarding.name for event in world.events("Nominated")}) == 20


def test_a_pod_without_a_place_is_told_why_every_five_minutes() -> None:
    world = planned(waiting(cpu="100"))
    [event] = world.events("FailedScheduling")
    assert event.is_warning
    assert event.message.startswith("there is no place for pod shop/web-1, nor can one be made: ")
    world.run(PROVISIONING, for_s=285, tick_s=5)
    assert len(homeless(world)) == 1
    world.run(PROVISIONING, for_s=20, tick_s=5)

    assert len(homeless(world)) == 2


def test_a_hundred_are_told_in_one_look_the_others_in_the_next() -> None:
    world = planned(*(waiting(f"web-{number}", cpu="100") for number in range(130)))
    assert len(homeless(world)) == 100
    world.run(PROVISIONING, for_s=20, tick_s=10)

    assert len(homeless(world)) == 130
    assert len(set(homeless(world))) == 130


class OnlyOne(dict[Key, tuple[Refusal, ...]]):
    """Reasons of which only the first that is asked for is worked out."""

    def get(self, key: Key, default: Any = None) -> Any:
        is_first = not any(self.values())
        self[key] = self[key] or ((Refusal(Constraint.RESOURCES, "cpu", "4 short"),) * is_first)
        return self[key] or default


def test_where_each_look_finds_another_plan_everybody_is_told_why_all_the_same() -> None:
    hopeless = tuple(waiting(f"web-{number}", cpu="100") for number in range(4))
    world, wanted = wanting(*hopeless), Wanting(pending=hopeless)
    told, heard = report.Told(), []
    for _ in hopeless:
        refused = OnlyOne.fromkeys((pod.key for pod in hopeless), ())
        anew = Result(scene=Scene(view=world.view), plan=Plan(refused=refused))
        said, told = report.events(world.view, wanted, anew, told, world.moment)
        heard += [event.regarding.name for event in said]
        world.wait(10)

    assert heard == [pod.name for pod in hopeless]


def test_who_cannot_be_told_why_now_is_told_in_a_later_look() -> None:
    one, other = waiting("one", cpu="100"), waiting("other", cpu="200")
    world, wanted = wanting(one, other), Wanting(pending=(one, other))
    known = Refusal(Constraint.RESOURCES, "cpu", "4 short")
    scene, told = Scene(view=world.view), report.Told()
    first = Result(scene=scene, plan=Plan(refused={one.key: (), other.key: (known,)}))
    later = Result(scene=scene, plan=Plan(refused={one.key: (known,), other.key: ()}))

    at_first, told = report.events(world.view, wanted, first, told, world.moment)
    then, told = report.events(world.view, wanted, later, told, world.moment)

    assert [event.regarding.name for event in (*at_first, *then)] == ["other", "one"]
    assert {verdict.message for verdict in report.verdicts(wanted, first)} == {
        "there is no place for pod shop/one, nor can one be made; a later look says why",
        "there is no place for pod shop/other, nor can one be made: resources: cpu: 4 short",
    }


def test_a_pod_of_a_node_that_goes_is_told_nothing() -> None:
    leaving = waiting("old", on="a", cpu="100")
    world = planned(node(deleted_at=node().metadata.creation_timestamp), machine(), leaving)
    [verdict] = said(world, Reason.UNPLACEABLE)

    assert world.events() == []
    assert (verdict.subject.name, verdict.is_warning) == ("old", False)


def test_how_much_is_made_is_said() -> None:
    world = wanting(waiting("web-1"), waiting("web-2"))
    world.run(PROVISIONING, for_s=0.9, tick_s=0.9)
    [verdict] = said(world, Reason.PLANNED)

    assert verdict.message == "2 pods without a place: provisioner default makes 1 machine"
    assert verdict.evidence == {"pods": 2, "machines": 1}
    assert not verdict.is_refusal


def test_pods_that_still_run_are_not_said_to_wait() -> None:
    leaving = waiting("old", on="a")
    world = wanting(node(deleted_at=node().metadata.creation_timestamp), machine(), leaving)
    world.run(PROVISIONING, for_s=0.9, tick_s=0.9)
    [verdict] = said(world, Reason.PLANNED)

    assert verdict.message == (
        "1 pod without a place, 1 of them still to be evicted: provisioner default makes 1 machine"
    )


def test_a_limit_that_is_exceeded_is_said_of_each_pod() -> None:
    full = provisioner(limits={"resources": {"cpu": "2"}}, used={"cpu": "3"})
    pods = [waiting(f"web-{number}", cpu="100m") for number in range(3)]
    world = planned(*pods, full)
    found, [skipped] = said(world, Reason.UNPLACEABLE), said(world, Reason.PROVISIONER_SKIPPED)
    words = "provisioner default may have 2 (spec.limits.resources), 3 already in use"

    assert [one.subject.name for one in found] == ["web-0", "web-1", "web-2"]
    assert words in found[0].message
    assert (skipped.subject.name, words in skipped.message) == ("default", True)


def preference() -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    terms = [{"weight": 1, "podAffinityTerm": term}]
    return {
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    }


def test_a_preference_that_may_hinder_is_said_for_everybody_to_read() -> None:
    [verdict] = said(planned(waiting(spec=preference())), Reason.MAY_HINDER)

    assert not verdict.is_refusal
    assert verdict.event == ""
    assert "pod shop/web-1 prefers to be apart" in verdict.message


def test_what_was_given_up_is_said() -> None:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["nowhere"]}
    wish = [{"weight": 1, "preference": {"matchExpressions": [zone]}}]
    spec = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wish}}}
    [verdict] = said(planned(waiting(spec=spec)), Reason.PREFERENCE_GIVEN_UP)

    assert verdict.is_refusal
    assert "pod shop/web-1 is placed without what it would prefer" in verdict.message


def test_every_provisioner_says_why_not_and_of_many_the_rest_are_counted() -> None:
    own = [{"key": "own", "effect": "NoSchedule"}]
    tainted = [provisioner(f"own-{number}", taints=own) for number in range(6)]
    world = planned(waiting(cpu="1000"), *tainted, provisioner("general"))

    (event,) = world.events("FailedScheduling")
    assert event.message.count("no type has room") == 1
    assert "(at general, own-0, own-1, own-2); taint: own" in event.message
    assert event.message.endswith(" (at own-0, own-1, own-2); and 3 more provisioners")


def test_of_several_that_are_not_in_order_one_says_what_is_wrong() -> None:
    broken = [provisioner(f"broken-{number}", weight=200) for number in range(5)]
    tainted = provisioner("general", taints=[{"key": "own", "effect": "NoSchedule"}])
    world = planned(waiting(), *broken, tainted)

    (event,) = world.events("FailedScheduling")
    assert event.message.endswith(
        "(at general); provisioner/broken-0: spec.weight is '200': it is above 100; use 1 to 100; "
        "not in order either, as kubectl describe provisioner says: "
        "broken-1, broken-2, broken-3 and 1 more"
    )


def test_who_is_out_of_stock_is_not_among_those_that_are_not_in_order() -> None:
    typo = [{"key": names.ZONE, "operator": "In", "values": ["nowhere"]}]
    bad = [provisioner(name, requirements=typo) for name in ("a-bad", "b-bad")]
    sold_out = instance_type("m.large", is_available=False)
    on, pod = scene_of(view_of(*bad, provisioner("sound")), (sold_out,)), waiting()
    result = Result(scene=on, plan=solving.solve(on, [pod]))
    [words] = [
        one.message
        for one in report.verdicts(Wanting(pending=(pod,)), result)
        if one.reason is Reason.UNPLACEABLE
    ]

    assert ": provisioner/sound: spec.requirements: m.large would suit, none is to be had" in words
    assert words.index("provisioner/sound") < words.index("provisioner/a-bad")
    assert words.endswith("says: b-bad")


def test_of_two_values_that_nobody_sells_a_pod_hears_of_one() -> None:
    keys = {names.ZONE: "nowhere", names.ARCH: "mips"}
    typos = [{"key": key, "operator": "In", "values": [value]} for key, value in keys.items()]
    world = planned(waiting(), provisioner("unsold", requirements=typos))

    (event,) = world.events("FailedScheduling")
    assert "In [mips]; there is " in event.message
    assert event.message.endswith("; and 1 more")


def told(*looks: tuple[float, Refusal]) -> list[str]:
    """What a pod hears that is refused for these reasons, each at its second."""
    pod = waiting("web", cpu="100")
    world, wanted, known = wanting(pod), Wanting(pending=(pod,)), report.Told()
    heard, at = [], 0.0
    for when, why in looks:
        world.wait(when - at)
        at = when
        result = Result(scene=Scene(view=world.view), plan=Plan(refused={pod.key: (why,)}))
        events, known = report.events(world.view, wanted, result, known, world.moment)
        heard += [event.message.rpartition(": ")[2] for event in events]
    return heard


TAINTED = Refusal(Constraint.TAINT, "own", "no toleration")
SHORT, SHORTER = (Refusal(Constraint.RESOURCES, "cpu", f"{n} short") for n in (4, 31))


@pytest.mark.parametrize(
    ("looks", "heard"),
    [
        pytest.param([(0, SHORT), (10, SHORT)], ["4 short"], id="the same"),
        pytest.param([(0, SHORT), (10, SHORTER)], ["4 short"], id="only the figure is another"),
        pytest.param([(0, SHORT), (10, TAINTED)], ["4 short", "no toleration"], id="another"),
        pytest.param(
            [(0, SHORT), (10, TAINTED), (20, SHORTER)],
            ["4 short", "no toleration", "31 short"],
            id="the first again",
        ),
        pytest.param(
            [(at * 10, (SHORT, TAINTED)[at % 2]) for at in range(30)],
            ["4 short", "no toleration", "4 short"],
            id="to and fro",
        ),
        pytest.param([(0, SHORT), (301, SHORTER)], ["4 short", "31 short"], id="later"),
    ],
)
def test_another_reason_replaces_the_one_that_was_told(
    looks: list[tuple[float, Refusal]], heard: list[str]
) -> None:
    assert told(*looks) == heard
