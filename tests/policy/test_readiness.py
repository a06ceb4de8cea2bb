"""For how long is a node that is not ready expected to become so? (T313)"""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import at, changed, condition, moment, node
from unmoor.model import names
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.model.taint import Taint
from unmoor.policy.readiness import late_nodes, pauses

NOT_READY = Taint(key=names.NOT_READY, effect="NoSchedule")
UNREACHABLE = Taint(key=names.UNREACHABLE, effect="NoSchedule")
UNCLAIMED = Taint(key=names.UNINITIALIZED, value="true", effect="NoSchedule")
OTHER = Taint(key="example.org/mine", effect="NoSchedule")


def silent(since_s: float, taint: Taint = NOT_READY, status: str = "Unknown") -> Any:
    """A node that was up until ``since_s`` before now."""
    ready = condition("Ready", status, since=at(-since_s))
    return changed(node("a", taints=(taint,)), status__conditions=(ready,))


def coming(made_s: float, **more: Any) -> Any:
    """One that was made so long ago, and never was up."""
    made = node("a", taints=(NOT_READY,), created_at=at(-made_s), **more)
    labels = {k: v for k, v in made.metadata.labels.items() if k != names.INITIALIZED}
    return changed(made, metadata__labels=labels, status__conditions=())


def stray(made_s: float) -> Any:
    """One that nobody has launched for us."""
    one = coming(made_s)
    labels = {k: v for k, v in one.metadata.labels.items() if k != names.PROVISIONER_NAME}
    return changed(one, metadata__labels=labels)


@pytest.mark.parametrize(
    ("given", "is_late"),
    [
        pytest.param(silent(299), False, id="silent for a while"),
        pytest.param(silent(300), True, id="silent for long"),
        pytest.param(silent(300, status="False"), True, id="its kubelet says no"),
        pytest.param(silent(300, UNREACHABLE), True, id="unreachable"),
        pytest.param(silent(300, UNCLAIMED, "True"), True, id="ready and never claimed"),
        pytest.param(silent(299, status="True"), False, id="just ready again, its taint still on"),
        pytest.param(silent(9_999, OTHER, "False"), False, id="without such a taint"),
        pytest.param(coming(899), False, id="on its way up"),
        pytest.param(coming(900), True, id="never up"),
        pytest.param(stray(300), True, id="not ours to wait for"),
        pytest.param(silent(-60), False, id="a stamp of the future"),
        pytest.param(
            changed(silent(0), status__conditions=(), metadata__creation_timestamp=None),
            False,
            id="nobody says since when",
        ),
    ],
)
def test_how_long_a_node_is_waited_for(given: Any, *, is_late: bool) -> None:
    view = View.of(given, identity=builders.IDENTITY)

    assert late_nodes(view, moment()) == (frozenset({"a"}) if is_late else frozenset())


def test_the_time_is_a_setting() -> None:
    short = Settings().cadence.__class__(unready_node_limit_s=10)
    view = View.of(silent(11), identity=builders.IDENTITY, settings=Settings(cadence=short))

    assert late_nodes(view, moment()) == {"a"}


def nodes_of(*ages: tuple[float, bool]) -> list[Any]:
    """Nodes of one provisioner: made so long ago, and whether they were ever up."""
    found = []
    for number, (made_s, was_up) in enumerate(ages):
        one = coming(made_s)
        labels = {**one.metadata.labels, **({names.INITIALIZED: "true"} if was_up else {})}
        changes = {"metadata__name": f"n{number}", "metadata__labels": labels}
        found.append(changed(one, **changes, spec__taints=() if was_up else (NOT_READY,)))
    return found


MIN = 60.0
FAILED, UP = False, True


@pytest.mark.parametrize(
    ("ages", "left_min"),
    [
        pytest.param([], None, id="nothing there"),
        pytest.param([(16 * MIN, FAILED)], None, id="one may be bad luck"),
        pytest.param([(60 * MIN, FAILED), (14 * MIN, FAILED)], None, id="one may still come"),
        pytest.param([(60 * MIN, FAILED), (16 * MIN, FAILED)], 14, id="two"),
        pytest.param([(60 * MIN, FAILED), (31 * MIN, FAILED)], None, id="two: it is over"),
        pytest.param([(99 * MIN, FAILED)] * 2 + [(31 * MIN, FAILED)], 29, id="three: an hour"),
        pytest.param([(31 * MIN, FAILED)] * 9, 209, id="nine: four hours are the most"),
        pytest.param(
            [(60 * MIN, FAILED), (16 * MIN, FAILED), (10 * MIN, UP)], None, id="one is up since"
        ),
        pytest.param(
            [(60 * MIN, FAILED), (20 * MIN, UP), (16 * MIN, FAILED)], None, id="not in a row"
        ),
        pytest.param(
            [(90 * MIN, UP), (60 * MIN, FAILED), (16 * MIN, FAILED)], 14, id="one was up before"
        ),
    ],
)
def test_a_provisioner_whose_nodes_never_become_ready_pauses(
    ages: list[tuple[float, bool]], left_min: float | None
) -> None:
    view = View.of(*nodes_of(*ages), identity=builders.IDENTITY)
    found = pauses(view, late_nodes(view, moment()), moment())

    assert {name: one.for_s / 60 for name, one in found.items()} == (
        {} if left_min is None else {"default": left_min}
    )


def test_a_pause_names_the_nodes() -> None:
    view = View.of(*nodes_of(*[(20 * MIN, FAILED)] * 5), identity=builders.IDENTITY)
    [pause] = pauses(view, late_nodes(view, moment()), moment()).values()

    assert str(pause).startswith("its last 5 nodes have not become ready (n0, n1, n2 and 2 more)")


def test_nodes_of_others_do_not_count() -> None:
    theirs = [changed(one, metadata__annotations={}) for one in nodes_of(*[(16 * MIN, FAILED)] * 3)]
    view = View.of(*theirs, identity=builders.IDENTITY)

    assert pauses(view, late_nodes(view, moment()), moment()) == {}
