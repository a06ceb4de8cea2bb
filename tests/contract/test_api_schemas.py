"""Custom objects are held to the schema of their kind, on each face alike."""

import pytest

from tests.contract.customs import FILLED, Custom
from tests.contract.faces import Place
from tests.contract.wire import fields
from unmoor.model.base import JSON


@pytest.fixture
async def widgets(place: Place) -> Custom:
    """A kind that all cases share, for those that leave its definition alone."""
    custom = Custom(place, "Widget", "widgets")
    await custom.define()
    return custom


async def test_defaults_are_filled_in(widgets: Custom) -> None:
    answer = await widgets.create("a", {})

    assert answer.code == 201
    assert answer.body["spec"] == FILLED
    assert answer.body["metadata"]["generation"] == 1


async def test_nothing_is_filled_into_what_is_not_there(widgets: Custom) -> None:
    assert "spec" not in (await widgets.create("a")).body


async def test_nulls_give_way(widgets: Custom) -> None:
    spec = {"size": None, "word": None, "maybe": None, "nest": {"deep": None}, "free": {"a": None}}
    answer = await widgets.create("a", spec)

    assert answer.body["spec"] == {**FILLED, "maybe": None, "free": {"a": None}}


async def test_a_removed_field_gets_its_default(widgets: Custom) -> None:
    await widgets.create("a", {"size": 5})
    answer = await widgets.wire.patch(widgets.ref("a"), {"spec": {"size": None, "color": "blue"}})

    assert answer.body["spec"] == {**FILLED, "color": "blue"}


async def test_the_creator_owns_defaults(widgets: Custom) -> None:
    head = {"apiVersion": widgets.resource.api_version, "kind": "Widget"}
    body = {**head, "metadata": {"name": "a"}, "spec": {}}
    answer = await widgets.wire.create(
        widgets.resource, body, namespace=widgets.namespace, fieldManager="c"
    )

    nest: JSON = {".": {}, "f:deep": {}}
    owned: JSON = {".": {}, **fields("color", "size"), "f:nest": nest}
    assert answer.owners == {("c", "Update"): {"f:spec": owned}}


WHERE = "spec."


@pytest.mark.parametrize(
    ("spec", "reason", "field", "message"),
    [
        (
            {"size": 0},
            "FieldValueInvalid",
            "size",
            "Invalid value: 0: spec.size in body should be greater than or equal to 1",
        ),
        (
            {"size": 10},
            "FieldValueInvalid",
            "size",
            "Invalid value: 10: spec.size in body should be less than or equal to 9",
        ),
        (
            {"color": "green"},
            "FieldValueNotSupported",
            "color",
            'Unsupported value: "green": supported values: "red", "blue"',
        ),
        (
            {"word": "a"},
            "FieldValueInvalid",
            "word",
            'Invalid value: "a": spec.word in body should be at least 2 chars long',
        ),
        (
            {"word": "abcdef"},
            "FieldValueTooLong",
            "word",
            "Too long: may not be more than 5 bytes",
        ),
        (
            {"word": "AB"},
            "FieldValueInvalid",
            "word",
            "Invalid value: \"AB\": spec.word in body should match '^[a-z]+$'",
        ),
        (
            {"tags": []},
            "FieldValueInvalid",
            "tags",
            "Invalid value: 0: spec.tags in body should have at least 1 items",
        ),
        (
            {"tags": ["a", "b", "c"]},
            "FieldValueTooMany",
            "tags",
            "Too many: 3: must have at most 2 items",
        ),
        ({"tags": ["a", "a"]}, "FieldValueDuplicate", "tags[1]", 'Duplicate value: "a"'),
        (
            {"parts": [{"name": "a"}, {"name": "a"}]},
            "FieldValueDuplicate",
            "parts[1]",
            'Duplicate value: {"name":"a"}',
        ),
        ({"parts": [{"value": "a"}]}, "FieldValueRequired", "parts[0].name", "Required value"),
        (
            {"counts": {"a": 1, "b": 2}},
            "FieldValueTooMany",
            "counts",
            "Too many: 2: must have at most 1 item",
        ),
        (
            {"counts": {"a": "x"}},
            "FieldValueTypeInvalid",
            "counts.a",
            'Invalid value: "string": spec.counts.a in body must be of type integer: "string"',
        ),
        (
            {"half": 0.3},
            "FieldValueInvalid",
            "half",
            "Invalid value: 0.3: spec.half in body should be a multiple of 0.5",
        ),
        (
            {"half": -1.5},
            "FieldValueInvalid",
            "half",
            "Invalid value: -1.5: spec.half in body should be greater than 0",
        ),
        (
            {"when": "x"},
            "FieldValueTypeInvalid",
            "when",
            'Invalid value: "x": spec.when in body must be of type date-time: "x"',
        ),
    ],
)
async def test_what_a_schema_refuses(
    widgets: Custom, spec: JSON, reason: str, field: str, message: str
) -> None:
    answer = await widgets.create("a", spec)

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert (reason, message, WHERE + field) in answer.causes


@pytest.mark.parametrize(
    ("either", "found"), [({}, "none valid"), ({"a": "1", "b": "2"}, "2 valid alternatives")]
)
async def test_one_of_several(widgets: Custom, either: JSON, found: str) -> None:
    answer = await widgets.create("a", {"either": either})
    text = f'"spec.either" must validate one and only one schema (oneOf). Found {found}'

    assert answer.code == 422
    assert ("FieldValueInvalid", f'Invalid value: "": {text}', "<nil>") in answer.causes


async def test_what_fits_a_schema(widgets: Custom) -> None:
    spec = {
        "size": 9,
        "word": "abc",
        "tags": ["a", "b"],
        "half": 1.5,
        "when": "2026-01-01T00:00:00Z",
        "either": {"a": "1"},
        "free": {"x": [1, {"y": None}]},
        "counts": {"a": 1},
        "parts": [{"name": "a"}, {"name": "b"}],
    }
    answer = await widgets.create("a", {**spec, "color": "blue", "nest": {}})

    assert answer.code == 201
    assert answer.body["spec"] == {**spec, "color": "blue", "nest": {"deep": "x"}}


async def test_unknown_fields_of_a_defined_kind(widgets: Custom) -> None:
    answer = await widgets.create("a", {"x": 1, "nest": {"y": 2}, "free": {"z": 3}})

    assert answer.warnings == ('unknown field "spec.nest.y"', 'unknown field "spec.x"')
    assert answer.body["spec"] == {**FILLED, "free": {"z": 3}}


async def test_lists_with_keys_are_merged(widgets: Custom) -> None:
    ref = widgets.ref("a")
    first = {"tags": ["x"], "parts": [{"name": "a", "value": "1"}]}
    second = {"tags": ["y"], "parts": [{"name": "b", "value": "2"}]}
    await widgets.wire.apply(ref, {"spec": first}, fieldManager="m")
    answer = await widgets.wire.apply(ref, {"spec": second}, fieldManager="n")

    assert answer.body["spec"]["tags"] == ["x", "y"]
    assert [one["name"] for one in answer.body["spec"]["parts"]] == ["a", "b"]
    part = {".": {}, **fields("name", "value")}
    assert answer.owners["n", "Apply"] == {
        "f:spec": {"f:parts": {'k:{"name":"b"}': part}, "f:tags": {'v:"y"': {}}}
    }
