"""Does the API server take every object: put back as it was, and created anew?"""

from datetime import UTC, datetime

import pytest

from tests.sim.clusters.worlds import fresh, generate
from unmoor.model import kinds
from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver import FAITHFUL, Server
from unmoor.sim.apiserver.terms import Terms
from unmoor.sim.clusters import public_mix
from unmoor.sim.clusters.mix import Mix, hard
from unmoor.sim.manifests import Manifest, make

NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)
STRICT = Terms(manager="test", validation="Strict")


def clusters() -> list[tuple[Manifest, ...]]:
    crowd = (
        make(kinds.NAMESPACES, public_mix.NAMESPACE),
        public_mix.provisioner(),
        *public_mix.diverse_pods(25),
        *public_mix.preferring_pods(3),
    )
    return [*(generate(hard(seed)) for seed in range(12)), generate(Mix(nodes=10)), crowd[:-3]]


@pytest.fixture
def server() -> Server:
    return Server(lambda: NOW, manners=FAITHFUL)


def test_as_they_were(server: Server) -> None:
    for objects in clusters()[:-1]:
        for ref, body in objects:
            kept = server.restore(ref, body)
            assert kept["metadata"]["uid"] == body["metadata"]["uid"]
            for part in ("spec", "status"):
                assert lost(body.get(part), kept.get(part)) == [], (str(ref), part)


def lost(given: object, kept: object, path: str = "") -> list[str]:
    """What a server has dropped or changed; what it adds is its own."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [one for key in given for one in lost(given[key], kept.get(key), f"{path}.{key}")]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        return [
            one
            for index, (a, b) in enumerate(zip(given, kept, strict=True))
            for one in lost(a, b, f"{path}[{index}]")
        ]
    return [] if given == kept else [path]


@pytest.mark.parametrize("number", range(14))
def test_created_anew(number: int, server: Server) -> None:
    """With nothing that a server gives out; a field that it does not know would be refused."""
    for ref, body in clusters()[number]:
        if ref.kind == "Namespace" and server.has(ref):
            continue
        try:
            server.create(ref, fresh(body), terms=STRICT)
        except ApiError as error:
            pytest.fail(f"{ref}: {error.message}")
