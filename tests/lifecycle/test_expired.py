"""When has a machine expired, and what does the mark of its node say then? (11.15, R14)"""

from __future__ import annotations

import pytest

from tests.builders import at, condition, machine, node
from tests.lifecycle.driver import World
from tests.lifecycle.pending import provisioner
from tests.lifecycle.rows import CONDITIONS
from tests.lifecycle.test_drifted import MARK, UP, drift, mark, owner, world_of
from tests.lifecycle.worlds import the_machine
from unmoor.model.machine import MACHINE_DRIFTED, MACHINE_EMPTY, MACHINE_EXPIRED
from unmoor.model.moment import rfc3339


def expired(world: World) -> bool:
    world.settle(CONDITIONS)
    return the_machine(world).has(MACHINE_EXPIRED)


# T116
# T117
# T118
# T119
@pytest.mark.parametrize(
    ("ttl_s", "machine_s", "node_s", "is_expired"),
    [
        pytest.param(None, -60, -60, False, id="T115"),
        pytest.param(30, -60, -60, True, id="T116"),
        pytest.param(200, -60, -60, False, id="T117"),
        pytest.param(30, -1, -60, True, id="T118"),
        pytest.param(30, -60, -1, True, id="T119"),
        pytest.param(60, -60, -60, True, id="to the second"),
        pytest.param(0, 0, 0, True, id="always"),
    ],
)
def test_t115_to_t119_a_lifetime(
    ttl_s: int | None, machine_s: int, node_s: int, *, is_expired: bool
) -> None:
    spec = {} if ttl_s is None else {"ttlSecondsUntilExpired": ttl_s}
    world = World(
        machine(created_at=at(machine_s), conditions=(*UP, condition(MACHINE_EXPIRED))),
        node(created_at=at(node_s), annotations={MARK: "expired"}),
        provisioner("default", **spec),
    )

    assert expired(world) is is_expired
    assert (mark(world) == "expired") is is_expired


def test_t120_it_is_looked_at_again_when_it_ends() -> None:
    world = World(
        machine(created_at=at(-100)),
        node(created_at=at(-100)),
        provisioner("default", ttlSecondsUntilExpired=200),
    )

    assert world.settle(CONDITIONS) == world.moment.mono + 100
    world.wait(100)
    assert expired(world)
    (found,) = [c for c in the_machine(world).status.conditions if c.type == MACHINE_EXPIRED]
    assert found.message == f"at {rfc3339(at(100))} it was 200 s old (ttlSecondsUntilExpired)"


def test_a_later_look_at_one_that_has_expired_writes_nothing() -> None:
    world = World(
        machine(created_at=at(-100)),
        node(created_at=at(-100)),
        provisioner("default", ttlSecondsUntilExpired=30),
    )
    assert expired(world)
    written = the_machine(world).metadata.resource_version

    world.wait(3600)
    world.settle(CONDITIONS)
    assert the_machine(world).metadata.resource_version == written


# T122
def test_t121_t122_all_at_once() -> None:
    short = {"ttlSecondsUntilExpired": 0, "ttlSecondsAfterEmpty": 0}
    world = world_of(now=owner(labels={"a": "b"}, **short))
    drift(world)
    all_three = (MACHINE_EXPIRED, MACHINE_DRIFTED, MACHINE_EMPTY)

    assert all(the_machine(world).has(kind) for kind in all_three)
    assert mark(world) == "expired"  # the first of the methods
    world.put(owner())
    drift(world)
    assert not any(the_machine(world).has(kind) for kind in all_three)
    assert mark(world) is None


# The mirror (R14).


def test_somebody_elses_mark_stays() -> None:
    world = world_of(now=owner(labels={"a": "b"}), node_annotations={MARK: "rebooting"})

    assert drift(world) is not None
    assert mark(world) == "rebooting"


def test_the_mark_that_is_there_stays_while_it_is_true() -> None:
    ends = owner(labels={"a": "b"}, ttlSecondsUntilExpired=0)
    world = world_of(now=ends, node_annotations={MARK: "drifted"})
    drift(world)

    assert mark(world) == "drifted"
