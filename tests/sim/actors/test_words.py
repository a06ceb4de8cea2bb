"""What is said of all that a node has against a pod: what kube-scheduler would say."""

from __future__ import annotations

import pytest

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.sim.actors import placing

WORDS_OF: dict[str, tuple[set[Constraint], str]] = {
    "a cordon before a taint": ({Constraint.TAINT, Constraint.UNSCHEDULABLE}, "unschedulable"),
    "a taint before a selector": ({Constraint.NODE_SELECTOR, Constraint.TAINT}, "taint"),
    "a selector before a port": ({Constraint.HOST_PORT, Constraint.NODE_SELECTOR}, "selector"),
    "affinity before room": ({Constraint.RESOURCES, Constraint.NODE_AFFINITY}, "affinity"),
    "a cordon before room": ({Constraint.RESOURCES, Constraint.UNSCHEDULABLE}, "unschedulable"),
    "a taint before room": ({Constraint.RESOURCES, Constraint.TAINT}, "taint"),
    "a port before room": ({Constraint.RESOURCES, Constraint.HOST_PORT}, "free ports"),
    "room before a disk": ({Constraint.DISK, Constraint.RESOURCES}, "Insufficient"),
    "room before a volume": ({Constraint.VOLUME, Constraint.RESOURCES}, "Insufficient"),
    "a disk before a limit": ({Constraint.VOLUME_LIMIT, Constraint.DISK}, "available disk"),
    "a limit before a volume": ({Constraint.VOLUME, Constraint.VOLUME_LIMIT}, "max volume"),
    "a volume before spreading": ({Constraint.SPREAD, Constraint.VOLUME}, "PersistentVolume"),
    "spreading before affinity": ({Constraint.POD_AFFINITY, Constraint.SPREAD}, "spread"),
    "affinity before anti-affinity": (
        {Constraint.POD_ANTI_AFFINITY, Constraint.POD_AFFINITY},
        "pod affinity",
    ),
}


@pytest.mark.parametrize("name", WORDS_OF)
def test_a_node_counts_under_the_first_filter_that_refuses(name: str) -> None:
    constraints, word = WORDS_OF[name]
    for order in (sorted(constraints), sorted(constraints, reverse=True)):
        (said,) = placing.said_of([Refusal(one, "x", "") for one in order])
        assert word in said


def test_every_reason_of_a_node_has_its_filter() -> None:
    of_nodes = {one for one in Constraint if one.said or one is Constraint.RESOURCES}

    assert of_nodes == set(placing.FILTERS)


def test_all_that_there_is_too_little_of_is_said() -> None:
    short = [Refusal(Constraint.RESOURCES, name, "", 1) for name in ("cpu", "memory", "pods")]

    said = list(placing.said_of(short))

    assert said == ["Insufficient cpu", "Insufficient memory", "Too many pods"]
    counted = str(placing.No(3, {"Insufficient cpu": 2, "Insufficient memory": 1}))
    assert counted == "0/3 nodes are available: 1 Insufficient memory, 2 Insufficient cpu."
