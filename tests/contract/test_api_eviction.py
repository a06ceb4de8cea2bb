"""When a pod may be evicted: budgets, exceptions, and the words of a no; on each face alike."""

from typing import Any

import pytest

from tests.contract.faces import Place, exists, refused
from unmoor.model.base import JSON
from unmoor.model.kinds import PODS

REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


def reasons(status: JSON) -> list[str]:
    return [one["message"] for one in status["details"]["causes"]]


async def is_going(place: Place, name: str = "pod") -> bool:
    """Deleted already, or about to be."""
    ref = place.ref(PODS, name)
    if not await exists(place.api, ref):
        return True
    return "deletionTimestamp" in (await place.api.get(ref))["metadata"]


# ------------------------------------------------------------------------------------------ allowed


async def test_without_a_budget_a_pod_goes(place: Place) -> None:
    ref = await place.pod(phase="Running")
    answer = await place.evict(ref)
    pod = await place.api.get(ref)

    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    target = next(c for c in pod["status"]["conditions"] if c["type"] == "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "EvictionByEvictionAPI")


async def test_an_eviction_takes_one_disruption(place: Place) -> None:
    ref = await place.pod(phase="Running")
    budget = await place.budget(disruptionsAllowed=1)
    await place.evict(ref)
    status = (await place.api.get(budget))["status"]

    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["pod"]
    [condition] = status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )
    assert await is_going(place)


async def test_an_eviction_takes_only_one(place: Place) -> None:
    ref = await place.pod(phase="Running")
    budget = await place.budget(disruptionsAllowed=3)
    await place.evict(ref)
    status = (await place.api.get(budget))["status"]

    assert status["disruptionsAllowed"] == 2
    assert "conditions" not in status


async def test_a_grace_period_may_be_given(place: Place) -> None:
    ref = await place.pod(phase="Running")
    await place.evict(ref, gracePeriodSeconds=7)

    assert (await place.api.get(ref))["metadata"]["deletionGracePeriodSeconds"] == 7


async def test_a_grace_of_zero_is_at_once(place: Place) -> None:
    ref = await place.pod(phase="Running")
    await place.evict(ref, gracePeriodSeconds=0)

    assert not await exists(place.api, ref)


@pytest.mark.parametrize("options", [{"dry_run": True}, {"dryRun": ["All"]}])
async def test_a_dry_run_takes_nothing(place: Place, options: Any) -> None:
    ref = await place.pod(phase="Running")
    budget = await place.budget()
    before = await place.api.get(budget)
    answer = await place.evict(ref, **options)

    assert answer["status"] == "Success"
    assert await place.api.get(budget) == before
    assert not await is_going(place)


async def test_a_dry_run_still_asks_the_budget(place: Place) -> None:
    ref = await place.pod(phase="Running")
    await place.budget(disruptionsAllowed=0)

    assert (await refused(place.evict(ref, dry_run=True))).code == 429


@pytest.mark.parametrize("phase", ["", "Pending", "Succeeded", "Failed"])
async def test_a_pod_that_does_not_run_skips_the_budget(place: Place, phase: str) -> None:
    ref = await place.pod(phase=phase)
    budget = await place.budget(disruptionsAllowed=0)
    before = await place.api.get(budget)
    await place.evict(ref)

    assert await is_going(place)
    assert await place.api.get(budget) == before


async def test_a_pod_that_goes_already_skips_the_budget(place: Place) -> None:
    ref = await place.pod(phase="Running")
    await place.budget(disruptionsAllowed=0)
    await place.delete(ref)
    answer = await place.evict(ref)

    assert answer["status"] == "Success"


async def test_a_budget_elsewhere_is_none_of_its_business(place: Place) -> None:
    ref = await place.pod(phase="Running")
    await place.budget(disruptionsAllowed=0, spec={"selector": {"matchLabels": {"a": "b"}}})

    assert (await place.evict(ref))["status"] == "Success"


async def test_a_budget_without_a_selector_selects_nothing(place: Place) -> None:
    ref = await place.pod(phase="Running")
    await place.budget(disruptionsAllowed=0, spec={"selector": None})

    assert (await place.evict(ref))["status"] == "Success"


# ---------------------------------------------------------------------------------------- unhealthy


async def unready(place: Place) -> Any:
    ref = await place.pod(phase="Running")
    await place.set_status(ref, {"conditions": [{"type": "Ready", "status": "False"}]})
    return ref


async def test_an_unready_pod_of_a_healthy_budget_goes_free(place: Place) -> None:
    ref = await unready(place)
    budget = await place.budget(disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1)
    before = await place.api.get(budget)
    await place.evict(ref)

    assert await is_going(place)
    assert await place.api.get(budget) == before


async def test_a_healthy_budget_need_not_be_up_to_date(place: Place) -> None:
    ref = await unready(place)
    await place.budget(lag=True, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1)

    assert (await place.evict(ref))["status"] == "Success"


async def test_an_unready_pod_of_an_unhealthy_budget_stays(place: Place) -> None:
    ref = await unready(place)
    await place.budget(disruptionsAllowed=0, currentHealthy=0, desiredHealthy=1)

    assert (await refused(place.evict(ref))).code == 429


async def test_a_budget_that_wants_nobody_healthy_is_not_healthy(place: Place) -> None:
    ref = await unready(place)
    await place.budget(disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0)

    assert (await refused(place.evict(ref))).code == 429


async def test_always_allow_lets_unready_pods_go(place: Place) -> None:
    ref = await unready(place)
    await place.budget(
        lag=True,
        disruptionsAllowed=0,
        currentHealthy=0,
        desiredHealthy=1,
        spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"},
    )

    assert (await place.evict(ref))["status"] == "Success"


async def test_always_allow_does_not_concern_ready_pods(place: Place) -> None:
    ref = await place.pod(phase="Running")
    policy = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}
    await place.budget(disruptionsAllowed=0, spec=policy)

    assert (await refused(place.evict(ref))).code == 429


# ------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("current", "desired", "reason"),
    [
        (0, 1, "needs 1 healthy pods and has 0 currently"),
        (1, 1, "needs 1 healthy pods and has 1 currently"),
        (2, 1, "does not allow evicting pods currently"),
    ],
)
async def test_an_exhausted_budget(place: Place, current: int, desired: int, reason: str) -> None:
    ref = await place.pod(phase="Running")
    await place.budget(disruptionsAllowed=0, currentHealthy=current, desiredHealthy=desired)
    error = await refused(place.evict(ref))

    assert (error.code, error.reason) == (429, "TooManyRequests")
    assert error.message == REFUSED
    assert error.retry_after_s is None
    assert reasons(error.status) == [f"The disruption budget budget {reason}"]
    assert error.status["details"]["causes"][0]["reason"] == "DisruptionBudget"
    assert not await is_going(place)


async def test_a_budget_that_could_not_be_computed(place: Place) -> None:
    ref = await place.pod(phase="Running")
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "SyncFailed",
        "message": "no controller",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    await place.budget(disruptionsAllowed=0, conditions=[condition])
    error = await refused(place.evict(ref))

    [reason] = reasons(error.status)
    assert reason == (
        "The disruption budget budget does not allow evicting pods currently because it failed "
        "sync: no controller"
    )


async def test_a_budget_that_lags(place: Place) -> None:
    ref = await place.pod(phase="Running")
    await place.budget(lag=True)
    error = await refused(place.evict(ref))

    assert (error.code, error.reason, error.message) == (429, "TooManyRequests", REFUSED)
    assert error.retry_after_s == 10
    assert reasons(error.status) == [
        "The disruption budget budget is still being processed by the server."
    ]


async def test_two_budgets(place: Place) -> None:
    ref = await place.pod(phase="Running")
    await place.budget("one")
    await place.budget("two")
    error = await refused(place.evict(ref))

    assert error.code == 500
    assert error.message == (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
        "support."
    )


async def test_no_pod(place: Place) -> None:
    error = await refused(place.evict(place.ref(PODS, "no")))

    assert (error.code, error.reason) == (404, "NotFound")
    assert error.message == 'pods "no" not found'


async def test_another_name(place: Place) -> None:
    ref = await place.pod(phase="Running")
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "other"}}
    error = await refused(place.api.create(ref, body, subresource="eviction"))

    assert (error.code, error.reason) == (400, "BadRequest")


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
async def test_preconditions(place: Place, field: str) -> None:
    ref = await place.pod(phase="Running")
    error = await refused(place.evict(ref, preconditions={field: "1"}))

    assert (error.code, error.reason) == (409, "Conflict")
    assert not await is_going(place)


@pytest.mark.parametrize("phase", ["", "Succeeded"])
async def test_preconditions_hold_without_budgets_too(place: Place, phase: str) -> None:
    ref = await place.pod(phase=phase)
    error = await refused(place.evict(ref, preconditions={"uid": "another"}))

    assert (error.code, error.reason) == (409, "Conflict")
    assert await exists(place.api, ref)


async def test_the_right_pod(place: Place) -> None:
    ref = await place.pod(phase="Running")
    meta = (await place.api.get(ref))["metadata"]
    conditions = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    await place.evict(ref, preconditions=conditions)

    assert await is_going(place)


async def test_the_disruption_is_taken_before_the_uid_is_looked_at(place: Place) -> None:
    """A known weakness of the real server: the budget pays for an eviction that did not happen."""
    ref = await place.pod(phase="Running")
    budget = await place.budget(disruptionsAllowed=1)
    await refused(place.evict(ref, preconditions={"uid": "another"}))

    assert (await place.api.get(budget))["status"]["disruptionsAllowed"] == 0
