"""Ours, somebody else's, and unknown."""

from __future__ import annotations

import pytest

from tests.builders import IDENTITY, machine, node
from unmoor.model import names
from unmoor.model.base import Object
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
