"""Which expired and drifted nodes go, in which order, with what, and why not (11.9, 11.11)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.builders import at, budget, changed, condition
from tests.engine.scenes import instance_type
from tests.policy.test_second_thoughts import withdrawn
from tests.policy.underused import bought, consolidated, going, look, node, pod, verdict_on
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.machine import MACHINE_DRIFTED, MACHINE_EXPIRED
from unmoor.model.settings import Settings
from unmoor.policy import drift, expiration, methods
from unmoor.policy.command import NODES_MAX, Proposal
from unmoor.policy.verdict import Method, Reason

BOTH = pytest.mark.parametrize("of", [Method.EXPIRATION, Method.DRIFT])
KINDS = {Method.EXPIRATION: MACHINE_EXPIRED, Method.DRIFT: MACHINE_DRIFTED}
PROPOSE = {Method.EXPIRATION: expiration.propose, Method.DRIFT: drift.propose}
OWNER = consolidated(consolidation=None, ttlSecondsUntilExpired=30)
THREE_CPU = instance_type("three", cpu=3, memory_gib=8, pods=100, price=0.1)


def due(
    name: str, by: Method, since_s: float = -60.0, status: str = "True", **given: Any
) -> tuple[Object, Object]:
    """A node that is due by a method, and its machine."""
    made: tuple[Any, Any] = node(name, **given)
    one = condition(KINDS[by], status, since=at(since_s))
    if by is Method.DRIFT:
        one = msgspec.structs.replace(one, reason="AMIDrift", message="image ami-1 -> ami-2")
    conditions = (*made[1].status.conditions, one)
    return made[0], changed(made[1], status__conditions=conditions)


def proposed(of: Method, *objects: Any, **given: Any) -> Proposal:
    return PROPOSE[of](look(OWNER, *objects, **given))


# T060
@BOTH
def test_t046_t060_an_empty_one_is_deleted(of: Method) -> None:
    proposal = proposed(of, due("a", of))

    assert going(proposal) == ["a"]
    assert proposal.command is not None
    assert proposal.command.action == f"{of}/delete"
    assert proposal.eligible == {of: 1}


# T061
@BOTH
def test_t047_t061_a_hundred_empty_ones_go_together(of: Method) -> None:
    proposal = proposed(of, *(due(f"n{i:03}", of) for i in range(100)))

    assert len(going(proposal)) == 100 <= NODES_MAX


@BOTH
def test_empty_ones_go_before_one_with_pods_that_waits_longer(of: Method) -> None:
    proposal = proposed(of, due("a", of, -3600), pod("web-1", "a"), due("b", of))

    assert going(proposal) == ["b"]
    assert verdict_on(proposal, "a").reason is Reason.NEXT_COMMAND


# T045
# T057
# T059
@BOTH
def test_t044_t045_t057_t059_without_the_condition_a_node_stays(of: Method) -> None:
    for objects in (node("a"), due("a", of, status="False")):
        proposal = proposed(of, objects)
        assert proposal.command is None
        assert verdict_on(proposal, "a").reason in {Reason.NOT_DRIFTED, Reason.NOT_EXPIRED}


# T063
@BOTH
def test_t048_t063_one_with_a_pod_is_replaced(of: Method) -> None:
    proposal = proposed(of, due("a", of), pod("web-1", "a"))

    assert going(proposal) == ["a"]
    assert len(bought(proposal)) == 1
    assert proposal.command is not None
    assert proposal.command.action == f"{of}/replace"
    assert proposal.command.reason.endswith("1 pod to move, 1 machine first")
    assert verdict_on(proposal, "a").is_refusal is False


# T065
@BOTH
def test_t049_t065_as_many_machines_as_it_takes(of: Method) -> None:
    pods = [pod(f"web-{i}", "a", cpu="2") for i in range(3)]
    proposal = proposed(of, due("a", of), *pods, types=(THREE_CPU,))

    assert bought(proposal) == [("three",)] * 3


@BOTH
def test_pods_that_fit_elsewhere_need_no_machine(of: Method) -> None:
    proposal = proposed(of, due("a", of), pod("web-1", "a"), node("b"))

    assert proposal.command is not None
    assert proposal.command.action == f"{of}/delete"
    assert proposal.command.reason.endswith("1 pod to move, onto other nodes")


# T058
@BOTH
def test_t043_t058_one_whose_pods_have_no_place_stays_and_the_next_goes(of: Method) -> None:
    objects = (due("a", of, -120), pod("web-1", "a", cpu="150"), due("b", of), pod("web-2", "b"))
    proposal = proposed(of, *objects)

    assert going(proposal) == ["b"]
    told = verdict_on(proposal, "a")
    assert (told.reason, told.event) == (Reason.NO_PLACE, "DeprovisioningBlocked")
    assert "pod shop/web-1" in told.message
    assert [one.kind for one in told.also_on] == ["Machine"]


# T062
@BOTH
def test_t050_t062_the_one_that_has_waited_longest_goes_first(of: Method) -> None:
    objects = (due("a", of), pod("web-1", "a", cpu="30"), due("b", of, -3660))
    proposal = proposed(of, *objects, pod("web-2", "b", cpu="30"))

    assert going(proposal) == ["b"]
    assert verdict_on(proposal, "a").reason is Reason.NEXT_COMMAND


@BOTH
def test_they_cost_what_they_cost(of: Method) -> None:
    dear = instance_type("dear", cpu=32, memory_gib=128, pods=100, price=99.0)

    assert bought(proposed(of, due("a", of), pod("web-1", "a"), types=(dear,))) == [("dear",)]


@BOTH
def test_a_spot_node_is_replaced_as_well(of: Method) -> None:
    assert going(proposed(of, due("a", of, kind=names.SPOT), pod("web-1", "a"))) == ["a"]


@BOTH
def test_a_budget_and_do_not_evict_hold_a_node(of: Method) -> None:
    held = budget("held", namespace="shop", allowed=0, selector={"app": "web"})
    protected = pod("web-1", "a", annotations={names.DO_NOT_EVICT: "true"})
    for objects, reason in (
        ((pod("web-1", "a"), held), Reason.BUDGET),
        ((protected,), Reason.DO_NOT_EVICT),
    ):
        proposal = proposed(of, due("a", of), *objects)
        assert proposal.command is None
        told = verdict_on(proposal, "a")
        assert (told.reason, told.event) == (reason, "DeprovisioningBlocked")  # R10


@BOTH
def test_r16_do_not_consolidate_is_not_about_them(of: Method) -> None:
    kept = due("a", of, annotations={names.DO_NOT_CONSOLIDATE: "true"})

    assert going(proposed(of, kept)) == ["a"]


@BOTH
def test_r14_a_node_that_another_controller_marks_is_left_to_it(of: Method) -> None:
    theirs = due("a", of, annotations={names.VOLUNTARY_DISRUPTION: "rebooting"})
    proposal = proposed(of, theirs)

    assert proposal.command is None
    told = verdict_on(proposal, "a")
    assert (told.reason, told.event) == (Reason.MARKED_BY_OTHERS, "DeprovisioningBlocked")
    assert '"rebooting"' in told.message
    for ours in ("expired", "drifted"):
        marked = due("a", of, annotations={names.VOLUNTARY_DISRUPTION: ours})
        assert going(proposed(of, marked)) == ["a"]


@BOTH
def test_a_provisioners_budget_for_it_counts(of: Method) -> None:
    reason = {Method.EXPIRATION: "Expired", Method.DRIFT: "Drifted"}[of]
    for named, count in ((reason, 1), ("Empty", 3)):
        written = f'[{{"nodes": "1", "reasons": ["{named}"]}}]'
        owner = changed(OWNER, metadata__annotations={names.BUDGETS: written})
        objects = [due(name, of) for name in "abc"]
        assert len(going(PROPOSE[of](look(owner, *objects)))) == count


@BOTH
def test_one_that_cannot_go_uses_up_no_budget(of: Method) -> None:
    """Else a fleet would stop at the first node whose pods have no place."""
    owner = changed(OWNER, metadata__annotations={names.BUDGETS: '[{"nodes": "1"}]'})
    stuck = (due("a", of, -120), pod("web-1", "a", cpu="150"))
    objects = (*stuck, due("b", of), pod("web-2", "b"))

    assert going(PROPOSE[of](look(owner, *objects))) == ["b"]


@BOTH
def test_without_knowing_what_is_sold_only_empty_ones_go(of: Method) -> None:
    view = look(OWNER, due("a", of), pod("web-1", "a"))
    view.view._answers.clear()
    proposal = PROPOSE[of](view)

    assert proposal.command is None
    assert verdict_on(proposal, "a").reason is Reason.TYPES_UNKNOWN


def test_expiration_that_is_not_configured_never_acts() -> None:
    proposal = expiration.propose(look(consolidated(), due("a", Method.EXPIRATION)))

    assert proposal.command is None
    assert verdict_on(proposal, "a").reason is Reason.NOT_CONFIGURED  # R6


def test_t042_with_the_gate_shut_nothing_drifts() -> None:
    shut = Settings(drift_enabled=False)
    proposal = proposed(Method.DRIFT, due("a", Method.DRIFT), settings=shut)

    assert proposal.command is None
    assert verdict_on(proposal, "a").reason is Reason.NOT_CONFIGURED


def test_a_command_says_from_what_to_what() -> None:
    proposal = proposed(Method.DRIFT, due("a", Method.DRIFT), pod("web-1", "a"))

    assert proposal.command is not None
    assert proposal.command.reason.startswith("AMIDrift: image ami-1 -> ami-2; ")
    told = verdict_on(proposal, "a").message
    assert told == "node a has drifted, AMIDrift: image ami-1 -> ami-2"


@pytest.mark.parametrize(("share", "count"), [(1.0, 2), (0.5, 2), (0.49, 0)])
def test_a_limit_on_the_share_that_drifts_at_once(share: float, count: int) -> None:
    few = Settings(drift_share_most=share)
    objects = [due(name, Method.DRIFT) for name in "ab"] + [node(name) for name in "cd"]
    proposal = proposed(Method.DRIFT, *objects, settings=few)

    assert len(going(proposal)) == count
    if not count:
        told = verdict_on(proposal, "a")
        assert told.reason is Reason.TOO_MANY_DRIFTED
        assert "2 of the 4 machines of provisioner default have drifted" in told.message


def test_expiration_comes_first_then_drift_then_the_others() -> None:
    order = [row.method for row in methods.METHODS]

    assert order[:3] == [Method.EXPIRATION, Method.DRIFT, Method.EMPTINESS]
    both = look(OWNER, due("a", Method.DRIFT), due("b", Method.EXPIRATION))
    command = methods.propose(both).command
    assert command is not None
    assert command.method is Method.EXPIRATION


@BOTH
def test_one_that_was_withdrawn_lately_stands_in_no_others_way(of: Method) -> None:
    """It would be found first at each look, and withdrawn each time."""
    both = [due("a", of, -3600), pod("web-1", "a"), due("b", of), pod("api-1", "b")]
    assert going(proposed(of, *both)) == ["a"]

    before = withdrawn("a", method=str(of))
    proposal = proposed(of, *both, before, after_s=1)

    assert going(proposal) == ["b"]
    told = verdict_on(proposal, "a")
    assert (told.reason, told.event) == (Reason.WITHDRAWN, "DeprovisioningBlocked")
    assert going(proposed(of, *both, before, after_s=60)) == ["a"]
