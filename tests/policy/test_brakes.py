"""When no method acts, whatever it would find."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import IDENTITY, at, condition, moment, node, pod
from unmoor.model.disruption import DisruptionPhase, LeftOut, LeftOutReason, MovedOwner
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.policy import brakes

HOMELESS = (builders.changed(condition("PodScheduled", "False"), reason="Unschedulable"),)


def why(*objects: Any, since: float = 0.0, settings: Settings = Settings()) -> tuple[str, ...]:
    view = View.of(*objects, settings=settings, identity=IDENTITY)
    return brakes.why(view, since, moment())


def fleet(ready: int, silent: int, **given: Any) -> list[Any]:
    up = [node(f"up-{number}") for number in range(ready)]
    return up + [node(f"silent-{n}", is_ready=False, **given) for n in range(silent)]


@pytest.mark.parametrize(
    ("ready", "silent", "share", "is_braked"),
    [
        (0, 3, 0.45, False),  # so few are nothing
        (0, 4, 0.45, True),
        (11, 9, 0.45, False),  # just so many
        (10, 9, 0.45, True),
        (100, 4, 0.0, True),
        (0, 9, 1.0, False),
    ],
)
def test_many_silent_nodes(ready: int, silent: int, share: float, *, is_braked: bool) -> None:
    found = why(*fleet(ready, silent), settings=Settings(not_ready_share_most=share))

    assert bool(found) is is_braked
    if found:
        assert f"{silent} of {ready + silent} nodes are not ready (silent-0" in found[0]


@pytest.mark.parametrize("given", [{"deleted_at": at(0)}, {"is_joined": False}])
def test_nodes_that_come_and_go_are_no_trouble(given: dict[str, Any]) -> None:
    assert why(*fleet(1, 9, **given)) == ()


@pytest.mark.parametrize(("after_s", "is_braked"), [(0, True), (59, True), (60, False)])
def test_it_looks_on_for_a_while(after_s: float, *, is_braked: bool) -> None:
    since = moment().mono - after_s

    assert bool(why(since=since, settings=Settings(quiet_after_start_s=60))) is is_braked


def over(number: int, *, failed: bool) -> Any:
    made = builders.disruption(
        f"consolidation-{number}",
        phase=DisruptionPhase.CANCELLED if failed else DisruptionPhase.SUCCEEDED,
        finished_at=at(number),
    )
    why_not = LeftOut(reason=LeftOutReason.REPLACEMENT_FAILED, message="no capacity")
    return builders.changed(
        made,
        status=builders.changed(
            made.status, message="no capacity", left_out={"a": why_not} if failed else {}
        ),
    )


@pytest.mark.parametrize(
    ("failed", "most", "is_braked"),
    [
        ("fffff", 5, True),
        ("sfffff", 5, True),
        ("fffffs", 5, False),
        ("ffff", 5, False),
        ("f", 1, True),
        ("fffff", 0, False),
        ("", 1, False),
    ],
)
def test_one_command_after_the_other_fails(failed: str, most: int, *, is_braked: bool) -> None:
    commands = [over(number, failed=one == "f") for number, one in enumerate(failed)]

    found = why(*reversed(commands), settings=Settings(failed_commands_most=most))

    assert bool(found) is is_braked
    if found:
        last = f"consolidation-{len(failed) - 1}"
        assert f"at last {last}: no capacity; once that is mended, kubectl delete" in found[0]


def test_the_last_command_is_the_one_that_was_made_last() -> None:
    """The clock was wrong when the others ended."""
    failed = [over(9_999 + number, failed=True) for number in range(5)]
    well = builders.changed(over(0, failed=False), metadata__creation_timestamp=at(1))

    assert not why(*failed, well, settings=Settings(failed_commands_most=5))


def test_what_was_only_observed_neither_fails_nor_succeeds() -> None:
    failed = [over(number, failed=True) for number in range(5)]
    seen = over(9, failed=False)
    seen = builders.changed(seen, spec=builders.changed(seen.spec, is_observed=True))

    assert why(*failed, seen, settings=Settings(failed_commands_most=5))


def moved(ended_s: float) -> Any:
    owner = MovedOwner(kind="Rollout", namespace="shop", name="web", uid="uid-Rollout-web", ready=1)
    over = builders.disruption(
        "consolidation-1", phase=DisruptionPhase.SUCCEEDED, finished_at=at(ended_s)
    )
    return builders.changed(over, spec=builders.changed(over.spec, moved=(owner,)))


@pytest.mark.parametrize(
    ("ended_s", "conditions", "is_braked"),
    [
        (0, HOMELESS, True),
        (-599, HOMELESS, True),
        (-600, HOMELESS, False),
        (599, HOMELESS, True),  # our clock was wrong
        (600, HOMELESS, False),
        (0, (), False),
    ],
)
def test_moved_pods_without_a_place(
    ended_s: float, conditions: tuple[Any, ...], *, is_braked: bool
) -> None:
    owners = (builders.owner("Rollout", "web"),)
    homeless = pod(on="", phase="Pending", conditions=conditions, owners=owners)

    found = why(moved(ended_s), homeless)

    assert bool(found) is is_braked
    if found:
        assert found[0].startswith("pod shop/web-1, moved by consolidation-1, has no place")
