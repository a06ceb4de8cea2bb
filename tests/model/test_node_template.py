"""AWSNodeTemplates: each rule of spec 1.4 with what it accepts and what it refuses (T426, R29)."""

from typing import Any

import msgspec
import pytest

from unmoor.model import node_template
from unmoor.model.node_template import AWSNodeTemplate

FINE: dict[str, Any] = {
    "subnetSelector": {"team": "shop"},
    "securityGroupSelector": {"team": "shop"},
}


def make(**spec: Any) -> AWSNodeTemplate:
    raw = {"metadata": {"name": "default"}, "spec": {**FINE, **spec}}
    return msgspec.json.decode(msgspec.json.encode(raw), type=AWSNodeTemplate)


def problems(**spec: Any) -> dict[str, str]:
    return {error.field: str(error) for error in node_template.validate(make(**spec))}


def mapping(**ebs: Any) -> dict[str, Any]:
    return {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": ebs}]}


LAUNCHED = {"launchTemplate": "mine", "securityGroupSelector": {}}

ACCEPTED: dict[str, dict[str, Any]] = {
    "selectors by tag": {},
    "any value of a tag": {"subnetSelector": {"team": "*"}},
    "subnets by id": {"subnetSelector": {"aws-ids": "subnet-0a1,subnet-2"}},
    "security groups by id": {"securityGroupSelector": {"aws::ids": "sg-0a1, sg-2"}},
    "images by id": {"amiSelector": {"aws-ids": "ami-123"}},
    "images by name and owner": {"amiSelector": {"aws::name": "mine", "aws::owners": "self"}},
    "a launch template": LAUNCHED,
    "no user data": {"userData": ""},
    "tags": {"tags": {"team": "", "kubernetesxio/cluster/x": "a", "kubernetes.io/cluster": "a"}},
    "metadata options": {
        "metadataOptions": {
            "httpEndpoint": "disabled",
            "httpProtocolIPv6": "enabled",
            "httpPutResponseHopLimit": 64,
            "httpTokens": "optional",
        }
    },
    "a volume": mapping(volumeSize="20Gi", volumeType="gp3", kmsKeyID="k", iops=3000),
    "the smallest volume": mapping(volumeSize="1G"),
    "the largest volume": mapping(volumeSize="64T"),
    "a volume from a snapshot": mapping(snapshotID="snap-1"),
    "a custom image": {"amiFamily": "Custom", "amiSelector": {"team": "shop"}},
    **{f"family {name}": {"amiFamily": name} for name in node_template.AMI_FAMILIES[:-1]},
}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no subnets": ({"subnetSelector": {}}, "spec.subnetSelector"),
    "no security groups": ({"securityGroupSelector": {}}, "spec.securityGroupSelector"),
    "an empty key": ({"subnetSelector": {"": "x"}}, "spec.subnetSelector[]"),
    "an empty value": ({"amiSelector": {"a": ""}}, "spec.amiSelector[a]"),
    "subnets by id and tag": (
        {"subnetSelector": {"aws-ids": "subnet-1", "a": "b"}},
        "spec.subnetSelector[aws-ids]",
    ),
    "security groups by id and tag": (
        {"securityGroupSelector": {"aws::ids": "sg-1", "a": "b"}},
        "spec.securityGroupSelector[aws::ids]",
    ),
    "images by id and name": (
        {"amiSelector": {"aws-ids": "ami-1", "aws::name": "b"}},
        "spec.amiSelector[aws-ids]",
    ),
    "an id that is none": (
        {"subnetSelector": {"aws-ids": "subnet-1,sg-2"}},
        "spec.subnetSelector[aws-ids]",
    ),
    "a custom image that nobody selects": ({"amiFamily": "Custom"}, "spec.amiSelector"),
    "a family that is none": ({"amiFamily": "AL2022"}, "spec.amiFamily"),
    "an endpoint state that is none": (
        {"metadataOptions": {"httpEndpoint": "on"}},
        "spec.metadataOptions.httpEndpoint",
    ),
    "a protocol state that is none": (
        {"metadataOptions": {"httpProtocolIPv6": "on"}},
        "spec.metadataOptions.httpProtocolIPv6",
    ),
    "a token state that is none": (
        {"metadataOptions": {"httpTokens": "enabled"}},
        "spec.metadataOptions.httpTokens",
    ),
    "no hop": (
        {"metadataOptions": {"httpPutResponseHopLimit": 0}},
        "spec.metadataOptions.httpPutResponseHopLimit",
    ),
    "65 hops": (
        {"metadataOptions": {"httpPutResponseHopLimit": 65}},
        "spec.metadataOptions.httpPutResponseHopLimit",
    ),
    "a volume without device": (
        {"blockDeviceMappings": [{"ebs": {"volumeSize": "20Gi"}}]},
        "spec.blockDeviceMappings[0].deviceName",
    ),
    "a device without volume": (
        {"blockDeviceMappings": [{"deviceName": "/dev/xvda"}]},
        "spec.blockDeviceMappings[0].ebs",
    ),
    "a volume without size": (mapping(), "spec.blockDeviceMappings[0].ebs.volumeSize"),
    "a volume too small": (
        mapping(volumeSize="999M"),
        "spec.blockDeviceMappings[0].ebs.volumeSize",
    ),
    "a volume too large": (mapping(volumeSize="65T"), "spec.blockDeviceMappings[0].ebs.volumeSize"),
    "a size that is none": (
        mapping(volumeSize="20GB"),
        "spec.blockDeviceMappings[0].ebs.volumeSize",
    ),
    "a volume type that is none": (
        mapping(volumeSize="20Gi", volumeType="gp4"),
        "spec.blockDeviceMappings[0].ebs.volumeType",
    ),
    "an empty tag": ({"tags": {"": "a"}}, "spec.tags[]"),
    "the cluster's tag": (
        {"tags": {"kubernetes.io/cluster/x": "owned"}},
        "spec.tags[kubernetes.io/cluster/x]",
    ),
    "the provisioner's tag": (
        {"tags": {"karpenter.sh/provisioner-name": "x"}},
        "spec.tags[karpenter.sh/provisioner-name]",
    ),
    "the manager's tag": (
        {"tags": {"karpenter.sh/managed-by": "x"}},
        "spec.tags[karpenter.sh/managed-by]",
    ),
    **{
        f"a launch template beside {name}": ({**LAUNCHED, name: value}, f"spec.{name}")
        for name, value in {
            "securityGroupSelector": {"a": "b"},
            "metadataOptions": {},
            "amiFamily": "AL2",
            "instanceProfile": "x",
            "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi"}}],
            "userData": "",
            "amiSelector": {"a": "b"},
        }.items()
    },
}


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED)
def test_t426_accepted(spec: dict[str, Any]) -> None:
    assert problems(**spec) == {}


@pytest.mark.parametrize(("spec", "field"), REFUSED.values(), ids=REFUSED)
def test_t426_refused(spec: dict[str, Any], field: str) -> None:
    found = problems(**spec)

    assert field in found
    assert found[field].startswith(f"awsnodetemplate/default: {field}")


def test_the_image_family_has_a_default_that_is_not_written() -> None:
    assert make().ami_family == "AL2"
    assert make().spec.ami_family is None
    assert make(amiFamily="AL2023").ami_family == "AL2023"


def test_a_status_that_was_never_written_is_not_an_empty_one() -> None:
    assert make().status.subnets is None

    resolved = b'{"status":{"subnets":[],"securityGroups":[{"id":"sg-1","name":"x"}]}}'
    status = msgspec.json.decode(resolved, type=AWSNodeTemplate).status
    assert status.subnets == ()
    assert status.security_groups is not None
    assert status.security_groups[0].id == "sg-1"
