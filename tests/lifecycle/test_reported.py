"""Stories of public bug reports, played in the small world (`tests/reports.toml`)."""

from __future__ import annotations

import pytest

from tests.builders import at, budget, changed, machine, node, pod
from tests.lifecycle.pending import made, planned, waiting
from tests.lifecycle.replacing import QUIET_S, ROWS, deleted_nodes, is_free
from tests.lifecycle.rows import DEPROVISIONING, MACHINE, TERMINATION
from tests.lifecycle.test_consolidation import going, small
from tests.lifecycle.test_drain import attached, claimed
from tests.lifecycle.test_termination import evicted
from tests.lifecycle.worlds import deleted, registered, the_machine, the_node
from tests.policy import underused
from unmoor.lifecycle.effects import Nominate
from unmoor.model import names
from unmoor.model.observation import Problem, ProblemKind
from unmoor.model.taint import Taint
from unmoor.policy.verdict import Reason

CLOUD = Taint(
    key="node.cloudprovider.kubernetes.io/uninitialized", value="true", effect="NoSchedule"
)


def test_c20_what_changes_while_nothing_is_found_is_seen_in_the_next_look() -> None:
    held = underused.pod("job-1", "b", "100m", annotations={names.DO_NOT_EVICT: "true"})
    world = small("ab", underused.pod("web-1", "a", "1850m"), held)
    world.run(*ROWS, for_s=300, tick_s=10)
    assert world.names("Disruption") == []

    world.drop(held)
    world.run(*ROWS, for_s=10)

    assert going(world) == ["b"]


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after the last look"])
def test_c15_a_budget_that_allows_nothing_any_more_ends_the_command(*, is_late: bool) -> None:
    """Before the last look nothing goes; afterwards the eviction is refused, and waited for."""
    world = small(
        "ab",
        underused.pod("web-1", "a", "100m"),
        underused.pod("web-2", "a", "100m"),
        underused.pod("api-1", "b", "100m", labels={"app": "api"}),
    )
    world.run(*ROWS, for_s=QUIET_S - 5)
    assert going(world) == ["b"]
    if is_late:
        world.eviction_problem = Problem(ProblemKind.TOO_MANY_REQUESTS, "budget", 429, 10.0)
    else:
        world.put(budget("api", selector={"app": "api"}))
    world.run(*ROWS, for_s=60)

    assert [one.is_deleting for one in world.view.pods_on("b")] == [False]
    assert ("b" in deleted_nodes(world)) is is_late
    assert "b" in world.names("Node")
    assert is_free(world, "b") is not is_late


@pytest.mark.parametrize("grace_s", [1200, 40_000])
def test_e22_a_pod_gets_the_grace_that_it_asks_for_however_long(grace_s: int) -> None:
    world = deleted(pod(grace_s=grace_s))
    world.run(TERMINATION, for_s=grace_s - 60, tick_s=30)
    assert (world.names("Pod"), world.names("Node")) == (["web-1"], ["a"])
    assert evicted(world) == ["web-1"]

    world.run(TERMINATION, for_s=120, tick_s=10)
    assert world.names("Node") == []


def test_e16_a_claim_of_the_same_name_is_another() -> None:
    """Its successor's volume is on another node: nobody waits for that one."""
    world = deleted(attached("v1"), claimed("v1"))
    world.run(TERMINATION, for_s=30)
    assert world.names("Node") == ["a"]

    world.drop(world.view._objects["VolumeAttachment"]["", "attached-v1"])
    successor = changed(claimed("v9"), metadata__name=claimed("v1").name, metadata__uid="second")
    there = attached("v9")
    world.put(successor)
    world.put(changed(there, spec__node_name="elsewhere"))
    world.run(TERMINATION, for_s=2)

    assert world.names("Node") == []


def test_n03_a_node_that_its_cloud_has_not_set_up_is_no_candidate() -> None:
    world = registered(node(taints=(CLOUD,), labels={names.INITIALIZED: ""}))
    assert not the_machine(world).is_initialized
    why = {one.reason for one in world.step(DEPROVISIONING, "all").verdicts}
    assert why == {Reason.NOT_INITIALIZED}

    world.change(the_node(world), spec__taints=())
    world.settle(MACHINE)

    assert the_machine(world).is_initialized
    assert Reason.NOT_INITIALIZED not in {
        one.reason for one in world.step(DEPROVISIONING, "all").verdicts
    }


def test_n16_pods_of_a_node_that_goes_may_be_moved_to_one_that_comes_up() -> None:
    going_away = node("a", deleted_at=at(0))
    coming = (node("b", labels={names.INITIALIZED: ""}), machine("m-b", node_name="b"))

    alone = planned(going_away, machine(), waiting("web-1", on="a"))
    both = planned(going_away, machine(), waiting("web-1", on="a"), *coming)

    assert len(made(alone)) == 2
    assert len(made(both)) == 2  # m-a and m-b: none is bought


def test_n21_pods_of_a_node_that_is_gone_count_for_no_spreading() -> None:
    apart = {
        "topologySpreadConstraints": [
            {
                "topologyKey": names.HOSTNAME,
                "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    }
    ghosts = [waiting(f"web-{number}", on="gone", spec=apart) for number in range(2)]
    nodes = (node("a"), machine(), node("b"), machine("m-b", node_name="b"))

    world = planned(*nodes, waiting("web-8", on="a"), waiting("web-9", spec=apart), *ghosts)

    assert len(made(world)) == 2
    [place] = world.done(Nominate)[-1].places
    assert place == "node/b"
