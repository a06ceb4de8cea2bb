"""Whether a pod may be evicted now: the Eviction API, budget by budget.

A pod that has not started, has ended, or is on its way out is deleted without a look at budgets.
Any other needs one disruption of the one budget that selects it; taking it is a write to the
budget's status, before the deletion. Two budgets on a pod are an error of the cluster: 500.

Must not: compute a budget; the disruption controller does.
"""

from __future__ import annotations

import msgspec

from unmoor.model.base import JSON, Key
from unmoor.model.selector import LabelSelector, SelectorError
from unmoor.runtime.ports import ApiError, DeleteOptions
from unmoor.sim.apiserver import deletion, status
from unmoor.sim.apiserver.conditions import with_condition
from unmoor.sim.apiserver.status import Cause
from unmoor.sim.apiserver.storage import Store, Table

RETRY_AFTER_S = 10
"""Asked for while a budget's status lags behind its spec."""
DISRUPTED_PODS_LIMIT = 2000
"""Evictions that the disruption controller has not seen yet."""

_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_TWO_BUDGETS = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


def evict(store: Store, key: Key, body: JSON, *, dry_run: bool = False) -> JSON:
    """POST pods/eviction."""
    if (body.get("metadata") or {}).get("name") != key[1]:
        raise status.bad_request("name in URL does not match name in Eviction object")
    pods = store.tables["Pod"]
    pod = pods.objects.get(key)
    if pod is None:
        raise status.not_found(pods.resource, key[1])
    options = deletion.options_of(body.get("deleteOptions"))
    if dry_run and not options.dry_run:
        options = msgspec.structs.replace(options, dry_run=True)
    if not _ignores_budgets(pod):
        budgets = budgets_of(store.tables["PodDisruptionBudget"], pod)
        if len(budgets) > 1:
            raise status.failure(500, "", _TWO_BUDGETS)
        if budgets and not _ignores_this_budget(pod, budgets[0]):
            _take_disruption(store, budgets[0], pod, options)
    _delete(store, key, options)
    return status.success(201)


def budgets_of(table: Table, pod: JSON) -> list[JSON]:
    """The budgets that select this pod, by name. Without a selector one selects nothing."""
    meta = pod["metadata"]
    labels = meta.get("labels") or {}
    found = []
    for key, budget in table.objects.items():
        if key[0] == meta["namespace"]:
            selector = (budget.get("spec") or {}).get("selector")
            if selector is not None and _selects(selector, labels):
                found.append(budget)
    return sorted(found, key=lambda one: str(one["metadata"]["name"]))


def _selects(selector: JSON, labels: dict[str, str]) -> bool:
    if "matchExpressions" not in selector:
        wanted = selector.get("matchLabels") or {}
        return all(labels.get(key) == value for key, value in wanted.items())
    try:
        return msgspec.convert(selector, LabelSelector).matches(labels)
    except (msgspec.ValidationError, SelectorError):
        return False


def _ignores_budgets(pod: JSON) -> bool:
    """Such a pod does not count as healthy for any budget."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in {"Pending", *deletion.TERMINAL} or "deletionTimestamp" in pod["metadata"]


def _is_ready(pod: JSON) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _ignores_this_budget(pod: JSON, budget: JSON) -> bool:
    """An unready pod may go when its budget says so, or is held without it."""
    if _is_ready(pod):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    found = budget.get("status") or {}
    desired = found.get("desiredHealthy", 0)
    return bool(desired > 0 and found.get("currentHealthy", 0) >= desired)


def _refusal(message: str, retry_after_s: int = 0) -> ApiError:
    return status.too_many_requests(_REFUSED, Cause("DisruptionBudget", message), retry_after_s)


def _take_disruption(store: Store, budget: JSON, pod: JSON, options: DeleteOptions) -> None:
    """Count one disruption against the budget, or say why not."""
    name = budget["metadata"]["name"]
    found = budget.get("status") or {}
    if found.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        text = f"The disruption budget {name} is still being processed by the server."
        raise _refusal(text, RETRY_AFTER_S)
    table = store.tables["PodDisruptionBudget"]
    allowed = found.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise status.forbidden(table.resource, name, "pdb disruptions allowed is negative")
    if len(found.get("disruptedPods") or ()) > DISRUPTED_PODS_LIMIT:
        text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise status.forbidden(table.resource, name, text)
    if allowed == 0:
        raise _refusal(_why_exhausted(name, found))
    if options.dry_run:
        return
    now = store.now()
    disrupted = {**(found.get("disruptedPods") or {}), pod["metadata"]["name"]: now}
    new_status = {**found, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    if allowed == 1:
        new_status["conditions"] = _exhausted(budget, found.get("conditions") or [], now)
    meta = dict(budget["metadata"])
    store.put(table, (meta["namespace"], name), {**budget, "metadata": meta, "status": new_status})


def _why_exhausted(name: str, found: JSON) -> str:
    for one in found.get("conditions") or ():
        if one.get("reason") == "SyncFailed" and one.get("status") == "False":
            why = f"because it failed sync: {one.get('message', '')}"
            return f"The disruption budget {name} does not allow evicting pods currently {why}"
    desired, current = found.get("desiredHealthy", 0), found.get("currentHealthy", 0)
    if current <= desired:
        return (
            f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        )
    return f"The disruption budget {name} does not allow evicting pods currently"


def _exhausted(budget: JSON, conditions: list[JSON], now: str) -> list[JSON]:
    old = next((one for one in conditions if one.get("type") == "DisruptionAllowed"), {})
    moved = now if old.get("status") != "False" else old.get("lastTransitionTime", now)
    new = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["metadata"].get("generation", 0),
        "lastTransitionTime": moved,
        "reason": "InsufficientPods",
        "message": "",
    }
    if not old:
        return [*conditions, new]
    return [new if one is old else one for one in conditions]


def _delete(store: Store, key: Key, options: DeleteOptions) -> None:
    """Delete the pod, marked as a target first, so that its controller can tell why it went."""
    pods = store.tables["Pod"]
    pod = pods.objects[key]
    deletion.hold_preconditions(pods, pod, options)
    if not options.dry_run:
        _mark(store, pods, key, pod)
        options = msgspec.structs.replace(options, resource_version="")
    deletion.delete(store, pods, key, options)


def _mark(store: Store, pods: Table, key: Key, pod: JSON) -> None:
    found = pod.get("status") or {}
    before = found.get("conditions") or []
    why = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
    conditions = with_condition(before, "DisruptionTarget", store.now(), **why)
    if conditions is not before:
        new_status = {**found, "conditions": conditions}
        store.put(pods, key, {**pod, "metadata": dict(pod["metadata"]), "status": new_status})
