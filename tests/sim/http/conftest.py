"""One face for a case."""

from collections.abc import AsyncIterator

import pytest

from tests.sim.http.client import Client, opened


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with opened() as client:
        yield client
