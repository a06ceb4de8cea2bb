"""A replacement does not come up: nothing goes, and nothing is left of it (001:21, spec 4.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.lifecycle.replacing import (
    LIMIT_S,
    QUIET_S,
    ROWS,
    bodies,
    command,
    failed,
    first_command,
    is_free,
    is_of_machines,
    joins,
    launched,
    reasons,
    replacement,
    underused,
)
from tests.lifecycle.rows import DEPROVISIONING
from tests.policy.underused import consolidated
from unmoor.lifecycle.effects import Create
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.observation import Answer, Asked, Problem, ProblemKind
from unmoor.model.provisioner import Limits
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.policy.verdict import Reason

# It does not come up (spec 4.1, 4.2).


def test_t064_without_capacity_the_node_stays_and_another_try_waits_a_minute() -> None:
    """Spec 4.2.3."""
    world = underused()
    world.launch_problems = [Problem(ProblemKind.INSUFFICIENT_CAPACITY, "none left")]
    world.run(*ROWS, for_s=QUIET_S + 5)
    failed(world)
    assert is_free(world)
    assert world.names("Machine") == ["m-a"]
    assert Reason.REPLACEMENT_FAILED in reasons(world)
    blocked = {one.message for one in world.events("DeprovisioningBlocked")}
    assert any("its replacement in disruption" in one for one in blocked)

    world.run(*ROWS, for_s=65)
    assert len(world.names("Disruption")) == 2


def test_after_many_failures_it_waits_longer() -> None:
    world = underused()
    problem = Problem(ProblemKind.INSUFFICIENT_CAPACITY, "none left")
    world.launch_problems = [problem] * 50
    world.run(*ROWS, for_s=3600, tick_s=2)

    # After 1, 2, 4, 8, 16 and then 30 minutes.
    assert 5 <= len(world.names("Disruption")) <= 6


def test_one_whose_node_does_not_become_ready_in_time_goes() -> None:
    """Spec 4.2.6."""
    world = launched()
    joins(world, is_ready=False)
    world.run(*ROWS, for_s=LIMIT_S - 30, tick_s=5)
    assert command(world).phase is DisruptionPhase.LAUNCHING

    world.run(*ROWS, for_s=50, tick_s=5)
    failed(world)
    assert "MachineInitialized is not True" in command(world).status.message
    assert world.names("Node") == ["a"]
    assert world.names("Machine") == ["m-a"]


def test_one_that_nobody_can_make_is_waited_for_as_long() -> None:
    world = underused()
    world.fails = is_of_machines
    world.run(*ROWS, for_s=LIMIT_S + QUIET_S + 10, tick_s=5)

    failed(world)
    assert "it could not be made" in first_command(world).status.message


def test_one_that_somebody_deletes_has_failed() -> None:
    world = launched()
    machine = replacement(world)
    world.change(machine, metadata__deletion_timestamp=world.moment.wall)
    world.run(*ROWS, for_s=10)

    failed(world)
    assert len(bodies(world, "Machine")) == 1


def test_one_that_the_server_refuses_ends_it_in_the_servers_words() -> None:
    world = underused()
    world.refuses = is_of_machines
    world.run(*ROWS, for_s=QUIET_S + 5)

    failed(world)
    assert "a webhook says no" in command(world).status.message


def test_an_old_refusal_says_nothing() -> None:
    world = underused()
    problem = Problem(ProblemKind.FORBIDDEN, "no")
    uid = consolidated().uid
    world.view._answers[Asked.CREATION][uid] = Answer(world.moment, None, problem)
    world.run(*ROWS, for_s=QUIET_S + 5)

    assert command(world).phase is DisruptionPhase.LAUNCHING


def test_a_lost_answer_makes_no_second_machine() -> None:
    world = underused()
    world.forgets = is_of_machines
    world.run(*ROWS, for_s=QUIET_S + 5)
    world.forgets = lambda _: False
    world.run(*ROWS, for_s=5)

    assert len(world.names("Machine")) == 2
    assert command(world).phase is DisruptionPhase.LAUNCHING


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"spec__limits": Limits(resources={"cpu": "32"}), "status__resources": {"cpu": "64"}},
            "makes no machine now",
        ),
        ({"spec__weight": 1000}, "not valid"),
    ],
)
def test_a_provisioner_that_may_make_none_ends_it(change: dict[str, Any], words: str) -> None:
    """Spec 4.2.2."""
    world = underused()
    world.fails = is_of_machines
    world.run(*ROWS, for_s=QUIET_S + 2)
    assert command(world).phase is DisruptionPhase.LAUNCHING
    world.change(world.view.provisioner("default"), **change)
    said = [one.message for one in world.step(DEPROVISIONING, "all").verdicts]

    assert any(words in one for one in said), said


def test_a_machine_that_has_the_name_by_chance_is_left_alone() -> None:
    world = underused()
    world.fails = is_of_machines
    world.run(*ROWS, for_s=QUIET_S + 2)
    name = command(world).spec.replacements[0].name
    world.put(builders.machine(name, is_new=True, is_ours=False))
    world.fails = lambda _: False
    world.run(*ROWS, for_s=10)

    failed(world)
    assert name in world.names("Machine")


@pytest.mark.parametrize(
    ("edited", "words"),
    [
        ({"requests": {"cpu": "much"}}, "means nothing"),
        ({"requests": {"memory": float("inf")}}, "means nothing"),
        (
            {"requirements": (NodeSelectorRequirement("example.com/a", "Near", ("x",)),)},
            "means nothing",
        ),
        ({"instance_types": ()}, "names no type"),
        ({"provisioner": ""}, "is gone"),
    ],
)
def test_what_cannot_be_read_back_ends_it(edited: dict[str, Any], words: str) -> None:
    world = underused()
    world.settle(*ROWS)
    one = command(world)
    odd = builders.changed(one.spec.replacements[0], **edited)
    world.change(one, spec__replacements=(odd,))
    world.run(*ROWS, for_s=QUIET_S + 5)

    failed(world)
    assert words in command(world).status.message


@pytest.mark.parametrize("price", ["inf", "-inf", "nan", "-1", "1e999", "cheap", ""])
def test_a_price_that_means_nothing_is_one_that_nobody_knows(price: str) -> None:
    world = underused()
    world.settle(*ROWS)
    one = command(world)
    odd = builders.changed(one.spec.replacements[0], price_usd_per_hour=price)
    world.change(one, spec__replacements=(odd,))
    world.run(*ROWS, for_s=QUIET_S + 5)

    [made] = [one for one in world.done(Create) if one.ref.kind == "Machine"]
    assert "price unknown" in made.why
