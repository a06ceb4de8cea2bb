"""What several end-to-end modules stand on: a control plane whose kube-scheduler is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.controlplane import ControlPlane
from tests.e2e import vouching
from tests.e2e.vouching import Court


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with vouching.control_plane(tmp_path_factory.mktemp("plane")) as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def court(plane: ControlPlane) -> AsyncIterator[Court]:
    async with vouching.opened(plane) as opened:
        yield opened
