"""What JSON patch and strategic merge patch make of an object, on each face alike."""

from typing import Any

import pytest

from tests.contract.faces import WORKLOAD, Place, refused
from unmoor.model.base import JSON
from unmoor.model.kinds import DEPLOYMENTS
from unmoor.runtime.ports import PatchType

# ------------------------------------------------------------------------------------- json patch


async def test_a_json_patch(place: Place) -> None:
    ref = await place.config_map(finalizers=["a.b/c", "a.b/d"])
    operations = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "add", "path": "/data/b", "value": "2"},
        {"op": "move", "from": "/data/a", "path": "/data/c"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "a.b/e"},
        {"op": "add", "path": "/metadata/labels/x~1y", "value": "z"},
    ]
    patched = await place.api.patch(ref, operations, how="json")

    assert patched["data"] == {"b": "2", "c": "1"}
    assert patched["metadata"]["finalizers"] == ["a.b/d", "a.b/e"]
    assert patched["metadata"]["labels"]["x/y"] == "z"


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "remove", "path": "/data/none"},
        {"op": "add", "path": "/none/none", "value": "x"},
        {"op": "move", "from": "/data/none", "path": "/data/x"},
    ],
    ids=lambda operation: operation["op"],
)
async def test_a_json_patch_that_does_not_apply(place: Place, operation: JSON) -> None:
    ref = await place.config_map()
    before = await place.api.get(ref)
    adding = {"op": "add", "path": "/data/new", "value": "x"}
    error = await refused(place.api.patch(ref, [adding, operation], how="json"))

    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == "the server rejected our request due to an error in our request"
    assert await place.api.get(ref) == before


async def test_a_json_replace_of_a_missing_member_adds_it(place: Place) -> None:
    ref = await place.config_map()
    operation = {"op": "replace", "path": "/data/new", "value": "x"}

    assert (await place.api.patch(ref, [operation], how="json"))["data"]["new"] == "x"


@pytest.mark.parametrize(("how", "body"), [("json", {"a": 1}), ("merge", [1]), ("strategic", [1])])
async def test_a_patch_of_the_wrong_shape(place: Place, how: PatchType, body: Any) -> None:
    ref = await place.config_map()
    error = await refused(place.api.patch(ref, body, how=how))

    assert (error.code, error.reason) == (400, "BadRequest")


# -------------------------------------------------------------------------------- strategic patch


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ("AB", {"conditions": "C"}, "CAB"),
        ("AB", {"conditions": "BC"}, "ABC"),
        ("AB", {"conditions": "BA"}, "BA"),
        ("ABC", {"conditions": "CA"}, "BCA"),
        ("ABC", {"conditions": "DB"}, "DABC"),
        ("ABC", {"conditions": "BD"}, "ABDC"),
        ("ABC", {"$setElementOrder/conditions": "CBA"}, "CBA"),
        ("ABC", {"$setElementOrder/conditions": "CD", "conditions": "D"}, "ABCD"),
    ],
)
async def test_strategic_lists_merge_by_key(
    place: Place, before: str, patch: dict[str, str], after: str
) -> None:
    ref = await place.node()
    await place.set_status(ref, {"conditions": [_condition(one, "True") for one in before]})
    body = {
        name: [{"type": one} if "$" in name else _condition(one, "False") for one in letters]
        for name, letters in patch.items()
    }
    patched = await place.api.patch(ref, {"status": body}, how="strategic", subresource="status")
    found = patched["status"]["conditions"]

    assert "".join(one["type"] for one in found) == after
    changed = {one["type"] for one in found if one["status"] == "False"}
    assert changed == set(patch.get("conditions", ""))


def _condition(kind: str, status: str) -> JSON:
    return {"type": kind, "status": status, "reason": "Kept"}


@pytest.mark.parametrize(
    ("items", "after"),
    [
        ([{"type": "B", "$patch": "delete"}], "AC"),
        ([{"$patch": "replace"}, {"type": "Q", "status": "True"}], "Q"),
    ],
)
async def test_strategic_list_directives(place: Place, items: list[JSON], after: str) -> None:
    ref = await place.node()
    await place.set_status(ref, {"conditions": [_condition(one, "True") for one in "ABC"]})
    body = {"status": {"conditions": items}}
    patched = await place.api.patch(ref, body, how="strategic", subresource="status")

    assert "".join(one["type"] for one in patched["status"]["conditions"]) == after


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        ({"finalizers": ["c/c"]}, ["c/c", "a/a", "b/b"]),
        ({"finalizers": ["b/b", "c/c"]}, ["a/a", "b/b", "c/c"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a/a"]}, ["b/b"]),
        ({"$setElementOrder/finalizers": ["b/b", "a/a"]}, ["b/b", "a/a"]),
        ({"finalizers": None}, None),
    ],
)
async def test_strategic_lists_of_words(place: Place, patch: JSON, after: list[str] | None) -> None:
    ref = await place.config_map(finalizers=["a/a", "b/b"])
    patched = await place.api.patch(ref, {"metadata": patch}, how="strategic")

    assert patched["metadata"].get("finalizers") == after


async def test_strategic_patch_replaces_taints(place: Place) -> None:
    ref = await place.node()
    body = {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    patched = await place.api.patch(ref, body, how="strategic")

    assert patched["spec"]["taints"] == body["spec"]["taints"]


async def test_strategic_merge_of_containers(place: Place) -> None:
    await place.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": WORKLOAD})
    containers = [{"name": "main", "image": "img:2"}, {"name": "side", "image": "s"}]
    body = {"spec": {"template": {"spec": {"containers": containers}}}}
    patched = await place.api.patch(place.ref(DEPLOYMENTS, "web"), body, how="strategic")
    found = patched["spec"]["template"]["spec"]["containers"]

    assert [(one["name"], one["image"]) for one in found] == [("main", "img:2"), ("side", "s")]


async def test_strategic_without_the_key_is_an_error(place: Place) -> None:
    ref = await place.node()
    await place.set_status(ref, {"conditions": [_condition("A", "True")]})
    body = {"status": {"conditions": [{"status": "True"}]}}
    error = await refused(place.api.patch(ref, body, how="strategic", subresource="status"))

    assert error.code == 500


async def test_custom_kinds_have_no_strategic_patch(place: Place) -> None:
    ref = await place.machine()
    error = await refused(place.api.patch(ref, {"spec": {}}, how="strategic"))

    assert (error.code, error.reason) == (415, "UnsupportedMediaType")
