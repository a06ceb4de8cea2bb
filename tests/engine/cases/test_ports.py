"""Host ports: which of them collide, and that pods that take them are kept apart (T383)."""

from __future__ import annotations

import pytest

from tests.engine.rounds import Rounds
from tests.engine.scenes import place, pod, reasons, template
from unmoor.engine.ports import HostPort
from unmoor.engine.refusal import Constraint

PLAIN = HostPort(8080, "TCP", "10.0.0.1")


@pytest.mark.parametrize(
    ("other", "collides"),
    [
        pytest.param(PLAIN, True, id="T383 the same"),
        pytest.param(HostPort(8080, "TCP", "10.0.0.2"), False, id="another address"),
        pytest.param(HostPort(8080, "TCP", "0.0.0.0"), True, id="every IPv4 address"),  # noqa: S104
        pytest.param(HostPort(8080, "TCP", "::"), True, id="every IPv6 address"),
        pytest.param(HostPort(8080, "TCP", ""), True, id="no address"),
        pytest.param(HostPort(8080, "UDP", "10.0.0.1"), False, id="another protocol"),
        pytest.param(HostPort(8081, "TCP", "10.0.0.1"), False, id="another port"),
        pytest.param(HostPort(8081, "TCP", "::"), False, id="another port, every address"),
    ],
)
def test_t383_which_ports_collide(other: HostPort, *, collides: bool) -> None:
    assert PLAIN.collides(other) == other.collides(PLAIN) == collides


def test_t383_a_port_as_text() -> None:
    assert str(PLAIN) == "TCP 10.0.0.1:8080"
    assert str(HostPort(53, "UDP")) == "UDP 53"


def test_pods_with_one_port_get_a_node_each() -> None:
    ports = [{"name": "main", "ports": [{"hostPort": 80}]}]

    played = Rounds(template())
    played.add(3, containers=ports)

    assert len(played.nodes) == 3


def test_a_node_with_that_port_taken_refuses() -> None:
    ports = [{"name": "main", "ports": [{"hostPort": 80}]}]
    there = pod("there", node="a", containers=ports)

    plan = Rounds(place("a", "z", there)).add(1, containers=ports)

    assert reasons(plan) == {Constraint.HOST_PORT}
