"""The CRDs say what the structs read: a field that only one of them knows would be lost."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from unmoor.model import crds
from unmoor.model.base import Condition, Object
from unmoor.model.disruption import Disruption
from unmoor.model.machine import Machine
from unmoor.model.node_template import AWSNodeTemplate
from unmoor.model.provisioner import Provisioner

KINDS = [
    (Provisioner, crds.provisioner()),
    (Machine, crds.machine()),
    (AWSNodeTemplate, crds.aws_node_template()),
    (Disruption, crds.disruption()),
]
IDS = ["provisioner", "machine", "node template", "disruption"]


def schema_of(crd: dict[str, Any]) -> dict[str, Any]:
    (version,) = crd["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def in_schema(schema: dict[str, Any], path: str) -> Iterator[str]:
    """Every path that the server keeps."""
    yield path
    for name, inner in schema.get("properties", {}).items():
        yield from in_schema(inner, f"{path}.{name}")
    if "items" in schema:
        yield from in_schema(schema["items"], f"{path}[]")


def in_struct(kind: Any, path: str) -> Iterator[str]:
    """Every path that we read."""
    yield path
    info = msgspec.inspect.type_info(kind) if isinstance(kind, type) else kind
    if isinstance(info, msgspec.inspect.UnionType):
        for part in info.types:
            yield from list(in_struct(part, path))[1:]
    elif isinstance(info, msgspec.inspect.VarTupleType):
        yield from in_struct(info.item_type, f"{path}[]")
    elif isinstance(info, msgspec.inspect.StructType):
        for field in info.fields:
            yield from in_struct(field.type, f"{path}.{field.encode_name}")


@pytest.mark.parametrize(("kind", "crd"), KINDS, ids=IDS)
def test_the_server_keeps_what_we_read_and_we_read_what_it_keeps(
    kind: type[Object], crd: dict[str, Any]
) -> None:
    name = kind.__name__
    standard = {f"{name}.{part}" for part in ("apiVersion", "kind")}
    kept = set(in_schema(schema_of(crd), name)) - standard
    read = {path for path in in_struct(kind, name) if not path.startswith(f"{name}.metadata.")}
    if f"{name}.status.conditions[].type" in read:
        kept.remove(f"{name}.status.conditions[].severity")  # knative's; nothing depends on it

    assert kept == read


def demanded_by_schema(schema: dict[str, Any], path: str) -> Iterator[str]:
    yield from (f"{path}.{name}" for name in schema.get("required", []))
    for name, inner in schema.get("properties", {}).items():
        yield from demanded_by_schema(inner, f"{path}.{name}")
    if "items" in schema:
        yield from demanded_by_schema(schema["items"], f"{path}[]")


def demanded_by_struct(kind: Any, path: str) -> Iterator[str]:
    info = msgspec.inspect.type_info(kind) if isinstance(kind, type) else kind
    if isinstance(info, msgspec.inspect.UnionType):
        for part in info.types:
            yield from demanded_by_struct(part, path)
    elif isinstance(info, msgspec.inspect.VarTupleType):
        yield from demanded_by_struct(info.item_type, f"{path}[]")
    elif isinstance(info, msgspec.inspect.StructType):
        for field in info.fields:
            where = f"{path}.{field.encode_name}"
            if field.required:
                yield where
            yield from demanded_by_struct(field.type, where)


@pytest.mark.parametrize(("kind", "crd"), KINDS, ids=IDS)
def test_what_a_struct_cannot_do_without_the_server_demands(
    kind: type[Object], crd: dict[str, Any]
) -> None:
    """Otherwise one object without the field could not be decoded, and no list with it in."""
    name = kind.__name__
    demanded = {
        path for path in demanded_by_struct(kind, name) if not path.startswith(f"{name}.metadata.")
    }

    assert demanded <= set(demanded_by_schema(schema_of(crd), name))


@pytest.mark.parametrize("crd", crds.all_crds(), ids=lambda crd: crd["spec"]["names"]["kind"])
def test_every_definition_is_whole(crd: dict[str, Any]) -> None:
    spec, named = crd["spec"], crd["spec"]["names"]
    (version,) = spec["versions"]

    assert crd["metadata"]["name"] == f"{named['plural']}.{spec['group']}"
    assert named["listKind"] == f"{named['kind']}List"
    assert spec["scope"] == "Cluster"
    assert version["subresources"] == {"status": {}}
    assert version["served"]
    assert version["storage"]


def columns(crd: dict[str, Any]) -> list[str]:
    return [column["name"] for column in crd["spec"]["versions"][0]["additionalPrinterColumns"]]


def test_a_command_reads_well() -> None:
    assert columns(crds.disruption()) == [
        "Method",
        "Action",
        "Nodes",
        "Replacements",
        "USD per hour saved",
        "Phase",
        "Age",
        "Message",
        "Reason",
    ]


def test_columns_of_spec_1_1_and_1_2() -> None:
    """And what a Machine costs, last."""
    assert columns(crds.provisioner()) == ["Template", "Weight", "Active", "Age"]
    assert columns(crds.machine()) == [
        "Type",
        "Zone",
        "Node",
        "Ready",
        "Age",
        "Capacity",
        "Provisioner",
        "Template",
        "USD per hour",
        "Price book",
    ]


def test_each_call_makes_new_ones() -> None:
    crds.all_crds()[0]["spec"]["group"] = "changed"

    assert crds.all_crds()[0]["spec"]["group"] == "karpenter.sh"


def test_conditions_are_described_as_they_are_read() -> None:
    schema = schema_of(crds.machine())["properties"]["status"]["properties"]["conditions"]

    assert {field.encode_name for field in msgspec.structs.fields(Condition)} == set(
        schema["items"]["properties"]
    ) - {"severity"}
