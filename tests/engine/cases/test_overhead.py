"""What DaemonSets, init containers and limits add to what a machine must have (T223-T234)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import provisioner
from tests.engine.pieces import (
    affinity,
    daemon_pod,
    daemon_set,
    instance_type,
    spec_of,
    view_of,
    wants,
    with_spec,
)
from tests.engine.scenes import as_object, pod, reasons, solve
from unmoor.engine.plan import Plan
from unmoor.engine.refusal import Constraint
from unmoor.engine.scenery import scene_of
from unmoor.model.pod import Pod, PodSpec
from unmoor.model.taint import Taint
from unmoor.model.workload import DaemonSet

TYPES = tuple(instance_type(f"cpu-{cpu}", cpu=cpu) for cpu in (1, 2, 4, 8, 16))
"""Each keeps 100m for itself and has twice as many GiB as cpu."""
STARTUP = Taint(key="example.org/agent", effect="NoSchedule")
DEDICATED = Taint(key="dedicated", value="db", effect="NoSchedule")


def planned(pending: Pod, *objects: Any, **spec: Any) -> Plan:
    offered = with_spec(provisioner(), **spec)
    return solve(scene_of(view_of(offered, *objects), TYPES), [pending])


def smallest(plan: Plan) -> str:
    """The cheapest type that the machine may be, "" where there is no machine."""
    return plan.machines[0].instance_types[0] if plan.machines else ""


def limited(**limits: str) -> PodSpec:
    """A container with limits and no requests."""
    resources = {"limits": limits}
    body = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
    spec: PodSpec = as_object(Pod, {"metadata": {"name": "p"}, **body}).spec
    return spec


ONE_OF_EACH: dict[str, Any] = {"cpu": "1", "memory": "1Gi"}
AGENT = daemon_set(spec=spec_of(ONE_OF_EACH))
UNREADABLE = spec_of(
    {"cpu": "1"},
    affinity=affinity((wants("team", "Sounds", "good"),)),
)
TIED = spec_of({"cpu": "1"}, affinity=affinity((wants("team", "NotIn", "a"),)))
ROWS: list[tuple[str, tuple[DaemonSet | Pod, ...], dict[str, Any], str]] = [
    ("T223", (AGENT,), {}, "cpu-4"),  # T223
    ("T223 without it", (), {}, "cpu-2"),
    ("T224", (AGENT,), {"startup_taints": (STARTUP,)}, "cpu-4"),  # T224
    ("T225", (daemon_set(spec=spec_of({"cpu": "10000"})),), {}, ""),  # T225
    (
        "T226",  # T226
        (daemon_set(spec=spec_of({"cpu": "4"})), daemon_pod("agent-1", cpu="1")),
        {},
        "cpu-4",
    ),
    ("T227", (daemon_set(spec=limited(cpu="10000")),), {}, ""),  # T227
    ("T232", (AGENT,), {"taints": (DEDICATED,)}, "cpu-2"),  # T232
    ("T233", (daemon_set(spec=UNREADABLE),), {}, "cpu-2"),  # T233
    ("T234", (daemon_set(spec=TIED),), {}, "cpu-4"),  # T234
]


@pytest.mark.parametrize(
    ("daemons", "spec", "expected"), [pytest.param(*rest, id=name) for name, *rest in ROWS]
)
def test_a_pod_of_one_cpu_and_what_daemon_sets_add(
    daemons: tuple[Any, ...], spec: dict[str, Any], expected: str
) -> None:
    pending = pod("p", **ONE_OF_EACH, tolerations=[{"key": "dedicated", "operator": "Exists"}])

    plan = planned(pending, *daemons, **spec)

    assert smallest(plan) == expected
    assert reasons(plan) == (set() if expected else {Constraint.INSTANCE_TYPE})


def container(requests: str = "", limits: str = "") -> dict[str, Any]:
    found = {
        name: {"cpu": amount}
        for name, amount in (("requests", requests), ("limits", limits))
        if amount
    }
    return {"name": "main", "resources": found}


REQUESTS: list[tuple[str, list[Any], list[Any], str]] = [
    # containers, init containers
    (
        "T228 init containers",  # T228
        [container("1"), container("500m")],
        [container("3"), container("2")],
        "cpu-4",
    ),
    ("T228 the sum", [container("3"), container("2")], [container("4")], "cpu-8"),
    ("T228 limits", [container("", "2"), container("500m", "4")], [], "cpu-4"),
    ("T228 limits of init containers", [container("500m")], [container("", "5")], "cpu-8"),
    ("T229", [container("10", "12"), container("10")], [container("18")], ""),  # T229
    ("T230", [container("1")], [container("10000")], ""),  # T230
    ("T230 as a limit", [container("1")], [container("", "10000")], ""),
    ("T231", [container()], [], "cpu-1"),  # T231
]


@pytest.mark.parametrize(
    ("containers", "init", "expected"), [pytest.param(*rest, id=name) for name, *rest in REQUESTS]
)
def test_what_a_pod_asks_decides_the_type(
    containers: list[Any], init: list[Any], expected: str
) -> None:
    plan = planned(pod("p", containers=containers, initContainers=init))

    assert smallest(plan) == expected
