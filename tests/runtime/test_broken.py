"""What can be said of an object that does not decode."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from unmoor.model.base import JSON, Ref
from unmoor.model.pod import Pod
from unmoor.runtime.broken import broken_of
from unmoor.runtime.ports import Broken

META = {"name": "odd", "namespace": "shop", "uid": "u-1", "resourceVersion": "7"}


def read(body: JSON) -> Broken:
    with pytest.raises(msgspec.ValidationError) as failed:
        msgspec.convert(body, Pod)
    return broken_of("Pod", body, failed.value)


def test_whose_it_is_and_where() -> None:
    found = read({"metadata": META, "spec": {"nodeName": "a", "priority": "high"}})

    assert found.ref == Ref("Pod", "odd", namespace="shop", uid="u-1")
    assert (found.resource_version, found.node, found.is_deleted) == ("7", "a", False)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"priority": "high"}, 'got `str` - at `$.spec.priority`, where "high" stands'),
        (
            {"tolerations": [{"key": "a"}, {"key": 5}]},
            "got `int` - at `$.spec.tolerations[1].key`, where 5 stands",
        ),
        (
            {"nodeSelector": {"zone": "a", "disk": 5}},
            'got `int` - at `$.spec.nodeSelector[...]`, where {"disk": 5} stands',
        ),
        ({"containers": [{"name": {"x": "y" * 500}}]}, "... (509 characters) stands"),
        (7, "got `int` - at `$.spec`, where 7 stands"),
    ],
    ids=["field", "item", "map", "long", "whole"],
)
def test_which_field_and_what_stands_there(spec: Any, problem: str) -> None:
    assert read({"metadata": META, "spec": spec}).problem.endswith(problem)


@pytest.mark.parametrize("spec", [7, None, [], {"nodeName": 5}, {"nodeName": None}, {}])
def test_a_node_that_cannot_be_read_is_none(spec: Any) -> None:
    assert read({"metadata": {**META, "labels": 1}, "spec": spec}).node == ""


@pytest.mark.parametrize("body", [{}, {"metadata": 7}, {"metadata": {"name": 5, "uid": []}}])
def test_nothing_is_too_odd(body: JSON) -> None:
    found = broken_of("Pod", body, "unexpected end of data")

    assert found == Broken(Ref("Pod", ""), "", "unexpected end of data")


def test_a_place_that_is_not_there_is_left_as_it_was_said() -> None:
    said = "Invalid - at `$.spec.priority.more[3]`"

    assert broken_of("Pod", {"spec": {"priority": "high"}}, said).problem == said
