"""How does a workload read in a line? How many are wanted, and how many there are.

Must not: count pods; what is shown is what the controllers wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.http.ages import age, duration, time_of
from unmoor.sim.http.columns import (
    AGE,
    NAME,
    NONE,
    Column,
    Layout,
    labels_text,
    name_of,
    numbers,
    part,
    text,
    wide,
)

_JOB_STATES = ("Complete", "Failed")
_JOB_LATER_STATES = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _containers(obj: JSON) -> list[str]:
    containers = part(obj, "spec", "template", "spec", "containers") or []
    names = (str(one.get("name", "")) for one in containers)
    images = (str(one.get("image", "")) for one in containers)
    return [",".join(names), ",".join(images)]


def selector_text(selector: JSON) -> str:
    """A label selector as people write it."""
    parts = [(key, f"{key}={value}") for key, value in part(selector, "matchLabels").items()]
    parts += _expressions(selector.get("matchExpressions") or [])
    return ",".join(shown for _, shown in sorted(parts)) or NONE


def _expressions(expressions: list[JSON]) -> Iterator[tuple[str, str]]:
    for one in expressions:
        key, values = one.get("key", ""), ",".join(sorted(one.get("values") or ()))
        match one.get("operator"):
            case "In":
                yield key, f"{key} in ({values})"
            case "NotIn":
                yield key, f"{key} notin ({values})"
            case "Exists":
                yield key, key
            case _:
                yield key, f"!{key}"


def _wanted(obj: JSON) -> int:
    found = part(obj, "spec").get("replicas")
    return 1 if found is None else int(found)


def _deployment(obj: JSON, now: datetime) -> list[Any]:
    found = part(obj, "status")
    return [
        name_of(obj),
        f"{found.get('readyReplicas', 0)}/{_wanted(obj)}",
        found.get("updatedReplicas", 0),
        found.get("availableReplicas", 0),
        age(obj, now),
        *_containers(obj),
        selector_text(part(obj, "spec", "selector")),
    ]


def _replica_set(obj: JSON, now: datetime) -> list[Any]:
    found = part(obj, "status")
    counts = [_wanted(obj), found.get("replicas", 0), found.get("readyReplicas", 0)]
    return [
        name_of(obj),
        *counts,
        age(obj, now),
        *_containers(obj),
        selector_text(part(obj, "spec", "selector")),
    ]


def _stateful_set(obj: JSON, now: datetime) -> list[Any]:
    ready = f"{part(obj, 'status').get('readyReplicas', 0)}/{_wanted(obj)}"
    return [name_of(obj), ready, age(obj, now), *_containers(obj)]


_DAEMON_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def _daemon_set(obj: JSON, now: datetime) -> list[Any]:
    found = part(obj, "status")
    return [
        name_of(obj),
        *(found.get(name, 0) for name in _DAEMON_COUNTS),
        labels_text(part(obj, "spec", "template", "spec", "nodeSelector")),
        age(obj, now),
        *_containers(obj),
        selector_text(part(obj, "spec", "selector")),
    ]


def _job(obj: JSON, now: datetime) -> list[Any]:
    spec, found = part(obj, "spec"), part(obj, "status")
    done = found.get("succeeded", 0)
    if spec.get("completions") is not None:
        progress = f"{done}/{spec['completions']}"
    elif (spec.get("parallelism") or 0) > 1:
        progress = f"{done}/1 of {spec['parallelism']}"
    else:
        progress = f"{done}/1"
    began = time_of(found.get("startTime"))
    lasted = ""
    if began is not None:
        lasted = duration((time_of(found.get("completionTime")) or now) - began)
    cells = [name_of(obj), _job_state(obj), progress, lasted, age(obj, now)]
    return [*cells, *_containers(obj), selector_text(part(obj, "spec", "selector"))]


def _job_state(obj: JSON) -> str:
    conditions = part(obj, "status", "conditions") or []
    true = {one.get("type") for one in conditions if one.get("status") == "True"}
    for state in _JOB_STATES:
        if state in true:
            return state
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    return next((state for state in _JOB_LATER_STATES if state in true), "Running")


def _scale(obj: JSON, now: datetime) -> list[Any]:
    wanted, found = (part(obj, where).get("replicas", 0) for where in ("spec", "status"))
    return [name_of(obj), wanted, found, age(obj, now)]


def _revision(obj: JSON, now: datetime) -> list[Any]:
    owners = part(obj, "metadata", "ownerReferences") or []
    owner = next((one for one in owners if one.get("controller")), None)
    shown = NONE
    if owner is not None:
        group = owner.get("apiVersion", "").rpartition("/")[0]
        kind = owner.get("kind", "").lower()
        shown = f"{kind}.{group}/{owner.get('name', '')}" if group else f"{kind}/{owner['name']}"
    return [name_of(obj), shown, obj.get("revision", 0), age(obj, now)]


_PARTS = wide("Containers", "Images")

SCALE = Layout((NAME, *numbers("Desired", "Available"), AGE), _scale)
"""What is behind the door of that name."""
LAYOUTS: dict[str, Layout] = {
    "ControllerRevision": Layout(
        (NAME, Column("Controller"), Column("Revision", type="integer"), AGE), _revision
    ),
    "Deployment": Layout(
        (NAME, *text("Ready", "Up-to-date", "Available", "Age"), *_PARTS, *wide("Selector")),
        _deployment,
    ),
    "ReplicaSet": Layout(
        (NAME, *numbers("Desired", "Current", "Ready"), AGE, *_PARTS, *wide("Selector")),
        _replica_set,
    ),
    "StatefulSet": Layout((NAME, *text("Ready", "Age"), *_PARTS), _stateful_set),
    "DaemonSet": Layout(
        (
            NAME,
            *numbers("Desired", "Current", "Ready", "Up-to-date", "Available"),
            *text("Node Selector", "Age"),
            *_PARTS,
            *wide("Selector"),
        ),
        _daemon_set,
    ),
    "Job": Layout(
        (NAME, *text("Status", "Completions", "Duration", "Age"), *_PARTS, *wide("Selector")),
        _job,
    ),
}
