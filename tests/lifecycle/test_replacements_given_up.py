"""A person wants a node back while its replacement comes up; and what becomes of that one."""

from __future__ import annotations

from tests import builders
from tests.lifecycle.driver import World
from tests.lifecycle.replacing import (
    ROWS,
    command,
    is_free,
    joins,
    launched,
    reasons,
    replacement,
)
from tests.lifecycle.rows import DEPROVISIONING
from tests.policy.underused import pod
from unmoor.lifecycle.effects import Patch
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.kinds import PODS
from unmoor.model.machine import Machine
from unmoor.model.observation import Answer, Asked
from unmoor.model.settings import Settings
from unmoor.policy.verdict import Reason

# A person in the middle.


def test_an_uncordon_cancels_and_the_replacement_that_serves_nobody_goes() -> None:
    world = launched()
    joins(world)
    world.fails = lambda effect: isinstance(effect, Patch) and "Deleting" in str(effect.body)
    world.run(*ROWS, for_s=5)
    world.change(world.view.node("a"), spec__unschedulable=False)
    world.fails = lambda _: False
    world.run(*ROWS, for_s=20)

    assert command(world).phase is DisruptionPhase.CANCELLED
    assert is_free(world)
    assert world.names("Node") == ["a"]
    assert world.names("Machine") == ["m-a"]
    [fact] = [one for one in world.facts if one.name == "machines_terminated"]
    assert fact.labels["reason"] == "replacement_not_needed"
    assert Reason.TAKEN_BACK in reasons(world)


def test_one_that_serves_somebody_by_then_stays() -> None:
    world = launched()
    joins(world)
    world.put(pod("other-1", "new"))
    world.change(world.view.node("a"), spec__unschedulable=False)
    world.run(*ROWS, for_s=20)

    assert command(world).phase is DisruptionPhase.CANCELLED
    assert world.names("Node") == ["a", "new"]
    assert replacement(world).replacement_for == ""  # type: ignore[union-attr]


def test_one_onto_which_a_pod_is_planned_stays() -> None:
    world = launched()
    machine = replacement(world)
    assert machine is not None
    world.put(pod("coming-1", ""))
    world.view._answers[Asked.NOMINATION][f"machine/{machine.name}"] = Answer(
        world.moment, (("shop", "coming-1"),)
    )
    world.change(world.view.node("a"), spec__unschedulable=False)
    world.run(*ROWS, for_s=5)

    assert replacement(world).replacement_for == ""  # type: ignore[union-attr]


def test_an_annotation_on_a_pod_ends_it() -> None:
    world = launched()
    found = world.view.get(PODS, "web-1", "shop")
    world.change(found, metadata__annotations={names.DO_NOT_EVICT: "true"})
    world.run(*ROWS, for_s=20)

    assert command(world).phase is DisruptionPhase.CANCELLED
    assert is_free(world)
    assert world.names("Machine") == ["m-a"]


def test_a_persons_deletion_is_obeyed_and_the_replacement_kept_for_the_pods() -> None:
    world = launched()
    world.change(world.view.node("a"), metadata__deletion_timestamp=world.moment.wall)
    world.run(*ROWS, for_s=40)

    assert command(world).phase is DisruptionPhase.SUCCEEDED
    assert replacement(world) is not None
    assert world.names("Node") == []


def test_a_node_that_is_taken_away_counts_as_gone() -> None:
    world = launched()
    world.drop(world.view.node("a"))
    world.run(DEPROVISIONING, for_s=10)

    assert command(world).phase is DisruptionPhase.SUCCEEDED


def test_who_removes_the_command_gets_the_nodes_back_and_the_replacement_goes() -> None:
    world = launched()
    made = command(world).spec.replacements[0].name
    world.drop(command(world))
    world.change(world.view.provisioner("default"), spec__consolidation=None)
    world.run(*ROWS, for_s=20)

    assert is_free(world)
    assert made not in world.names("Machine")


def test_who_takes_the_mark_off_a_machine_keeps_it() -> None:
    world = launched()
    machine = replacement(world)
    assert machine is not None
    world.change(machine, metadata__annotations={names.MANAGED_BY: builders.CLUSTER})
    world.run(*ROWS, for_s=20)

    assert command(world).phase is DisruptionPhase.CANCELLED
    assert machine.name in world.names("Machine")
    assert is_free(world)


# The ledger.


def test_a_command_stays_in_the_ledger_as_long_as_a_machine_bears_its_name() -> None:
    world = launched(settings=Settings(kept_disruptions=1))
    joins(world)
    world.fails = lambda effect: isinstance(effect, Patch) and effect.ref.kind == "Machine"
    world.run(*ROWS, for_s=2)
    for number in range(3):
        world.put(
            builders.disruption(
                f"later-{number}", phase=DisruptionPhase.SUCCEEDED, finished_at=builders.at(9000)
            )
        )
    world.fails = lambda effect: isinstance(effect, Patch) and "replacement-for" in str(effect.body)
    world.run(*ROWS, for_s=4)
    world.change(world.view.provisioner("default"), spec__consolidation=None)
    world.run(*ROWS, for_s=40)
    done = [one for one in world.names("Disruption") if one.startswith("consolidation")]
    assert len(done) == 1

    world.fails = lambda _: False
    world.run(*ROWS, for_s=5)
    assert [one for one in world.names("Disruption") if one.startswith("consolidation")] == []
    assert world.names("Node") == ["new"]


def test_machines_of_others_are_left_alone() -> None:
    foreign: Machine = builders.machine(
        "theirs", is_ours=False, annotations={names.REPLACEMENT_FOR: "nobody"}
    )
    world = World(foreign)
    world.run(DEPROVISIONING, for_s=5)

    assert world.view.machine("theirs").replacement_for == "nobody"  # type: ignore[union-attr]
