"""What several tests of the client need."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kube.kubeconfigs import KEY, PEM, write
from tests.kube.server import ManualClock, Server, node, says


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the kubeconfig goes; certificates and a token lie beside it."""
    write(tmp_path / "ca.crt", PEM)
    write(tmp_path / "client.crt", PEM)
    write(tmp_path / "client.key", KEY)
    write(tmp_path / "token", "t0ken\n")
    return tmp_path / "config"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """It answers to everybody."""
    async with Server() as running:
        running.otherwise = says(200, node("a"))
        yield running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
