"""A server for each test, on a clock that the test sets."""

import pytest

from tests.sim.apiserver.cast import Clock
from unmoor.sim.apiserver import Server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Server:
    return Server(clock, seed=1)
