"""Does a real API server take every object as it stands, with all that it usually admits by?"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus

import pytest

from tests.controlplane import Component, ControlPlane, eventually
from tests.e2e.rest import Refused, Rest
from tests.sim.clusters.worlds import fresh, generate
from unmoor.model import crds
from unmoor.model.base import JSON
from unmoor.sim.clusters.mix import Kind, Mix, hard
from unmoor.sim.stored import SERVED

FIRST = ("Namespace", "PriorityClass", "RuntimeClass")
"""Others are not admitted without these; the rest is only tried."""
NO_ACCOUNTS = ["--disable-admission-plugins=ServiceAccount"]
MIXES = (*(hard(seed) for seed in range(12)), *(hard(3, kind) for kind in Kind), Mix(nodes=20))


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    directory = tmp_path_factory.mktemp("plane")
    extra: dict[Component, list[str]] = {"kube-apiserver": NO_ACCOUNTS}
    with ControlPlane(directory=directory, components=(), extra_args=extra) as started:
        started.create(*crds.all_crds())
        for crd in crds.all_crds():
            name = crd["metadata"]["name"]
            eventually("it is served", functools.partial(is_served, started, name))
        yield started


def is_served(plane: ControlPlane, name: str) -> bool:
    conditions = plane.get("crd", name).get("status", {}).get("conditions", [])
    return {c["type"]: c["status"] for c in conditions}.get("Established") == "True"


@pytest.fixture
async def rest(plane: ControlPlane) -> AsyncIterator[Rest]:
    async with Rest(plane) as opened:
        yield opened


async def refusal(rest: Rest, body: JSON) -> str:
    """What the server says against an object, "" when it takes it."""
    resource = SERVED[body["kind"]]
    path = resource.path(body["metadata"].get("namespace", ""))
    query = "" if body["kind"] in FIRST else "&dryRun=All"
    try:
        await rest.post(f"{path}?fieldValidation=Strict{query}", fresh(body))
    except Refused as refused:
        if refused.status != HTTPStatus.CONFLICT:
            return f"{body['kind']} {body['metadata']['name']}: {refused}"
    return ""


@pytest.mark.timeout(300)
async def test_every_object_is_taken(rest: Rest) -> None:
    bodies = [body for mix in MIXES for _, body in generate(mix)]
    for is_first in (True, False):
        some = [body for body in bodies if (body["kind"] in FIRST) == is_first]
        said = await asyncio.gather(*(refusal(rest, body) for body in some))
        assert [one for one in said if one] == []
    assert len(bodies) > 3000

    pod = next(body for body in bodies if body["kind"] == "Pod")
    misspelt = {**pod, "spec": {**pod["spec"], "nodename": "a"}}
    assert "nodename" in await refusal(rest, misspelt)
