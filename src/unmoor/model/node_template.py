"""How AWS instances are made: the AWSNodeTemplate and the rules it must keep.

Must not: resolve a selector; what the account holds is an observation.
"""

from __future__ import annotations

import re

from msgspec import field

from unmoor.model import names, quantity
from unmoor.model.base import Object, Struct
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.validation import FieldError, Findings

AMI_FAMILIES = ("AL2", "AL2023", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022", "Custom")
"""Spec 1.4, and AL2023 (R29)."""
DEFAULT_AMI_FAMILY = "AL2"
CUSTOM_AMI_FAMILY = "Custom"

HTTP_ENDPOINT_STATES = ("enabled", "disabled")
HTTP_TOKENS_STATES = ("required", "optional")
HOP_LIMIT_LEAST = 1
HOP_LIMIT_MOST = 64
VOLUME_TYPES = ("standard", "io1", "io2", "gp2", "gp3", "sc1", "st1")
VOLUME_SIZE_LEAST = "1G"
VOLUME_SIZE_MOST = "64T"

ID_FILTERS = ("aws-ids", "aws::ids")
"""Selector keys whose value is a comma-separated list of ids instead of a tag's value."""
ID_FORMATS = {
    "subnetSelector": re.compile(r"subnet-[0-9a-z]+"),
    "securityGroupSelector": re.compile(r"sg-[0-9a-z]+"),
    "amiSelector": re.compile(r"ami-[0-9a-z]+"),
}
"""What an id looks like, by selector."""
BLOCK_DEVICES_MOST = 100


class MetadataOptions(Struct):
    """Access to the instance's metadata service (spec 1.4)."""

    http_endpoint: str | None = None
    http_protocol_ipv6: str | None = field(default=None, name="httpProtocolIPv6")
    http_put_response_hop_limit: int | None = None
    http_tokens: str | None = None


class BlockDevice(Struct):
    """An EBS volume; the size as written."""

    delete_on_termination: bool | None = None
    encrypted: bool | None = None
    iops: int | None = None
    kms_key_id: str | None = field(default=None, name="kmsKeyID")
    snapshot_id: str | None = field(default=None, name="snapshotID")
    throughput: int | None = None
    volume_size: str | int | float | None = None
    volume_type: str | None = None


class BlockDeviceMapping(Struct):
    """A volume and the device it appears as."""

    device_name: str | None = None
    ebs: BlockDevice | None = None


class AWSNodeTemplateSpec(Struct):
    """What a person wrote (spec 1.4); also the form of a Provisioner's inline ``provider``."""

    ami_family: str | None = None
    user_data: str | None = None
    context: str | None = None
    instance_profile: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    metadata_options: MetadataOptions | None = None
    block_device_mappings: tuple[BlockDeviceMapping, ...] = ()
    detailed_monitoring: bool | None = None
    subnet_selector: dict[str, str] = field(default_factory=dict)
    security_group_selector: dict[str, str] = field(default_factory=dict)
    ami_selector: dict[str, str] = field(default_factory=dict)
    launch_template: str | None = None


class Subnet(Struct):
    """A subnet that the selector resolved to."""

    id: str = ""
    zone: str = ""


class SecurityGroup(Struct):
    """A security group that the selector resolved to."""

    id: str = ""
    name: str = ""


class AMI(Struct):
    """An image that the selector or the family resolved to, and the instances it suits."""

    id: str = ""
    name: str = ""
    requirements: tuple[NodeSelectorRequirement, ...] = ()


class AWSNodeTemplateStatus(Struct):
    """What the selectors resolved to; None means "not resolved yet", () means "to nothing"."""

    subnets: tuple[Subnet, ...] | None = None
    security_groups: tuple[SecurityGroup, ...] | None = None
    amis: tuple[AMI, ...] | None = None


class AWSNodeTemplate(Object):
    """``karpenter.k8s.aws/v1alpha1`` AWSNodeTemplate, cluster-scoped."""

    spec: AWSNodeTemplateSpec = AWSNodeTemplateSpec()
    status: AWSNodeTemplateStatus = AWSNodeTemplateStatus()

    @property
    def ami_family(self) -> str:
        """The family, with its default (spec 1.4)."""
        return self.spec.ami_family or DEFAULT_AMI_FAMILY


def validate(template: AWSNodeTemplate) -> tuple[FieldError, ...]:
    """Return everything that is wrong with it (spec 1.4, T426); () when it may be used."""
    findings = Findings(f"awsnodetemplate/{template.name}")
    check(findings, "spec", template.spec)
    return findings.errors


def check(findings: Findings, path: str, spec: AWSNodeTemplateSpec) -> None:
    """Add everything that is wrong with a template, wherever it stands."""
    _check_selectors(findings, path, spec)
    if spec.launch_template is not None:
        _check_launch_template(findings, path, spec)
    findings.one_of(f"{path}.amiFamily", spec.ami_family, AMI_FAMILIES)
    if spec.ami_family == CUSTOM_AMI_FAMILY and not spec.ami_selector:
        problem = "amiFamily Custom has no image of its own"
        findings.add(f"{path}.amiSelector", "", problem, "select one")
    if spec.metadata_options is not None:
        _check_metadata_options(findings, f"{path}.metadataOptions", spec.metadata_options)
    mappings = spec.block_device_mappings
    findings.at_most(f"{path}.blockDeviceMappings", len(mappings), BLOCK_DEVICES_MOST)
    for index, mapping in enumerate(mappings):
        _check_mapping(findings, f"{path}.blockDeviceMappings[{index}]", mapping)
    for key, value in spec.tags.items():
        where = f"{path}.tags[{key}]"
        if not key:
            findings.add(where, value, "the key is empty", "name the tag")
        elif names.is_restricted_tag(key):
            problem = "instances are found by this tag, so the system sets it"
            findings.add(where, value, problem, "remove it")


def _check_selectors(findings: Findings, path: str, spec: AWSNodeTemplateSpec) -> None:
    if not spec.subnet_selector:
        findings.add(f"{path}.subnetSelector", "", "it is missing", "select subnets by tag or id")
    if not spec.security_group_selector and spec.launch_template is None:
        remedy = "select security groups by tag or id, or name a launchTemplate"
        findings.add(f"{path}.securityGroupSelector", "", "it is missing", remedy)
    _check_selector(findings, path, "subnetSelector", spec.subnet_selector)
    _check_selector(findings, path, "securityGroupSelector", spec.security_group_selector)
    _check_selector(findings, path, "amiSelector", spec.ami_selector)


def _check_selector(findings: Findings, path: str, name: str, selector: dict[str, str]) -> None:
    for key, value in selector.items():
        where = f"{path}.{name}[{key}]"
        if not key or not value:
            remedy = "give both; '*' selects any value of a tag"
            findings.add(where, value, "a key or a value is empty", remedy)
        if key not in ID_FILTERS:
            continue
        if len(selector) > 1:
            others = ", ".join(sorted(set(selector) - {key}))
            findings.add(where, value, f"ids stand beside {others}", "use the ids alone, or none")
        for one in value.split(","):
            if value and not ID_FORMATS[name].fullmatch(one.strip()):
                expected = ID_FORMATS[name].pattern.partition("[")[0]
                findings.add(where, one, "it is not an id", f"ids begin with {expected}")


def _check_launch_template(findings: Findings, path: str, spec: AWSNodeTemplateSpec) -> None:
    """A launch template that a person manages already says all of these (spec 1.4)."""
    excluded = {
        "securityGroupSelector": bool(spec.security_group_selector),
        "metadataOptions": spec.metadata_options is not None,
        "amiFamily": spec.ami_family is not None,
        "instanceProfile": spec.instance_profile is not None,
        "blockDeviceMappings": bool(spec.block_device_mappings),
        "userData": spec.user_data is not None,
        "amiSelector": bool(spec.ami_selector),
    }
    for name, is_set in excluded.items():
        if is_set:
            problem = "launchTemplate is set, and it decides this"
            findings.add(f"{path}.{name}", "", problem, f"remove {name}, or launchTemplate")


def _check_metadata_options(findings: Findings, path: str, options: MetadataOptions) -> None:
    findings.one_of(f"{path}.httpEndpoint", options.http_endpoint, HTTP_ENDPOINT_STATES)
    findings.one_of(f"{path}.httpProtocolIPv6", options.http_protocol_ipv6, HTTP_ENDPOINT_STATES)
    findings.one_of(f"{path}.httpTokens", options.http_tokens, HTTP_TOKENS_STATES)
    hops = options.http_put_response_hop_limit
    findings.between(f"{path}.httpPutResponseHopLimit", hops, HOP_LIMIT_LEAST, HOP_LIMIT_MOST)


def _check_mapping(findings: Findings, path: str, mapping: BlockDeviceMapping) -> None:
    if not mapping.device_name:
        findings.add(f"{path}.deviceName", "", "it is missing", "name it, as in /dev/xvda")
    if mapping.ebs is None:
        findings.add(f"{path}.ebs", "", "it is missing", "describe the volume")
        return
    findings.one_of(f"{path}.ebs.volumeType", mapping.ebs.volume_type, VOLUME_TYPES)
    size = mapping.ebs.volume_size
    if size is None:
        if not mapping.ebs.snapshot_id:
            problem = "neither a size nor a snapshotID is given"
            findings.add(f"{path}.ebs.volumeSize", "", problem, "give one of them")
        return
    try:
        nano = quantity.parse(size)
    except quantity.QuantityError as error:
        findings.add(f"{path}.ebs.volumeSize", size, "it is not a quantity", error.hint)
        return
    if not quantity.parse(VOLUME_SIZE_LEAST) <= nano <= quantity.parse(VOLUME_SIZE_MOST):
        remedy = f"use {VOLUME_SIZE_LEAST} to {VOLUME_SIZE_MOST}"
        findings.add(f"{path}.ebs.volumeSize", size, "EBS has no such volumes", remedy)
