"""Pods that wait get machines: together, once, and no more than are needed."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import machine, node
from tests.engine.scenes import instance_type
from tests.lifecycle.pending import (
    APART,
    SINGLE,
    asked,
    homeless,
    launched,
    made,
    planned,
    provisioner,
    the_one,
    waiting,
    wanting,
)
from tests.lifecycle.rows import MACHINE, PROVISIONING
from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.scene import Scene
from unmoor.lifecycle.effects import Create, Nominate, Observe
from unmoor.lifecycle.provisioning import CREATED_MAX, Order
from unmoor.model import names
from unmoor.model.instance import OfferingName
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.model.requirement import Requirements
from unmoor.model.settings import Settings
from unmoor.model.snapshot import Identity, View
from unmoor.policy.provisionable import Wanting
from unmoor.policy.verdict import Reason

# ----------------------------------------------------------------------------------------- batches


def test_t210_a_pending_pod_gets_a_machine() -> None:
    world = planned(waiting())

    assert len(made(world)) == 1
    assert world.counted("machines_created") == 1
    assert [fact.labels for fact in world.facts if fact.name == "machines_created"] == [
        {"reason": "provisioning", "provisioner": "default"}
    ]


def test_what_comes_within_a_second_of_each_other_is_planned_together() -> None:
    world = wanting(waiting("web-0"))
    for number in range(1, 4):
        world.settle(PROVISIONING)
        world.wait(0.9)
        world.put(waiting(f"web-{number}"))
    assert world.done(Create) == []
    world.settle(PROVISIONING)
    world.wait(1)
    world.settle(PROVISIONING)

    assert len(made(world)) == 1
    assert the_one(world).spec.resources.requests == {"cpu": "4", "pods": "4"}


def test_a_batch_does_not_wait_for_ever() -> None:
    settings = Settings(batch_max_duration_s=3, batch_idle_duration_s=1)
    world = wanting(waiting("web-0"), settings=settings)
    for number in range(1, 7):
        world.settle(PROVISIONING)
        assert world.done(Create) == []
        world.wait(0.5)
        world.put(waiting(f"web-{number}"))
    world.settle(PROVISIONING)

    assert len(world.done(Create)) > 0


def test_it_is_looked_at_again_when_the_batch_ends() -> None:
    world = wanting(waiting())
    step = world.step(PROVISIONING, "all")

    assert step.effects == ()
    assert step.wake_at == world.moment.after(1)


def test_nothing_waits_nothing_is_done() -> None:
    world = wanting(node(), waiting(on="a"))
    step = world.step(PROVISIONING, "all")

    assert (step.effects, step.wake_at, step.memory) == ((), None, None)


@pytest.mark.parametrize("identity", [Identity(cluster="harbour"), Identity(scheme="sim")])
def test_without_a_cloud_or_a_name_nothing_is_made(identity: Identity) -> None:
    world = planned(waiting(), identity=identity)

    assert world.effects == []


# ------------------------------------------------------------------------------------ what is sold


def test_the_cloud_is_asked_what_it_sells_once_in_a_while() -> None:
    world = planned(waiting("web-1", cpu="100"))
    world.run(PROVISIONING, for_s=280, tick_s=10)
    assert [one.asked for one in world.done(Observe)] == [Asked.INSTANCE_TYPES]
    world.run(PROVISIONING, for_s=30, tick_s=10)

    assert [one.subject for one in world.done(Observe)] == ["sim", "sim"]


def test_a_cloud_that_does_not_say_is_asked_again() -> None:
    world = wanting(waiting())
    world.fails = lambda effect: isinstance(effect, Observe)
    world.run(PROVISIONING, for_s=3)
    step = world.step(PROVISIONING, "all")
    assert [one.reason for one in step.verdicts] == [Reason.TYPES_UNKNOWN]
    assert "timeout" in step.verdicts[0].message
    assert [event.regarding.name for event in world.events()][:1] == ["web-1"]
    assert made(world) == []
    world.fails = lambda _: False
    world.run(PROVISIONING, for_s=15)

    assert len(made(world)) == 1


def test_what_is_sold_out_is_not_asked_for_again() -> None:
    """T126 and spec 8.3: the machine is given up, the next one is of another type."""
    world = planned(waiting(cpu="100m"), types=(SINGLE, instance_type("other", price=9.0)))
    first = the_one(world)
    assert asked(first)[names.INSTANCE_TYPE].values[0] == "single-pod-instance-type"
    gone = tuple(
        OfferingName("single-pod-instance-type", offering.zone, offering.capacity_type)
        for offering in SINGLE.offerings
    )
    none_left = Problem(ProblemKind.INSUFFICIENT_CAPACITY, "none left", sold_out=gone)
    world.launch_problems = [none_left]
    world.run(MACHINE, PROVISIONING, for_s=15)
    [second] = made(world)

    assert second.uid != first.uid
    assert asked(second)[names.INSTANCE_TYPE].values == ("other",)


# ------------------------------------------------------------------------------ once, and no more


def test_what_is_coming_up_is_not_bought_again() -> None:
    """T316: while it is not launched, while it has no node, and after a restart."""
    world = planned(waiting("web-1"), waiting("web-2"))
    world.run(PROVISIONING, for_s=30, tick_s=5)
    world.restart()
    world.run(PROVISIONING, for_s=5)
    launched(world)
    world.run(PROVISIONING, for_s=30, tick_s=5)
    world.restart()
    world.run(PROVISIONING, for_s=5)

    assert len(world.done(Create)) == 1
    assert len(made(world)) == 1


def test_a_creation_whose_answer_is_lost_is_found() -> None:
    world = wanting(waiting())
    world.forgets = lambda effect: isinstance(effect, Create)
    world.run(PROVISIONING, for_s=1)
    world.restart()
    world.forgets = lambda _: False
    world.run(PROVISIONING, for_s=15)

    assert len(made(world)) == 1


def test_the_same_pods_give_the_same_name_whoever_plans() -> None:
    one, other = planned(waiting("web-1"), waiting("web-2")), planned(waiting("web-1"))

    assert [one.name for one in made(one)] == [one.name for one in made(other)]
    assert made(one)[0].name.startswith("default-")


def test_a_pod_whose_machine_has_no_room_for_it_gets_another() -> None:
    world = planned(waiting("web-1", cpu="3"))
    first = the_one(world)
    launched(world)
    world.put(node("i-0", provider_id="sim:///i-0", allocatable={"cpu": "1", "pods": "5"}))
    world.run(PROVISIONING, for_s=15)

    assert [one.name for one in made(world)] == [first.name, f"{first.name}-2"]


def test_a_pod_with_room_on_a_node_needs_no_machine() -> None:
    world = planned(node(), machine(), waiting())

    assert made(world) == [machine()]
    assert [one.places for one in world.done(Nominate)] == [{"node/a": (("shop", "web-1"),)}]


def test_t216_pods_of_a_node_that_goes_and_pods_that_wait_share_one_machine() -> None:
    leaving = node("a", deleted_at=builders.NOW)
    there = [waiting(f"old-{number}", on="a", cpu="500m") for number in range(3)]
    world = planned(
        leaving, machine(), *there, waiting("web-1", cpu="500m"), waiting("web-2", cpu="500m")
    )
    [_, new] = sorted(made(world), key=lambda one: one.name != "m-a")

    assert new.spec.resources.requests == {"cpu": "2500m", "pods": "5"}
    [order] = world.done(Create)
    listed = "shop/old-0, shop/old-1, shop/old-2 and 2 more"
    assert order.why.startswith(f"for 5 pods ({listed}), 3 of them still to be evicted: ")


def test_for_pods_without_an_owner_nobody_makes_another() -> None:
    naked = waiting("old", on="a", owners=[])
    world = planned(node(deleted_at=builders.NOW), machine(), naked)

    assert world.done(Create) == []


def test_t215_one_pod_for_each_node() -> None:
    world = planned(*(waiting(f"web-{number}") for number in range(3)), types=(SINGLE,))

    assert len(made(world)) == 3


# ------------------------------------------------------------------------------------ provisioners


def test_t211_a_provisioner_without_types_hinders_no_other() -> None:
    barren = provisioner(
        "barren",
        weight=100,
        requirements=[{"key": names.INSTANCE_TYPE, "operator": "In", "values": ["none"]}],
    )
    world = wanting(waiting(), barren, provisioner())
    world.run(PROVISIONING, for_s=0.9, tick_s=0.9)
    world.wait(0.2)
    world.step(PROVISIONING, "all")
    step = world.step(PROVISIONING, "all")
    skipped = [one for one in step.verdicts if one.reason is Reason.PROVISIONER_SKIPPED]

    assert [one.subject.name for one in skipped] == ["barren"]
    assert the_one(world).provisioner_name == "default"


def test_t212_a_provisioner_that_is_being_deleted_gets_nothing() -> None:
    world = planned(waiting(), provisioner(deleted=True))

    assert made(world) == []
    assert homeless(world) == ["web-1"]


def test_t265_a_named_provisioner_is_the_one() -> None:
    named = waiting(spec={"nodeSelector": {names.PROVISIONER_NAME: "other"}})
    world = planned(named, provisioner(), provisioner("other"))

    assert the_one(world).provisioner_name == "other"


def test_t266_a_provisioner_is_chosen_by_its_labels() -> None:
    chosen = waiting(spec={"nodeSelector": {"team": "shop"}})
    world = planned(chosen, provisioner(), provisioner("other", labels={"team": "shop"}))

    assert the_one(world).provisioner_name == "other"


def test_t267_a_provisioner_with_a_rather_not_is_avoided() -> None:
    soft = {"key": "example.org/slow", "effect": "PreferNoSchedule"}
    world = planned(waiting(), provisioner("a", taints=[soft]), provisioner("b"))

    assert the_one(world).provisioner_name == "b"


def test_t268_the_heaviest_provisioner_is_always_taken() -> None:
    world = planned(waiting(), provisioner("a"), provisioner("b", weight=20), provisioner("c"))

    assert the_one(world).provisioner_name == "b"


def test_t269_a_named_provisioner_beats_a_heavy_one() -> None:
    named = waiting(spec={"nodeSelector": {names.PROVISIONER_NAME: "light"}})
    world = planned(named, provisioner("heavy", weight=100), provisioner("light"))

    assert the_one(world).provisioner_name == "light"


@pytest.mark.parametrize(
    ("selector", "is_placed"),
    [
        ({names.PROVISIONER_NAME: "default"}, True),
        ({names.PROVISIONER_NAME: "unknown"}, False),
        ({names.ZONE: "test-zone-1"}, True),
        ({names.ZONE: "unknown"}, False),
        ({names.INSTANCE_TYPE: "default-instance-type"}, True),
        ({names.INSTANCE_TYPE: "unknown"}, False),
        ({names.ARCH: "arm64"}, True),
        ({names.ARCH: "unknown"}, False),
        ({names.OS: "linux"}, True),
        ({names.OS: "unknown"}, False),
        ({"team": "unknown"}, False),
    ],
)
def test_t213_selectors(selector: dict[str, str], *, is_placed: bool) -> None:
    world = planned(waiting(spec={"nodeSelector": selector}))

    assert len(made(world)) == is_placed
    assert homeless(world) == ([] if is_placed else ["web-1"])


@pytest.mark.parametrize("kind", ["vendor-a.com/gpu", "vendor-b.com/gpu"])
def test_t214_accelerators_as_limits(kind: str) -> None:
    limits = {"name": "main", "resources": {"limits": {kind: "1"}}}
    world = planned(waiting(spec={"containers": [limits]}))

    assert asked(the_one(world))[names.INSTANCE_TYPE].values == (f"gpu-{kind[:8]}",)


# ---------------------------------------------------------------------------------------- limits


def limited(**amounts: str) -> dict[str, dict[str, str]]:
    return {"resources": amounts}


def test_t217_more_is_used_than_the_limit_allows() -> None:
    world = planned(waiting(), provisioner(limits=limited(cpu="20"), used={"cpu": "100"}))

    assert made(world) == []
    [event] = world.events("FailedScheduling")
    assert "may have 20 (spec.limits.resources), 100 already in use" in event.message


@pytest.mark.parametrize(
    ("cpu", "is_placed"),
    [
        ("1.75", True),  # T218
        ("2.1", False),  # T220
    ],
)
def test_a_limit_of_two_cores(cpu: str, *, is_placed: bool) -> None:
    world = planned(waiting(cpu=cpu), provisioner(limits=limited(cpu="2")))

    assert len(made(world)) == is_placed
    assert homeless(world) == ([] if is_placed else ["web-1"])


def test_t219_of_two_machines_the_limit_allows_one() -> None:
    pods = [waiting(f"web-{number}", cpu="1.5", spec={"affinity": APART}) for number in range(2)]
    world = planned(*pods, provisioner(limits=limited(cpu="3")))

    assert len(made(world)) == 1
    assert homeless(world) == ["web-1"]


def test_t221_a_limit_on_pods() -> None:
    gpu = {"name": "main", "resources": {"limits": {"vendor-a.com/gpu": "1"}}}
    world = planned(waiting(spec={"containers": [gpu]}), provisioner(limits=limited(pods="1")))

    assert made(world) == []


def test_t222_what_was_made_counts_against_the_limit() -> None:
    world = planned(waiting(cpu="1.75"), provisioner(limits=limited(cpu="2")))
    world.put(waiting("web-2", cpu="1.75"))
    world.run(PROVISIONING, for_s=15)
    launched(world)
    world.run(PROVISIONING, for_s=15)

    assert len(world.done(Create)) == 1
    assert set(homeless(world)) == {"web-2"}


# ---------------------------------------------------------------------------------------- in bulk


def test_what_is_too_much_for_one_step_is_made_in_the_next() -> None:
    pods = tuple(waiting(f"web-{number}") for number in range(CREATED_MAX + 2))
    machines = tuple(
        NewMachine(
            name=f"machine-{number}",
            provisioner="default",
            requirements=Requirements({}),
            instance_types=("small-instance-type",),
            requests={},
            pods=(pod.key,),
        )
        for number, pod in enumerate(pods)
    )
    view = View.of(provisioner(), identity=builders.IDENTITY)
    plan = Plan(machines=machines, placements={one.pods[0]: one.name for one in machines})
    order = Order(view, Scene(view=view), plan, Wanting(pending=pods))

    assert order.is_cut
    assert len(order.creates) == CREATED_MAX
    assert len(order.result().places) == CREATED_MAX
    assert len({effect.ref.name for effect in order.creates}) == CREATED_MAX
