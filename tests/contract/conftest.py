"""Which faces there are in this run, each opened once for a case, in a place of its own."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contract import faces
from tests.contract.faces import FACES, Open, Place
from tests.controlplane import ControlPlane


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """An API server on its own."""
    with faces.real_plane() as started:
        yield started


@pytest.fixture(scope="session")
def collected_plane() -> Iterator[ControlPlane]:
    """An API server with nothing but the garbage collector and who empties namespaces."""
    with faces.real_plane(collects_garbage=True) as started:
        yield started


@pytest.fixture(params=FACES)
def face(request: pytest.FixtureRequest) -> Open:
    if request.param in faces.EMBEDDED:
        return faces.EMBEDDED[request.param]
    return faces.real(request.getfixturevalue("plane"))


@pytest.fixture(params=FACES)
def collected_face(request: pytest.FixtureRequest) -> Open:
    if request.param in faces.EMBEDDED:
        return faces.collected(faces.EMBEDDED[request.param])
    return faces.real(request.getfixturevalue("collected_plane"))


@pytest.fixture
async def place(face: Open) -> AsyncIterator[Place]:
    """Where a case plays."""
    async with face() as api:
        place = Place(api)
        await place.enter()
        yield place


@pytest.fixture
async def collected(collected_face: Open) -> AsyncIterator[Place]:
    """Where a case plays that wants a garbage collector."""
    async with collected_face() as api:
        place = Place(api)
        await place.enter()
        yield place
