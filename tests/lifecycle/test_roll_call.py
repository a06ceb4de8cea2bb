"""Pods and nodes that no watch has brought: the API server is asked before anything goes."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import budget, instance, machine, node, pod, provisioner
from tests.lifecycle.driver import World
from tests.lifecycle.rows import DEPROVISIONING, MACHINE, TERMINATION
from tests.lifecycle.test_deprovisioning import EVERYTHING, command, empties, empty_machine
from tests.lifecycle.test_drain import by_person
from tests.lifecycle.test_late_looks import told_to_go
from tests.lifecycle.test_termination import evicted
from tests.lifecycle.worlds import deleted
from unmoor.lifecycle.effects import Delete, Observe, Terminate
from unmoor.model import names
from unmoor.model.cadence import Cadence
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.observation import Answer, Asked, Problem, ProblemKind
from unmoor.model.settings import Settings
from unmoor.policy.verdict import Reason, Verdict


def asked(world: World) -> list[str]:
    """The nodes whose pods the server was asked for."""
    return [one.subject for one in world.done(Observe) if one.asked is Asked.PODS]


def said(world: World, reason: Reason, key: str = "a") -> list[Verdict]:
    return [one for one in world.step(TERMINATION, key).verdicts if one.reason is reason]


# ---------------------------------------------------------------------------------- a drain's end


def test_a_pod_that_no_watch_has_brought_is_found_and_evicted() -> None:
    world = deleted()
    world.unseen.append(pod(grace_s=20))
    world.run(TERMINATION, for_s=24)
    assert evicted(world) == ["web-1"]
    assert world.done(Terminate) == []

    world.run(TERMINATION, for_s=3)
    assert world.names("Pod") == world.names("Node") == []
    assert len(world.done(Terminate)) == 1


def test_it_is_asked_once_and_only_when_the_view_shows_nobody() -> None:
    world = deleted(pod(grace_s=30))
    world.run(TERMINATION, for_s=29)
    assert asked(world) == []

    world.run(TERMINATION, for_s=3)
    assert asked(world) == ["a"]
    assert world.names("Node") == []


def test_it_is_not_asked_before_the_cordon_is_known_to_all() -> None:
    """A pod may be bound right after the answer."""
    world = deleted()
    world.view._answers[Asked.PODS]["a"] = Answer(world.moment, world.moment.mono)
    world.run(TERMINATION, for_s=4)
    assert asked(world) == []

    world.unseen.append(pod())
    world.run(TERMINATION, for_s=3)
    assert asked(world) == ["a"]
    assert evicted(world) == ["web-1"]


def test_an_instance_that_is_gone_leaves_nothing_to_ask() -> None:
    world = deleted(pod(grace_s=600))
    world.cloud.clear()
    world.run(TERMINATION, for_s=6)

    assert world.names("Node") == []
    assert asked(world) == []


def test_a_node_without_an_instance_is_asked_about_all_the_same() -> None:
    world = World(node(deleted_at=builders.NOW, provider_id=""))
    world.unseen.append(pod(grace_s=20))
    world.run(TERMINATION, for_s=20)
    assert world.names("Node") == ["a"]

    world.run(TERMINATION, for_s=10)
    assert world.names("Pod") == world.names("Node") == []


@pytest.mark.parametrize("kind", [ProblemKind.FORBIDDEN, ProblemKind.FAILED, ProblemKind.UNKNOWN])
def test_without_an_answer_nothing_ends_and_it_is_said(kind: ProblemKind) -> None:
    world = deleted()
    world.roll_call_problem = Problem(kind, "etcd is down")
    world.run(TERMINATION, for_s=60)
    assert world.done(Terminate) == []
    assert world.names("Node") == ["a"]
    assert 50 <= len(asked(world)) <= 60  # once a second

    (verdict,) = said(world, Reason.NOT_CONFIRMED)
    assert "node/a (who is on it now?)" in verdict.message
    assert f"({kind}): etcd is down" in verdict.message
    assert said(world, Reason.DRAINED) == []

    world.roll_call_problem = None
    world.run(TERMINATION, for_s=3)
    assert len(world.done(Terminate)) == 1


def test_a_server_that_wants_a_pause_gets_it() -> None:
    world = deleted()
    world.roll_call_problem = Problem(
        ProblemKind.TOO_MANY_REQUESTS, "slowly", 429, retry_after_s=20
    )
    world.run(TERMINATION, for_s=60)

    assert len(asked(world)) == 3


def test_an_old_answer_is_not_believed() -> None:
    """The cloud did not listen for a while, and somebody has come who tolerates the cordon."""
    world = deleted(settings=Settings(cadence=Cadence(terminate_again_s=15)))
    world.fails = lambda effect: isinstance(effect, Terminate)
    world.run(TERMINATION, for_s=6)
    world.fails = lambda _: False
    world.unseen.append(pod(grace_s=20))
    world.run(TERMINATION, for_s=20)
    assert evicted(world) == ["web-1"]
    assert len(world.done(Terminate)) == 1  # the one that was lost

    world.run(TERMINATION, for_s=20)
    assert len(world.done(Terminate)) == 2


def test_whoever_comes_unseen_is_told_to_go_before_a_deadline_ends_the_machine() -> None:
    world = deleted(pod(), budget(), annotations={names.DRAIN_DEADLINE: "1m"})
    world.stuck_pods |= {"web-1", "web-2"}
    world.unseen.append(pod("web-2"))
    world.run(TERMINATION, for_s=62)
    assert sorted(set(told_to_go(world))) == ["web-1", "web-2"]
    assert world.done(Terminate) == []

    world.run(TERMINATION, for_s=10)
    assert len(world.done(Terminate)) == 1


def test_a_person_is_not_told_that_it_is_drained_before_it_is_so() -> None:
    row = by_person()
    world = World(node())
    world.unseen.append(pod(grace_s=20))
    told: list[Reason] = []
    for _ in range(24):
        world.settle(row)
        told += [verdict.reason for verdict in world.step(row, "a").verdicts]
        world.wait(1)
    assert evicted(world) == ["web-1"]
    assert Reason.DRAINED not in told

    world.run(row, for_s=4)
    assert [one.reason for one in world.step(row, "a").verdicts] == [Reason.DRAINED]


# ------------------------------------------------------------------------------ commands


def test_a_node_that_only_seems_empty_is_left_out_and_the_others_go() -> None:
    world = empties("ab")
    world.unseen.append(pod(on="a"))
    world.run(*EVERYTHING, for_s=30)

    assert world.names("Node") == ["a"]
    assert list(command(world).status.left_out) == ["a"]
    assert world.names("Pod") == ["web-1"]
    assert not world.view.pods_on("a")[0].is_deleting
    left = world.view.node("a")
    assert left is not None
    assert not left.is_cordoned


def test_the_server_is_asked_before_there_is_no_way_back() -> None:
    world = empties("ab")
    world.run(DEPROVISIONING, for_s=4)
    assert asked(world) == []

    world.run(DEPROVISIONING, for_s=3)
    assert asked(world) == ["a", "b"]
    order = [one for one in world.effects if isinstance(one, Observe | Delete)]
    assert [type(one) for one in order] == [Observe, Observe, Delete, Delete]


def test_while_the_server_does_not_answer_no_command_goes_on() -> None:
    world = empties("ab")
    world.roll_call_problem = Problem(ProblemKind.FAILED, "etcd is down")
    world.run(DEPROVISIONING, for_s=60)
    said = [one.message for one in world.step(DEPROVISIONING, "all").verdicts]
    assert command(world).phase is DisruptionPhase.PENDING
    assert world.done(Delete) == []
    assert any("node/b" in message and "etcd is down" in message for message in said)

    world.roll_call_problem = None
    world.run(*EVERYTHING, for_s=30)
    assert world.names("Node") == []


def test_an_answer_is_good_until_the_last_of_the_commands_nodes_is_asked_about() -> None:
    """Each is asked about once more when it ends."""
    world = empties("ab")
    world.fails = lambda effect: isinstance(effect, Observe) and effect.subject == "b"
    world.run(DEPROVISIONING, for_s=60)
    assert asked(world).count("a") == 1
    assert asked(world).count("b") > 1

    world.fails = lambda _: False
    world.run(DEPROVISIONING, for_s=3)
    assert asked(world).count("a") == 1
    assert command(world).phase is DisruptionPhase.DELETING


# ------------------------------------------------------------------------------ a machine's end


def going(*unseen: Any, **fields: Any) -> World:
    """A machine was deleted, and no node of it is in the view."""
    world = World(machine(deleted_at=builders.NOW, **fields), provisioner(), instances=[instance()])
    world.unseen += unseen
    return world


def test_an_instance_is_not_ended_under_a_node_that_no_watch_has_brought() -> None:
    world = going(node(), pod(grace_s=20))
    world.run(MACHINE, TERMINATION, for_s=20)
    assert evicted(world) == ["web-1"]
    assert world.done(Terminate) == []

    world.run(MACHINE, TERMINATION, for_s=20)
    assert world.names("Node") == world.names("Machine") == []
    assert len(world.done(Terminate)) == 1


@pytest.mark.parametrize(
    "unseen", [(), (node(provider_id="sim:///b"),)], ids=["no node", "another node of the name"]
)
def test_an_instance_without_its_node_is_ended(unseen: tuple[Any, ...]) -> None:
    world = going(*unseen)
    world.run(MACHINE, for_s=2)

    assert [effect.asked for effect in world.done(Observe)] == [Asked.OBJECT]
    assert len(world.done(Terminate)) == 1


def test_for_a_machine_that_never_had_a_node_all_nodes_are_asked_for() -> None:
    world = going(node_name="")
    world.run(MACHINE, for_s=2)

    assert [effect.asked for effect in world.done(Observe)] == [Asked.NODES]
    assert len(world.done(Terminate)) == 1


def test_all_that_is_asked_in_a_life_is_one_question_for_each_end() -> None:
    world = World(
        provisioner(ttl_after_empty_s=30), node(), empty_machine(), instances=[instance()]
    )
    world.run(*EVERYTHING, for_s=30)

    assert world.names("Node") == world.names("Machine") == []
    assert asked(world) == ["a", "a"]  # by the command, and by the drain
