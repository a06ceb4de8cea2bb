"""Does everything occur in hard clusters? Kinds, and the variants of each."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.sim.clusters.worlds import generate, raw
from unmoor.model.base import JSON
from unmoor.sim.clusters.census import census
from unmoor.sim.clusters.mix import NEEDS, Kind, hard
from unmoor.sim.manifests import Manifest

SEEDS = range(60)
LEAST = 5
"""In so many of the sixty clusters each kind occurs at least."""


@cache
def clusters() -> tuple[tuple[Manifest, ...], ...]:
    return tuple(generate(hard(seed)) for seed in SEEDS)


def test_every_kind_occurs_often() -> None:
    found = Counter(kind for objects in clusters() for kind in census(objects))

    assert {kind: found[kind] for kind in Kind if found[kind] < LEAST} == {}


def test_they_are_small_and_some_pods_run_and_some_wait() -> None:
    bound = Counter[bool]()
    for objects in clusters():
        pods = [pod for pod in raw(objects, "Pod") if pod["metadata"]["namespace"] != "kube-system"]
        assert 3 <= len(raw(objects, "Node")) <= 12
        assert 5 <= len(pods) <= 60
        bound.update("nodeName" in pod["spec"] for pod in pods)

    assert bound[True] > 400
    assert bound[False] > 500


@pytest.mark.parametrize("kind", Kind)
def test_one_kind_can_be_named(kind: Kind) -> None:
    mix = hard(3, kind)

    assert set(mix.shares) == {kind, NEEDS.get(kind, kind)}
    assert census(generate(mix))[kind]


def every(objects: tuple[Manifest, ...], kind: str, key: str) -> Iterator[Any]:
    """Every value that stands under a key, anywhere in the specs of a kind."""

    def walk(value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            for name, one in value.items():
                if name == key:
                    yield one
                yield from walk(one)
        elif isinstance(value, list):
            for one in value:
                yield from walk(one)

    for body in raw(objects, kind):
        yield from walk(body.get("spec", {}))


def seen(kind: str, key: str) -> Counter[Any]:
    return Counter(
        one
        for objects in clusters()
        for one in every(objects, kind, key)
        if isinstance(one, str | int)
    )


@pytest.mark.parametrize(
    ("kind", "key", "values"),
    [
        ("Pod", "operator", {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal"}),
        ("Pod", "whenUnsatisfiable", {"DoNotSchedule", "ScheduleAnyway"}),
        ("Pod", "maxSkew", {1, 2}),
        ("Pod", "minDomains", {3, 4}),
        ("Pod", "nodeAffinityPolicy", {"Honor", "Ignore"}),
        ("Pod", "nodeTaintsPolicy", {"Honor", "Ignore"}),
        ("Pod", "topologyKey", {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}),
        ("Pod", "protocol", {"TCP", "UDP"}),
        ("Pod", "hostIP", {"127.0.0.1", "10.0.0.1"}),
        ("Pod", "key", {"metadata.name", "dedicated", "example.com/maintenance"}),
        ("Pod", "priority", {1000, -10}),
        ("Node", "effect", {"NoSchedule", "NoExecute", "PreferNoSchedule"}),
        ("CSINode", "count", {1, 2, 25}),
        ("PersistentVolumeClaim", "storageClassName", {"standard", "immediate", "zonal"}),
    ],
)
def test_every_variant_occurs(kind: str, key: str, values: set[Any]) -> None:
    assert values <= set(seen(kind, key))


def parts(key: str) -> list[JSON]:
    return [
        one for objects in clusters() for one in every(objects, "Pod", key) if isinstance(one, dict)
    ]


def test_terms_about_namespaces() -> None:
    """All of them, and those of a team."""
    selectors = parts("namespaceSelector")

    assert {} in selectors
    assert {"matchLabels": {"team": "north"}} in selectors
