"""Custom kinds from their definitions: served, with doors, ended, on each face alike."""

import copy
from typing import Any

import pytest

from tests.contract.customs import FILLED, Custom, definition, eventually, own
from tests.contract.faces import Place
from tests.contract.wire import DEFINITIONS, Answer, Wire, fields
from unmoor.model.base import JSON


@pytest.fixture
async def widgets(place: Place) -> Custom:
    """A kind that all cases share, for those that leave its definition alone."""
    custom = Custom(place, "Widget", "widgets")
    await custom.define()
    return custom


# ------------------------------------------------------------------------------------------- doors


async def test_a_status_is_written_apart(widgets: Custom) -> None:
    created = await widgets.create("a", {}, status={"replicas": 7})
    body = {"spec": {"size": 9}, "status": {"replicas": 2}}
    answer = await widgets.wire.patch(widgets.ref("a"), body, door="status")

    assert "status" not in created.body
    assert answer.body["status"] == {"replicas": 2}
    assert answer.body["spec"]["size"] == 3
    assert answer.body["metadata"]["generation"] == 1


async def test_the_scale_of_a_custom_object(widgets: Custom) -> None:
    ref = widgets.ref("a")
    await widgets.create("a", {"replicas": 2})
    await widgets.wire.patch(ref, {"status": {"replicas": 1, "selector": "a=b"}}, door="status")
    found = await widgets.wire.get(ref, "scale")
    changed = await widgets.wire.patch(ref, {"spec": {"replicas": 4}}, door="scale")
    obj = await widgets.wire.get(ref)

    assert found.body["spec"] == {"replicas": 2}
    assert found.body["status"] == {"replicas": 1, "selector": "a=b"}
    assert changed.body["spec"] == {"replicas": 4}
    assert obj.body["spec"]["replicas"] == 4
    assert obj.body["metadata"]["generation"] == 2


async def test_a_scale_without_replicas(widgets: Custom) -> None:
    ref = widgets.ref("a")
    await widgets.create("a", {})
    missing = await widgets.wire.get(ref, "scale")
    changed = await widgets.wire.patch(ref, {"spec": {"replicas": 4}}, door="scale")

    assert missing.code == 500
    assert missing.message == (
        'Internal error occurred: the spec replicas field ".spec.replicas" does not exist'
    )
    assert (changed.code, changed.body["spec"]) == (200, {"replicas": 4})


async def test_a_kind_without_doors(place: Place) -> None:
    custom = own(place, "plain")
    await custom.define(subresources=None)
    created = await custom.create("a", {}, status={"replicas": 7})
    ref = custom.ref("a")
    changed = await custom.wire.patch(ref, {"status": {"replicas": 8}})
    doors = [await custom.wire.get(ref, door) for door in ("status", "scale")]

    assert created.body["status"] == {"replicas": 7}
    assert changed.body["metadata"]["generation"] == 2
    assert [answer.code for answer in doors] == [404, 404]


# ------------------------------------------------------------------------------------- definitions


def said(answer: Answer) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    conditions = answer.body.get("status", {}).get("conditions") or []
    return {one["type"]: (one["status"], one["reason"]) for one in conditions}


async def test_a_definition_is_accepted(place: Place) -> None:
    custom = own(place, "thing")
    created = await custom.define()
    found = await custom.wire.get(custom.definition)
    plural, kind = custom.resource.plural, custom.resource.kind
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"}

    assert created.body["spec"]["names"] == found.body["status"]["acceptedNames"] == names
    assert created.body["spec"]["conversion"] == {"strategy": "None"}
    assert created.body["metadata"]["generation"] == 1
    assert found.body["status"]["storedVersions"] == ["v1"]
    assert said(found) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }


async def test_owners_of_a_definition(place: Place) -> None:
    custom = own(place, "owned")
    body = definition(custom.resource.kind, custom.resource.plural)
    answer = await custom.wire.create(DEFINITIONS, body, fieldManager="c")

    assert answer.owners == {
        ("c", "Update"): {
            "f:spec": {
                "f:conversion": {".": {}, "f:strategy": {}},
                **fields("group", "scope", "versions"),
                "f:names": fields("kind", "listKind", "plural", "singular"),
            }
        }
    }


async def test_names_that_are_taken(place: Place) -> None:
    first, second = own(place, "first"), own(place, "second")
    await first.define()
    body = definition(first.resource.kind, second.resource.plural)
    await second.wire.create(DEFINITIONS, body)

    async def is_judged() -> bool:
        return bool(said(await second.wire.get(second.definition)))

    await eventually(is_judged)
    found = await second.wire.get(second.definition)
    assert said(found) == {
        "NamesAccepted": ("False", "ListKindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert found.body["status"]["acceptedNames"] == {"plural": second.resource.plural, "kind": ""}
    assert not await second.wire.is_served(second.resource)


def changed(**spec: Any) -> JSON:
    body = definition("Bad", "bads")
    body["spec"] |= spec
    return body


def with_schema(schema: JSON) -> JSON:
    return definition("Bad", "bads", schema={"openAPIV3Schema": schema})


NO_TYPE = "must not be empty for specified object fields"


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        (changed(group="other.io"), "FieldValueInvalid", "metadata.name"),
        (changed(scope="Galaxy"), "FieldValueNotSupported", "spec.scope"),
        (changed(versions=[]), "FieldValueInvalid", "spec.versions"),
        (changed(names={"plural": "bads"}), "FieldValueRequired", "spec.names.kind"),
        (definition("Bad", "bads", storage=False), "FieldValueInvalid", "spec.versions"),
        (
            with_schema({"properties": {"spec": {"type": "object"}}}),
            "FieldValueRequired",
            "spec.validation.openAPIV3Schema.type",
        ),
        (
            with_schema({"type": "object", "properties": {"spec": {"nullable": True}}}),
            "FieldValueRequired",
            "spec.validation.openAPIV3Schema.properties[spec].type",
        ),
    ],
)
async def test_what_is_no_definition(place: Place, body: JSON, reason: str, field: str) -> None:
    answer = await Wire.of(place).create(DEFINITIONS, body)

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert (reason, field) in {(why, where) for why, _, where in answer.causes}


async def test_a_group_of_kubernetes_is_not_for_everybody(place: Place) -> None:
    body = definition("Bad", "bads")
    body["spec"]["group"] = "x.k8s.io"
    body["metadata"]["name"] = "bads.x.k8s.io"
    answer = await Wire.of(place).create(DEFINITIONS, body)

    assert [field for _, _, field in answer.causes] == [
        "metadata.annotations[api-approved.kubernetes.io]"
    ]


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"scope": "Cluster"}, "spec.scope"),
        ({"names": {"kind": "Other"}}, "spec.names.kind"),
    ],
)
async def test_what_stays_in_a_definition(widgets: Custom, patch: JSON, field: str) -> None:
    answer = await widgets.wire.patch(widgets.definition, {"spec": patch})

    assert answer.code == 422
    assert [(reason, where) for reason, _, where in answer.causes] == [("FieldValueInvalid", field)]
    assert answer.message.endswith("field is immutable")


async def test_a_definition_that_learns_a_field(place: Place) -> None:
    custom = own(place, "learner")
    await custom.define()
    await custom.create("a", {})
    body = copy.deepcopy(definition("", "")["spec"]["versions"])  # noqa: TID251 - of our own table
    spec = body[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["fresh"] = {"type": "string", "default": "new"}
    await custom.wire.patch(custom.definition, {"spec": {"versions": body}})

    async def is_known() -> bool:
        patch = {"metadata": {"labels": {"try": "1"}}, "spec": {"fresh": "x"}}
        answer = await custom.wire.patch(custom.ref("a"), patch, dryRun="All")
        return "fresh" in answer.body["spec"]

    await eventually(is_known)
    assert (await custom.create("b", {})).body["spec"] == {**FILLED, "fresh": "new"}


# --------------------------------------------------------------------------------------------- end


async def test_a_definition_goes_with_its_objects(place: Place) -> None:
    custom = own(place, "mortal")
    await custom.define()
    await custom.create("a", {}, metadata={"finalizers": ["example.com/hold"]})
    await custom.create("b", {})
    told = await custom.wire.delete(custom.definition)

    async def is_emptied() -> bool:
        return (await custom.wire.get(custom.ref("b"))).code == 404

    async def is_gone() -> bool:
        return (await custom.wire.get(custom.definition)).code == 404

    await eventually(is_emptied)
    refused = await custom.create("c", {})
    held = await custom.wire.get(custom.definition)
    await custom.wire.patch(custom.ref("a"), {"metadata": {"finalizers": None}})
    await eventually(is_gone)

    assert told.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert said(told)["Terminating"] == ("True", "InstanceDeletionPending")
    assert said(held)["Terminating"] == ("True", "InstanceDeletionInProgress")
    assert (refused.code, refused.reason) == (403, "Forbidden")
    assert refused.message.endswith(
        "create not allowed while custom resource definition is terminating"
    )


async def test_a_definition_of_nothing_goes_at_once(place: Place) -> None:
    custom = own(place, "empty")
    await custom.define()
    await custom.wire.delete(custom.definition)

    async def is_gone() -> bool:
        is_there = await custom.wire.is_served(custom.resource)
        return not is_there and (await custom.wire.get(custom.definition)).code == 404

    await eventually(is_gone)
