"""What termination and ``unmoor drain`` share, where the stories of termination do not go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests import builders
from tests.builders import at, budget, instance, machine, node, pod
from tests.lifecycle.driver import Row, World
from tests.lifecycle.rows import TERMINATION
from tests.lifecycle.worlds import deleted
from unmoor.lifecycle import detach, drain
from unmoor.lifecycle.effects import Evict, Patch, Terminate
from unmoor.model import names
from unmoor.model.base import Key, ObjectMeta
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import CLAIMS, Resource
from unmoor.model.scheduling import ClaimSource, ClaimSpec, Volume
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.model.storage import (
    PersistentVolumeClaim,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
    VolumeAttachmentStatus,
)
from unmoor.policy.drain import Deadline
from unmoor.policy.verdict import Method, Reason


def by_person(deadline: Deadline = Deadline()) -> Row:
    return Row("drain", drain.by_person(deadline), lambda _: ["a"])


def reasons(world: World, row: Row) -> set[Reason]:
    return {verdict.reason for verdict in world.step(row, "a").verdicts}


# ------------------------------------------------------------------------------------ by a person


def test_a_person_may_drain_any_node() -> None:
    """Nobody's node: cordoned and emptied, without a label, and nothing is ended or deleted."""
    row = by_person()
    world = World(node(is_ours=False, provider_id="aws:///z/i-1"), pod())
    world.run(row, for_s=40)
    drained = world.view.node("a")

    assert drained is not None
    assert drained.is_cordoned
    assert names.CORDONED not in drained.metadata.annotations  # it is the person's own (R27)
    assert names.EXCLUDE_FROM_LOAD_BALANCERS not in drained.metadata.labels
    assert world.names("Pod") == []
    assert {type(effect) for effect in world.effects} >= {Patch, Evict}
    assert world.done(Terminate) == []
    assert reasons(world, row) == {Reason.DRAINED}


def test_why_an_empty_node_is_not_drained_at_once_is_told() -> None:
    row = by_person()
    world = World(node(is_cordoned=True))
    (verdict,) = world.step(row, "a").verdicts
    assert verdict.reason is Reason.YOUNG_CORDON
    assert "once its cordon is 5 s old" in verdict.message
    assert verdict.event == "AwaitingScheduler"

    world.run(row, for_s=6)
    assert reasons(world, row) == {Reason.DRAINED}


def test_a_node_that_is_not_there_is_nobodys() -> None:
    assert World().step(by_person(), "a").effects == ()


def test_a_person_may_set_a_deadline() -> None:
    row = by_person(Deadline(at(60)))
    world = World(node(), pod(), budget())
    world.run(row, for_s=59)
    assert world.names("Pod") == ["web-1"]

    world.run(row, for_s=4)
    assert world.names("Pod") == []


def test_what_the_deadline_cannot_move_is_left_and_told() -> None:
    row = by_person(Deadline(at(10)))
    world = World(node(), pod(), budget())
    world.stuck_pods.add("web-1")
    world.run(row, for_s=25)

    assert reasons(world, row) == {Reason.CUT_OFF}
    assert any(
        "cut off at its deadline: 1 pod still there: shop/web-1" in event.message
        for event in world.events()
    )


def test_a_cordon_of_a_person_is_not_claimed() -> None:
    world = World(node(is_cordoned=True), pod())
    world.run(by_person(), for_s=40)

    assert world.done(Patch) == []


def test_a_bad_deadline_is_told_and_ignored() -> None:
    world = World(
        node(deleted_at=builders.NOW, annotations={names.DRAIN_DEADLINE: "soon"}),
        machine(finalizers=()),
        pod(),
        budget(),
        instances=[instance()],
    )
    world.settle(TERMINATION)

    assert Reason.INVALID in reasons(world, TERMINATION)
    assert any('"soon"' in event.message for event in world.events("FailedDraining"))


def test_many_pods_are_counted_and_some_are_named() -> None:
    world = World(node(), *(pod(f"web-{number}") for number in range(5)), budget())
    world.settle(by_person())

    assert any(
        "5 pods still to go: shop/web-0, shop/web-1, shop/web-2 and 2 more" in event.message
        for event in world.events("FailedDraining")
    )


def test_a_young_cordon_is_not_trusted_at_once() -> None:
    """A scheduler that has not seen the cordon yet may still bind a pod."""
    row = by_person()
    world = World(node())
    world.run(row, for_s=4)
    assert Reason.DRAINED not in reasons(world, row)

    world.put(pod())
    world.run(row, for_s=10)
    assert [effect.ref.name for effect in world.done(Evict)] == ["web-1"]


def test_the_waits_of_a_drain_are_settings() -> None:
    quick = Cadence(cordon_quiet_s=1, drain_cut_off_s=2)
    row = by_person(Deadline(at(10)))
    world = World(node(), settings=Settings(cadence=quick))
    world.run(row, for_s=2)
    assert reasons(world, row) == {Reason.DRAINED}

    world = World(node(), pod(), budget(), settings=Settings(cadence=quick))
    world.stuck_pods.add("web-1")
    world.run(row, for_s=13)
    assert reasons(world, row) == {Reason.CUT_OFF}


# ---------------------------------------------------------------------------------------- volumes


def attached(volume: str, *, to: str = "a") -> VolumeAttachment:
    return VolumeAttachment(
        metadata=ObjectMeta(name=f"attached-{volume}", uid=f"uid-attached-{volume}"),
        spec=VolumeAttachmentSpec(
            node_name=to, source=VolumeAttachmentSource(persistent_volume_name=volume)
        ),
        status=VolumeAttachmentStatus(attached=True),
    )


def claimed(volume: str, mode: str = "ReadWriteOnce") -> PersistentVolumeClaim:
    return PersistentVolumeClaim(
        metadata=ObjectMeta(name=f"claim-{volume}", namespace="shop", uid=f"uid-claim-{volume}"),
        spec=ClaimSpec(volume_name=volume, access_modes=(mode,)),
    )


def of_daemon(volume: str) -> Any:
    source = ClaimSource(claim_name=f"claim-{volume}")
    return pod(
        "agent-1",
        owners=(builders.DAEMON_SET,),
        volumes=(Volume(persistent_volume_claim=source),),
    )


def test_t05_only_volumes_of_evicted_pods_are_waited_for() -> None:
    world = deleted(
        *(attached(volume) for volume in ("v1", "v2", "v3", "v4")),
        *(claimed("v1"), claimed("v2"), claimed("v3", "ReadWriteMany")),
        of_daemon("v2"),
    )
    world.run(TERMINATION, for_s=60)
    assert world.done(Terminate) == []
    assert Reason.VOLUMES_ATTACHED in reasons(world, TERMINATION)

    world.drop(world.view._objects["VolumeAttachment"]["", "attached-v1"])
    world.run(TERMINATION, for_s=2)
    assert world.names("Node") == []


class OneByOne(View):
    """A view in which nobody may go through all claims: there are tens of thousands."""

    def all(self, resource: Resource[Any]) -> Mapping[Key, Any]:
        assert resource is not CLAIMS
        return super().all(resource)


@pytest.mark.parametrize(
    "modes",
    [
        ("ReadWriteOnce", "ReadWriteMany"),
        ("ReadWriteMany", "ReadWriteOnce"),
        ("ReadWriteMany", "ReadWriteMany"),
    ],
)
def test_t05_of_several_claims_to_one_volume_any_may_hold_it(modes: tuple[str, ...]) -> None:
    claims = [
        builders.changed(claimed("v1", mode), metadata__name=f"claim-{number}")
        for number, mode in enumerate(modes)
    ]
    view = OneByOne.of(node(), attached("v1"), *claims)

    assert detach.awaited(view, node()) == (("v1",) if "ReadWriteOnce" in modes else ())


def test_t05_the_wait_for_volumes_is_bounded() -> None:
    world = deleted(attached("v1"), claimed("v1"))
    world.run(TERMINATION, for_s=360)
    assert world.names("Node") == ["a"]

    world.run(TERMINATION, for_s=10)
    assert world.names("Node") == []


def test_t05_the_bound_is_a_setting() -> None:
    settings = Settings(cadence=Cadence(detach_limit_s=20))
    world = deleted(attached("v1"), claimed("v1"), settings=settings)
    world.run(TERMINATION, for_s=20)
    assert world.names("Node") == ["a"]

    world.run(TERMINATION, for_s=10)
    assert world.names("Node") == []


def test_t05_a_deadline_bounds_it_too() -> None:
    world = deleted(attached("v1"), claimed("v1"), settings=Settings(drain_deadline_s=30))
    world.run(TERMINATION, for_s=32)

    assert world.names("Node") == []


# --------------------------------------------------------------------------------------- evictions


def test_a_pod_that_is_admitted_and_stays_is_asked_again() -> None:
    world = World(node(), pod())
    world.settle(by_person())
    world.change(world.view._objects["Pod"]["shop", "web-1"], metadata__deletion_timestamp=None)
    world.run(by_person(), for_s=9)
    assert len(world.done(Evict)) == 1

    world.run(by_person(), for_s=3)
    assert len(world.done(Evict)) == 2
    assert len(world.events("Evicted")) == 1


def test_a_refusal_without_a_budget_is_told_in_the_servers_words() -> None:
    row = by_person()
    world = World(node(), pod())
    world.fails = lambda effect: isinstance(effect, Evict)
    world.run(row, for_s=3)

    assert Reason.EVICTION_REFUSED in reasons(world, row)
    assert any("(unknown): timeout" in event.message for event in world.events())


def test_returning_pods_are_told_in_the_name_of_whoever_drains() -> None:
    row = by_person()
    world = World(node(), pod("web-0", grace_s=5))
    said = []
    for number in range(1, 4):
        while world.names("Pod"):
            world.settle(row)
            world.wait(0.5)
        world.put(pod(f"web-{number}", grace_s=5))
        said += [one for one in world.step(row, "a").verdicts if one.event]

    returning = [one for one in said if one.reason is Reason.RETURNING_PODS]
    assert {one.method for one in returning} == {Method.DRAIN}
    assert "machine" not in returning[0].message


@pytest.mark.parametrize("lost", ["memory", "answers"])
def test_losing_what_is_droppable_costs_time_only(lost: str) -> None:
    world = World(node(), pod(), budget())
    world.run(by_person(), for_s=60)
    if lost == "memory":
        world.memories.clear()
    else:
        world.view._answers.clear()
    world.change(
        world.view._objects["PodDisruptionBudget"]["shop", "web"], status__disruptions_allowed=1
    )
    world.run(by_person(), for_s=40)

    assert world.names("Pod") == []


def test_r1_pods_that_came_just_before_the_cordon_are_no_rounds() -> None:
    """Of one pod four would be as many rounds; of four they are one."""
    row = by_person()
    world = World(node(), pod("web-0", grace_s=600))
    world.step(row, "a")
    for number in range(1, 4):
        world.put(pod(f"web-{number}", grace_s=600))
    world.run(row, for_s=3)
    world.put(pod("late", grace_s=600))
    world.run(row, for_s=60)

    assert {"late", "web-0"} <= set(world.names("Pod"))
    assert not {Reason.RETURNING_PODS, Reason.DRAINED} & reasons(world, row)
