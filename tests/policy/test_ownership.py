"""Ours, somebody else's, and unknown."""

from __future__ import annotations

import pytest

from tests.builders import IDENTITY, machine, node
from unmoor.model import names
from unmoor.model.base import Object, ObjectMeta
from unmoor.model.machine import Machine
from unmoor.model.snapshot import Identity, View
from unmoor.policy import ownership


@pytest.mark.parametrize(
    ("objects", "is_ours"),
    [
        ([node(), machine()], True),
        ([node(is_ours=False), machine()], True),
        ([node(), machine(is_ours=False)], False),
        ([node(), machine(), machine("m-b", provider_id="sim:///a", is_ours=False)], False),
        ([node()], True),
        ([node(is_ours=False)], False),
        ([node(provider_id="aws:///z/i-1")], False),
        ([node(provider_id="")], True),
        ([node(annotations={names.MANAGED_BY: "another"})], False),
    ],
    ids=[
        "machine is ours",
        "machine decides",
        "machine is not ours",
        "one of two machines is not ours",
        "no machine, our name",
        "no machine, no name",
        "foreign cloud",
        "no provider id yet",
        "another cluster's name",
    ],
)
def test_whose_is_it(objects: list[Object], *, is_ours: bool) -> None:
    first = objects[0]
    view = View.of(*objects, identity=IDENTITY)
    found = view.node(first.name)

    assert found is not None
    assert ownership.is_ours(view, found) == is_ours


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        ([node(), machine(is_ours=False)], "machine m-a is not annotated unmoor.dev/managed-by="),
        (
            [node(), machine(), machine("m-b", provider_id="sim:///a", is_ours=False)],
            "machine m-b is not annotated",
        ),
        ([node(is_ours=False)], 'node a is not annotated unmoor.dev/managed-by="harbour"'),
        ([node(provider_id="aws:///z/i-1")], 'the configured cloud is "sim"'),
    ],
    ids=["machine", "one of two machines", "node", "cloud"],
)
def test_why_it_is_not_ours(objects: list[Object], told: str) -> None:
    view = View.of(*objects, identity=IDENTITY)
    found = view.node("a")

    assert found is not None
    assert told in ownership.why_not_ours(view, found)


NO_CLOUD = Identity(cluster=IDENTITY.cluster)


@pytest.mark.parametrize(
    ("theirs", "identity", "told"),
    [
        (machine(is_new=True), NO_CLOUD, "no cloud is configured"),
        (machine(), NO_CLOUD, "no cloud is configured"),
        (machine(provider_id="i-1"), NO_CLOUD, "start with --cloud"),
        (machine(is_ours=False), NO_CLOUD, "is not annotated"),
        (machine(is_new=True, is_ours=False), IDENTITY, "is not annotated"),
        (machine(provider_id="aws:///z/i-1"), IDENTITY, 'the configured cloud is "sim"'),
        (machine(provider_id="i-1"), IDENTITY, "has providerID i-1"),
        (machine(), Identity(scheme=IDENTITY.scheme), "start with --cluster-name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_whose_is_a_machine(theirs: Machine, identity: Identity, told: str) -> None:
    assert not ownership.is_our_machine(theirs, identity)
    assert told in ownership.why_not_our_machine(theirs, identity)


@pytest.mark.parametrize("provider_id", ["", "sim:///a"])
def test_ours_bears_our_name_and_is_of_our_cloud(provider_id: str) -> None:
    assert ownership.is_our_machine(machine(provider_id=provider_id), IDENTITY)


@pytest.mark.parametrize("provider_id", ["sim:///a", "i-1"])
def test_without_a_cloud_nothing_is_known_of_a_node_that_has_a_machine(provider_id: str) -> None:
    view = View.of(node(provider_id=provider_id), identity=NO_CLOUD)
    found = view.node("a")

    assert found is not None
    assert not ownership.is_ours(view, found)
    assert "the configured cloud is none" in ownership.why_not_ours(view, found)


def test_without_a_name_nothing_is_ours() -> None:
    view = View.of(node(provider_id=""), identity=Identity())
    found = view.node("a")

    assert found is not None
    assert not ownership.is_ours(view, found)


def test_a_foreign_machine_says_so() -> None:
    view = View.of(node(provider_id="aws:///z/i-1"), identity=IDENTITY)
    found = view.node("a")

    assert found is not None
    assert "nothing is known about its machine" in ownership.why_not_ours(view, found)


def _of(cluster: str, *names_of: str) -> list[Machine]:
    return [
        Machine(metadata=ObjectMeta(name=name, annotations={names.MANAGED_BY: cluster}))
        for name in names_of
    ]


@pytest.mark.parametrize(
    ("machines", "told"),
    [
        ([], ""),
        ([machine("m-a", is_ours=False)], ""),
        ([machine("m-a"), *_of("shop", "b")], ""),
        (
            [*_of("shop", "b", "c"), machine("m-a", is_ours=False)],
            "2 of shop",
        ),
        (
            [*_of("d", "d"), *_of("c", "c"), *_of("b", "b"), *_of("shop", "x", "y")],
            "2 of shop, 1 of b, 1 of c and 1 more name",
        ),
    ],
)
def test_a_name_that_only_others_do_not_bear_is_doubted(machines: list[Machine], told: str) -> None:
    said = ownership.about_our_name(View.of(*machines, identity=IDENTITY))

    begun = "no Machine is annotated unmoor.dev/managed-by: harbour; annotated for others: "
    assert said == (f"{begun}{told}" if told else "")
    assert ownership.about_our_name(View.of(*machines, identity=Identity())) == ""
