"""Wrong types, unknown and doubled fields, on each face alike."""

import json
from typing import Any

import pytest

from tests.contract.faces import TEMPLATE, WORKLOAD, Place
from tests.contract.wire import Answer, Wire
from unmoor.model.base import JSON
from unmoor.model.kinds import (
    BUDGETS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    LEASES,
    MACHINES,
    NODES,
    PODS,
    Resource,
)

RAW = "json: cannot unmarshal "
TIME = "2006-01-02T15:04:05Z07:00"
QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


@pytest.fixture
def wire(place: Place) -> Wire:
    return Wire.of(place)


async def created(
    place: Place, wire: Wire, resource: Resource[Any], body: JSON | str, **options: str
) -> Answer:
    namespace = place.namespace if resource.is_namespaced else ""
    return await wire.create(resource, body, namespace=namespace, dryRun="All", **options)


def pod(**spec: object) -> JSON:
    containers = [{"name": "main", "image": "img:1"}]
    return {"metadata": {"name": "x"}, "spec": {"containers": containers, **spec}}


def deployment(**spec: object) -> JSON:
    return {"metadata": {"name": "x"}, "spec": {**WORKLOAD, **spec}}


def node(**parts: object) -> JSON:
    return {"metadata": {"name": "x"}, **parts}


# -------------------------------------------------------------------------------------- wrong types

REPLICAS = "Go struct field DeploymentSpec.spec.replicas of type int32"
SPEC = "Go struct field PodSpec.spec."
BUDGET_SPEC = "Go struct field PodDisruptionBudgetSpec.spec."


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("x", "string"),
        (1.5, "number 1.5"),
        (2**40, "number 1099511627776"),
        (True, "bool"),
        ([], "array"),
        ({}, "object"),
    ],
)
async def test_a_number_that_is_none(place: Place, wire: Wire, value: object, found: str) -> None:
    answer = await created(place, wire, DEPLOYMENTS, deployment(replicas=value))

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.message == (
        'Deployment in version "v1" cannot be handled as a Deployment: '
        f"{RAW}{found} into {REPLICAS}"
    )


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"nodeName": 1}, f"number into {SPEC}nodeName of type string"),
        ({"hostNetwork": "yes"}, f"string into {SPEC}hostNetwork of type bool"),
        ({"containers": {}}, f"object into {SPEC}containers of type []v1.Container"),
        ({"containers": ["x"]}, f"string into {SPEC}containers of type v1.Container"),
        ({"nodeSelector": "q"}, f"string into {SPEC}nodeSelector of type map[string]string"),
        ({"nodeSelector": {"a": 1}}, f"number into {SPEC}nodeSelector of type string"),
        (
            {"containers": [{"name": "c", "image": 3}]},
            "number into Go struct field Container.spec.containers.image of type string",
        ),
    ],
)
async def test_wrong_types_in_a_pod(place: Place, wire: Wire, spec: JSON, problem: str) -> None:
    answer = await created(place, wire, PODS, pod(**spec))

    assert answer.code == 400
    assert answer.message == f'Pod in version "v1" cannot be handled as a Pod: {RAW}{problem}'


@pytest.mark.parametrize(
    ("resource", "body", "problem"),
    [
        (PODS, {"spec": "q"}, f"{RAW}string into Go struct field Pod.spec of type v1.PodSpec"),
        (
            CONFIG_MAPS,
            {"metadata": {"labels": {"a": 1}}},
            f"{RAW}number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            CONFIG_MAPS,
            {"metadata": {"finalizers": "a"}},
            f"{RAW}string into Go struct field ObjectMeta.metadata.finalizers of type []string",
        ),
        (
            CONFIG_MAPS,
            {"data": {"a": 1}},
            f"{RAW}number into Go struct field ConfigMap.data of type string",
        ),
        (CONFIG_MAPS, {"binaryData": {"a": "!!"}}, "illegal base64 data at input byte 0"),
        (NODES, {"status": {"capacity": {"cpu": True}}}, QUANTITY),
        (NODES, {"status": {"capacity": {"cpu": {}}}}, QUANTITY),
        (
            NODES,
            {"spec": {"taints": [{"key": "a", "timeAdded": "yesterday"}]}},
            f'parsing time "yesterday" as "{TIME}": cannot parse "yesterday" as "2006"',
        ),
        (
            NODES,
            {"spec": {"taints": [{"key": "a", "timeAdded": 5}]}},
            f"{RAW}number into Go struct field Taint.spec.taints.timeAdded of type string",
        ),
        (
            BUDGETS,
            {"spec": {"minAvailable": True}},
            f"{RAW}bool into {BUDGET_SPEC}minAvailable of type int32",
        ),
        (
            LEASES,
            {"spec": {"renewTime": "x"}},
            'parsing time "x" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "x" as "2006"',
        ),
    ],
)
async def test_wrong_types(
    place: Place, wire: Wire, resource: Resource[Any], body: JSON, problem: str
) -> None:
    answer = await created(place, wire, resource, {"metadata": {"name": "x"}, **body})
    kind = resource.kind

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.message == (
        f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {problem}'
    )


async def test_metadata_that_is_none(place: Place, wire: Wire) -> None:
    answer = await created(place, wire, PODS, {"metadata": "q"})

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.message.endswith(
        f"{RAW}string into Go struct field Pod.metadata of type v1.ObjectMeta"
    )


async def test_a_wrong_type_in_the_metadata_of_a_custom_object(place: Place, wire: Wire) -> None:
    head = {"apiVersion": MACHINES.api_version, "kind": "Machine"}
    meta = {"name": "x", "labels": {"a": 1}}
    answer = await created(place, wire, MACHINES, {**head, "metadata": meta})

    assert answer.code == 400
    assert answer.message == (
        'Machine in version "v1alpha5" cannot be handled as a Machine: '
        f"{RAW}number into Go struct field ObjectMeta.labels of type string"
    )


@pytest.mark.parametrize("how", ["merge", "json"])
async def test_a_wrong_type_in_a_patch(place: Place, wire: Wire, how: str) -> None:
    await place.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": WORKLOAD})
    operation = {"op": "replace", "path": "/spec/replicas", "value": "x"}
    body = {"spec": {"replicas": "x"}} if how == "merge" else [operation]
    answer = await wire.patch(place.ref(DEPLOYMENTS, "web"), body, how=how)  # type: ignore[arg-type]

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert answer.message.endswith(f'": {RAW}string into {REPLICAS}')
    assert [(reason, field) for reason, _, field in answer.causes] == [
        ("FieldValueInvalid", "patch")
    ]


async def test_a_wrong_type_in_a_strategic_patch(place: Place, wire: Wire) -> None:
    await place.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": WORKLOAD})
    ref = place.ref(DEPLOYMENTS, "web")
    answer = await wire.patch(ref, {"spec": {"replicas": "x"}}, how="strategic")

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert answer.message.startswith(
        ' "" is invalid: patch: Invalid value: "map[spec:map[replicas:x]]": '
    )


async def test_a_wrong_type_in_a_put(place: Place, wire: Wire) -> None:
    body = {"metadata": {"name": "web"}, "spec": WORKLOAD}
    await place.create(DEPLOYMENTS, body)
    head = {"apiVersion": "apps/v1", "kind": "Deployment"}
    changed = {**head, **body, "spec": {**WORKLOAD, "replicas": "x"}}
    answer = await wire.replace(place.ref(DEPLOYMENTS, "web"), changed)

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.message.endswith(f"{RAW}string into {REPLICAS}")


# ----------------------------------------------------------------------- unknown and doubled fields


@pytest.mark.parametrize("validation", ["", "Ignore", "Warn", "Strict"])
async def test_unknown_fields(place: Place, wire: Wire, validation: str) -> None:
    body = {**deployment(foo=1), "bar": {"x": 1}}
    body["metadata"] = {"name": "x", "baz": 1}
    options = {"fieldValidation": validation} if validation else {}
    answer = await created(place, wire, DEPLOYMENTS, body, **options)
    said = [f'unknown field "{name}"' for name in ("metadata.baz", "spec.foo", "bar")]

    if validation == "Strict":
        assert (answer.code, answer.reason) == (400, "BadRequest")
        assert answer.message == (
            'Deployment in version "v1" cannot be handled as a Deployment: '
            f"strict decoding error: {', '.join(said)}"
        )
        return
    assert answer.code == 201
    assert list(answer.warnings) == ([] if validation == "Ignore" else said)
    assert "bar" not in answer.body
    assert "foo" not in answer.body["spec"]


async def test_names_are_not_guessed(place: Place, wire: Wire) -> None:
    body = {"metadata": {"name": "x"}, "spec": {"Containers": [{"Name": "c", "image": "i"}]}}
    answer = await created(place, wire, PODS, body, fieldValidation="Strict")

    assert answer.message.endswith('strict decoding error: unknown field "spec.Containers"')


@pytest.mark.parametrize("validation", ["Warn", "Strict"])
async def test_doubled_fields(place: Place, wire: Wire, validation: str) -> None:
    text = '{"metadata":{"name":"a","name":"b"},"data":{"k":"1","k":"2"}}'
    answer = await created(place, wire, CONFIG_MAPS, text, fieldValidation=validation)
    said = ['duplicate field "metadata.name"', 'duplicate field "data.k"']

    if validation == "Strict":
        assert answer.code == 400
        assert answer.message.endswith(f"strict decoding error: {', '.join(said)}")
    else:
        assert list(answer.warnings) == said
        assert (answer.body["metadata"]["name"], answer.body["data"]) == ("b", {"k": "2"})


@pytest.mark.parametrize("validation", ["Warn", "Strict"])
async def test_unknown_fields_of_a_custom_object(place: Place, wire: Wire, validation: str) -> None:
    body = {
        "apiVersion": MACHINES.api_version,
        "kind": "Machine",
        "metadata": {"name": "x", "foo": 1},
        "spec": {"foo": 1, "resources": {"bar": 1}, "taints": [{"key": "a", "x": 1}]},
        "top": 1,
    }
    answer = await created(place, wire, MACHINES, body, fieldValidation=validation)
    paths = ("metadata.foo", "spec.foo", "spec.resources.bar", "spec.taints[0].x", "top")
    said = [f'unknown field "{path}"' for path in paths]

    if validation == "Strict":
        assert answer.code == 400
        assert answer.message.endswith(f"strict decoding error: {', '.join(said)}")
    else:
        assert list(answer.warnings) == said
        assert answer.body["spec"] == {"resources": {}, "taints": [{"key": "a"}]}


@pytest.mark.parametrize("how", ["merge", "strategic", "json"])
@pytest.mark.parametrize("validation", ["Warn", "Strict"])
async def test_unknown_fields_in_a_patch(
    place: Place, wire: Wire, how: str, validation: str
) -> None:
    await place.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": WORKLOAD})
    operation = {"op": "add", "path": "/spec/foo", "value": 1}
    body: object = [operation] if how == "json" else {"spec": {"foo": 1}}
    ref = place.ref(DEPLOYMENTS, "web")
    options = {"fieldValidation": validation}
    answer = await wire.patch(ref, body, how=how, **options)  # type: ignore[arg-type]

    if validation == "Strict":
        assert (answer.code, answer.reason) == (422, "Invalid")
        assert answer.message.endswith('": strict decoding error: unknown field "spec.foo"')
    else:
        assert (answer.code, answer.warnings) == (200, ('unknown field "spec.foo"',))
        assert "foo" not in answer.body["spec"]


async def test_unknown_fields_in_a_put(place: Place, wire: Wire) -> None:
    ref = await place.config_map("a")
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    answer = await wire.replace(ref, {**head, "foo": 1}, fieldValidation="Strict")

    assert answer.code == 400
    assert answer.message.endswith('strict decoding error: unknown field "foo"')


async def test_doubled_fields_in_a_merge_patch(place: Place, wire: Wire) -> None:
    ref = await place.config_map("a")
    text = '{"data":{"k":"1","k":"2"}}'
    refused = await wire.patch(ref, text, fieldValidation="Strict")
    warned = await wire.patch(ref, text)

    assert refused.code == 422
    assert refused.message.endswith('strict decoding error: duplicate field "data.k"')
    assert warned.warnings == ('duplicate field "data.k"',)
    assert warned.body["data"]["k"] == "2"


async def test_doubled_fields_in_an_apply(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    head = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    text = head[:-1] + ',"data":{"k":"1","k":"2"}}'
    options = {"fieldManager": "m"}
    refused = await wire.patch(ref, text, how="apply", fieldValidation="Strict", **options)
    warned = await wire.patch(ref, text, how="apply", **options)

    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert 'key "k" already set in map' in refused.message
    assert ['key "k" already set in map' in one for one in warned.warnings] == [True]


async def test_what_a_template_does_not_know(place: Place, wire: Wire) -> None:
    container = {"name": "main", "image": "i", "q": 1}
    template = {**TEMPLATE, "spec": {"containers": [container]}}
    answer = await created(
        place, wire, DEPLOYMENTS, deployment(template=template), fieldValidation="Strict"
    )

    assert answer.message.endswith(
        'strict decoding error: unknown field "spec.template.spec.containers[0].q"'
    )
