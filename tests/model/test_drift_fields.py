"""The table of what drifts names every field, and the hashes hold exactly its static ones."""

from typing import Any

import msgspec
import pytest

from tests.model.test_static_hash import FULL
from unmoor.model.base import ObjectMeta
from unmoor.model.drift_fields import FIELDS, NODE_TEMPLATE, PROVISIONER, Way, names_of
from unmoor.model.node_template import AWSNodeTemplate, AWSNodeTemplateSpec
from unmoor.model.provisioner import Provisioner, ProvisionerSpec
from unmoor.model.static_hash import (
    NEVER_SHOWN,
    SHOWN_CHARS_MAX,
    VERSION,
    hash_of,
    provisioner_fields,
    record_of,
    template_fields,
    template_hash_of,
)

TEMPLATE: dict[str, Any] = {
    "amiFamily": "AL2",
    "userData": "echo secret",
    "context": "c",
    "instanceProfile": "p",
    "tags": {"a": "1", "b": "2"},
    "metadataOptions": {"httpTokens": "optional"},
    "blockDeviceMappings": [
        {"deviceName": "/dev/a", "ebs": {"volumeSize": "20Gi", "volumeType": "gp3"}},
        {"deviceName": "/dev/b", "ebs": {"volumeSize": "1Ti"}},
    ],
    "detailedMonitoring": True,
    "subnetSelector": {"a": "b"},
    "securityGroupSelector": {"a": "b"},
    "amiSelector": {"a": "b"},
}
OTHER: dict[str, Any] = {
    "amiFamily": "AL2023",
    "userData": "echo other",
    "context": "d",
    "instanceProfile": "q",
    "tags": {"a": "1"},
    "metadataOptions": {"httpTokens": "required"},
    "blockDeviceMappings": [TEMPLATE["blockDeviceMappings"][0]],
    "detailedMonitoring": False,
    "subnetSelector": {"a": "c"},
    "securityGroupSelector": {"a": "c"},
    "amiSelector": {"a": "c"},
}


def template(**spec: Any) -> AWSNodeTemplate:
    given = msgspec.convert(TEMPLATE | spec, AWSNodeTemplateSpec)
    return AWSNodeTemplate(metadata=ObjectMeta(name="default"), spec=given)


@pytest.mark.parametrize(
    ("kind", "spec"), [(PROVISIONER, ProvisionerSpec), (NODE_TEMPLATE, AWSNodeTemplateSpec)]
)
def test_every_field_of_the_api_has_a_class(kind: str, spec: type[Any]) -> None:
    named = [one.name for one in FIELDS if one.kind == kind]

    assert sorted(named) == sorted(one.encode_name for one in msgspec.structs.fields(spec))


def test_the_hash_of_a_provisioner_holds_exactly_its_static_fields() -> None:
    held = provisioner_fields(msgspec.convert({"spec": FULL}, Provisioner))

    assert sorted(held) == sorted(names_of(PROVISIONER, Way.STATIC))


def test_the_hash_of_a_template_holds_exactly_its_static_fields() -> None:
    assert sorted(template_fields(template())) == sorted(names_of(NODE_TEMPLATE, Way.STATIC))


@pytest.mark.parametrize("field", sorted(OTHER))
def test_a_template_changes_with_its_static_fields_only(field: str) -> None:
    changed = template_hash_of(template(**{field: OTHER[field]})) != template_hash_of(template())

    assert changed == (field in names_of(NODE_TEMPLATE, Way.STATIC))


SAME: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the default family": ({"amiFamily": None}, {"amiFamily": "AL2"}),
    "mappings in another order": (
        {},
        {"blockDeviceMappings": TEMPLATE["blockDeviceMappings"][::-1]},
    ),
    "a size in other units": (
        {"blockDeviceMappings": [{"deviceName": "a", "ebs": {"volumeSize": "1Ti"}}]},
        {"blockDeviceMappings": [{"deviceName": "a", "ebs": {"volumeSize": "1024Gi"}}]},
    ),
    "monitoring that is off": ({"detailedMonitoring": None}, {"detailedMonitoring": False}),
    "the defaults of metadata": (
        {"metadataOptions": None},
        {
            "metadataOptions": {
                "httpEndpoint": "enabled",
                "httpProtocolIPv6": "disabled",
                "httpPutResponseHopLimit": 2,
                "httpTokens": "required",
            }
        },
    ),
    "tags in another order": ({}, {"tags": {"b": "2", "a": "1"}}),
    "an empty text": ({"userData": None}, {"userData": ""}),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=list(SAME))
def test_the_same_meaning_has_the_same_hash(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert template_hash_of(template(**one)) == template_hash_of(template(**other))


def test_a_volumes_encryption_that_is_off_is_not_one_that_is_unset() -> None:
    def of(**ebs: Any) -> str:
        mappings = [{"deviceName": "a", "ebs": {"volumeSize": "1Gi", **ebs}}]
        return template_hash_of(template(blockDeviceMappings=mappings))

    assert of(encrypted=False) != of()


def test_a_template_hash_names_its_version_and_never_moves_unnoticed() -> None:
    assert template_hash_of(template()).startswith(VERSION)
    assert hash_of(Provisioner()).startswith(VERSION)


def test_the_record_shows_no_secrets_and_nothing_long() -> None:
    record = record_of(template_fields(template(tags={f"tag-{i}": "x" * 20 for i in range(20)})))

    assert "secret" not in str(record)
    assert {"userData"} == NEVER_SHOWN
    assert record["tags"].startswith("#")
    assert all(len(text) <= SHOWN_CHARS_MAX for text in record.values())
    assert record["instanceProfile"] == '"p"'
