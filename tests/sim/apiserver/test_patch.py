"""Merge patch and JSON patch by themselves: what they share, and what RFC 7386 and 6902 say."""

from typing import Any

import pytest

from unmoor.model.base import JSON
from unmoor.sim.apiserver import patch, strategic
from unmoor.sim.apiserver.patch import PatchError


@pytest.mark.parametrize(
    ("target", "change", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": 1}, {"a": 1.0}, {"a": 1.0}),
    ],
)
def test_merge_patch(target: JSON, change: JSON, result: JSON) -> None:
    before = repr(target)
    merged = patch.merge(target, change)

    assert repr(merged) == repr(result)
    assert repr(target) == before


@pytest.mark.parametrize(
    "change", [{}, {"a": 1}, {"b": {"c": [1]}}, {"b": {}}, {"z": None}, {"b": {"z": None}}]
)
def test_a_merge_that_changes_nothing_returns_the_same_object(change: JSON) -> None:
    target = {"a": 1, "b": {"c": [1], "d": 2}}

    assert patch.merge(target, change) is target


def test_a_merge_shares_what_it_does_not_touch() -> None:
    target: JSON = {"a": {"x": 1}, "b": {"y": 1}}
    merged = patch.merge(target, {"a": {"x": 2}})

    assert merged["b"] is target["b"]


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2]}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a": [1, 2]}, {"op": "replace", "path": "/a/0", "value": 9}, {"a": [9, 2]}),
        ({"a/b": 1}, {"op": "remove", "path": "/a~1b"}, {}),
        ({"a~b": 1}, {"op": "remove", "path": "/a~0b"}, {}),
        ({"a": 1}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": 1, "b": 1}),
        ({"a": 1}, {"op": "copy", "from": "/z", "path": "/b"}, {"a": 1, "b": None}),
        ({"a": {"b": 1}}, {"op": "move", "from": "/a/b", "path": "/c"}, {"a": {}, "c": 1}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": 1}, {"op": "test", "path": "/b", "value": None}, {"a": 1}),
        ({"a": 1}, {"op": "add", "path": "", "value": {"b": 2}}, {"b": 2}),
    ],
)
def test_json_patch(document: JSON, operation: JSON, result: JSON) -> None:
    before = repr(document)

    assert patch.apply(document, [operation]) == result
    assert repr(document) == before


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/a/5", "value": 2},
        {"op": "add", "path": "/a/x", "value": 2},
        {"op": "add", "path": "/a"},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/n/x", "value": 1},
        {"op": "remove", "path": "/a/2"},
        {"op": "remove", "path": ""},
        {"op": "copy", "from": "/z/z", "path": "/b"},
        {"op": "test", "path": "/n", "value": 2},
        {"op": "grow", "path": "/a"},
        {"path": "/a"},
    ],
)
def test_json_patch_that_does_not_apply(operation: Any) -> None:
    with pytest.raises(PatchError):
        patch.apply({"a": [1, 2], "n": 1}, [operation])


@pytest.mark.parametrize(
    "change",
    [{}, {"status": {"conditions": [{"type": "A", "status": "True"}]}}, {"spec": {"x": None}}],
)
def test_a_strategic_patch_that_changes_nothing_returns_the_same_object(change: JSON) -> None:
    target = {"spec": {}, "status": {"conditions": [{"type": "A", "status": "True"}]}}

    assert strategic.merge("Node", target, change) is target


def test_retain_keys() -> None:
    target = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    change = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}

    assert strategic.merge("Deployment", target, change) == {
        "spec": {"strategy": {"type": "Recreate"}}
    }
