"""What is not done again so soon, though it would save something ("Ours, on top")."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import at
from tests.policy.underused import (
    LARGE,
    MEDIUM,
    SMALL,
    bought,
    going,
    node,
    pod,
    proposed,
    verdict_on,
)
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase, MovedOwner
from unmoor.model.settings import Settings
from unmoor.policy.command import Proposal
from unmoor.policy.verdict import Reason

HOUR = 3_600.0


def came_for(types: str, name: str = "a", of: Any = LARGE, made_s: float = 0.0) -> Any:
    """A node that came in place of nodes of these types."""
    there, machine = node(name, of)
    kept = {**machine.metadata.annotations, names.REPLACED_TYPES: types}
    metadata = builders.changed(machine.metadata, annotations=kept, creation_timestamp=at(made_s))
    return there, builders.changed(machine, metadata=metadata)


@pytest.mark.parametrize(
    ("types", "comes"),
    [
        ("", ("small", "medium")),
        ("large", ("small", "medium")),
        ("small", ("medium",)),
        ("medium, large", ("small",)),
        (", ,", ("small", "medium")),
    ],
)
def test_a_type_that_it_replaced_does_not_come_again(types: str, comes: tuple[str, ...]) -> None:
    proposal = proposed(came_for(types), pod("web-1", "a"))

    assert (going(proposal), bought(proposal)) == (["a"], [comes])


@pytest.mark.parametrize(
    ("after_s", "settings", "goes"),
    [
        (6 * HOUR - 1, {}, False),
        (6 * HOUR, {}, True),
        (-6 * HOUR, {}, True),  # a clock was wrong
        (1, {"replaced_type_respect_s": 0.0}, True),
        (HOUR, {"replaced_type_respect_s": HOUR}, True),
        (HOUR - 1, {"replaced_type_respect_s": HOUR}, False),
    ],
)
def test_a_to_b_to_a_takes_its_time(
    after_s: float, settings: dict[str, Any], *, goes: bool
) -> None:
    proposal = proposed(
        came_for("small,medium"), pod("web-1", "a"), after_s=after_s, settings=Settings(**settings)
    )

    assert going(proposal) == (["a"] if goes else [])
    if not goes:
        told = verdict_on(proposal, "a")
        assert told.reason is Reason.NOT_WORTH_IT
        assert "node a came in place of one of type small" in told.message


def test_it_is_deleted_all_the_same_where_its_pods_fit_elsewhere() -> None:
    proposal = proposed(
        came_for("small,medium", of=MEDIUM), node("b"), pod("web-1", "a"), pod("api-1", "b", "8")
    )

    assert "a" in going(proposal)


def test_one_of_several_is_enough() -> None:
    """Three small ones that came for a medium one do not become a medium one again."""
    nodes = [came_for("medium", "a"), node("b"), node("c")]
    pods = [pod(f"web{name}-1", name) for name in "abc"]

    proposal = proposed(*nodes, *pods)

    assert all("medium" not in types for types in bought(proposal))


def moved(
    after_s: float, *, deletions: bool = False, homeless: str = "", beside: str = "api-1"
) -> Proposal:
    """The workload on ``a`` was moved by a command; it would fit onto ``b``.

    ``homeless``: the uid of an owner of which a pod found no place then.
    """
    owner = MovedOwner(kind="ReplicaSet", namespace="shop", name="web", uid="uid-ReplicaSet-web")
    before = builders.disruption(
        "consolidation-1", phase=DisruptionPhase.SUCCEEDED, finished_at=at(0)
    )
    status = builders.changed(before.status, homeless={homeless: "shop/web-7"} if homeless else {})
    spec = builders.changed(before.spec, moved=(owner,))
    before = builders.changed(before, spec=spec, status=status)
    pods = [pod("web-1", "a", "100m"), pod(beside, "b", "100m"), pod("api-2", "b", "100m")]
    settings = Settings(moved_workload_respect_deletions=deletions)
    nodes = [node("a", SMALL), node("b", SMALL)]
    return proposed(*nodes, *pods, before, after_s=after_s, settings=settings)


@pytest.mark.parametrize(
    ("after_s", "deletions", "goes"),
    [(1_799, False, ["a"]), (1_799, True, ["b"]), (1_800, True, ["a"])],
)
def test_a_deletion_minds_what_was_moved_lately_where_a_person_wants_that(
    after_s: float, *, deletions: bool, goes: list[str]
) -> None:
    proposal = moved(after_s, deletions=deletions)

    assert going(proposal) == goes


@pytest.mark.parametrize(
    ("after_s", "homeless", "goes"),
    [
        (1_799, "uid-ReplicaSet-web", ["b"]),
        (1_800, "uid-ReplicaSet-web", ["a"]),
        (1_799, "uid-ReplicaSet-other", ["a"]),
    ],
)
def test_a_deletion_minds_who_found_no_place(
    after_s: float, homeless: str, goes: list[str]
) -> None:
    proposal = moved(after_s, homeless=homeless)

    assert going(proposal) == goes


def test_who_found_no_place_is_named() -> None:
    proposal = moved(1, homeless="uid-ReplicaSet-web", beside="web-2")

    assert going(proposal) == []
    told = verdict_on(proposal, "a")
    assert told.reason is Reason.NOT_WORTH_IT
    assert "pod shop/web-7 of it found no place: nothing moves it again" in told.message


def test_of_many_those_go_whose_workloads_were_not_moved() -> None:
    owner = MovedOwner(kind="ReplicaSet", namespace="shop", name="a", uid="uid-ReplicaSet-a")
    before = builders.disruption(
        "consolidation-1", phase=DisruptionPhase.SUCCEEDED, finished_at=at(0)
    )
    before = builders.changed(before, spec=builders.changed(before.spec, moved=(owner,)))
    nodes = [node(name, SMALL) for name in "abcd"]
    pods = [pod(f"{name}-1", name, "100m") for name in "abcd"]
    settings = Settings(moved_workload_respect_deletions=True)

    proposal = proposed(*nodes, *pods, before, after_s=1, settings=settings)

    assert len(going(proposal)) == 3
    assert "a" not in going(proposal)


@pytest.mark.parametrize(("nodes", "goes"), [(("a", "b"), False), (("a",), True)])
def test_who_was_not_moved_after_all_may_be_moved(nodes: tuple[str, ...], *, goes: bool) -> None:
    """Of the command that was called off ``b`` is gone already, where it was part of it."""
    moved = MovedOwner(kind="ReplicaSet", namespace="shop", name="web", uid="uid-ReplicaSet-web")
    off = builders.disruption(
        "drift-1", nodes=nodes, phase=DisruptionPhase.CANCELLED, finished_at=at(0)
    )
    off = builders.changed(off, spec=builders.changed(off.spec, moved=(moved,)))

    assert going(proposed(node("a"), pod("web-1", "a"), off)) == (["a"] if goes else [])
