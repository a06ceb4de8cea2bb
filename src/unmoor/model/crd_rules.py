"""What the API server refuses in our kinds beyond wrong types: the twins of ``validate`` (R28).

Each function takes the schema of a spec and adds what its ``validate`` says: as a bound, a pattern
or a list of choices where a schema can, as a rule in CEL where several fields or the keys of a map
are looked at. A real API server estimates what a rule may cost and refuses a definition with one
that is too dear, so what a rule walks through has a limit. :data:`LEFT_TO_CODE` names what neither
can say.

Must not: be relied on. An object may be older than the rules, so a controller asks ``validate``.
"""

from __future__ import annotations

from unmoor.model import kubelet as kubelets
from unmoor.model import names, requirement, taint, validation
from unmoor.model import node_template as templates
from unmoor.model.base import JSON

LEFT_TO_CODE = (
    ("any", "a missing `spec`", "an older object without one could not even be let go any more"),
    (
        "Provisioner",
        "the fields of `spec.provider`",
        "a rule cannot look into a field without types",
    ),
    (
        "Provisioner",
        "a quantity beyond what can be counted, a duration beyond 292 years",
        "a pattern sees the notation, not the sum",
    ),
    (
        "Provisioner",
        "a key whose part before `/` is longer than 253 characters",
        "only the whole length has a limit",
    ),
    (
        "Machine",
        "everything",
        "people do not write Machines; what makes no sense is reported on them",
    ),
)
"""(kind, what is judged by code alone, why)."""

_NUMBER = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_ZERO = r"(0+(\.0*)?|\.0+)"
_UNITS = r"([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_MICRO = "\u00b5\u03bc"  # the micro sign and the Greek letter
_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
QUALIFIED_NAME = rf"^({_PART}(\.{_PART})*/)?{_NAME}$"
LABEL_VALUE = rf"^({_NAME})?$"
_AMOUNT = rf"(\+?{_NUMBER}|-{_ZERO}){_UNITS}"
AMOUNT = rf"^{_AMOUNT}$"
THRESHOLD = rf"^({_AMOUNT}|(0*100(\.0*)?|0*[0-9]{{1,2}}(\.[0-9]*)?|\.[0-9]+)%)$"
DURATION = rf"^\+?(0|({_NUMBER}(ns|[u{_MICRO}]s|ms|s|m|h))+)$"

KEY_LIMIT_CHARS = names.PREFIX_LIMIT_CHARS + 1 + names.NAME_LIMIT_CHARS
_OWN_DOMAIN = "use a label of your own domain, or node-restriction.kubernetes.io"


def provisioner(spec: JSON) -> JSON:
    """Add what ``provisioner.validate`` says."""
    fields = spec["properties"]
    _labels(fields["labels"])
    for name in ("taints", "startupTaints"):
        _taints(fields[name])
    _requirements(fields["requirements"])
    _kubelet(fields["kubeletConfiguration"])
    fields["providerRef"]["properties"]["name"]["minLength"] = 1
    _amounts(fields["limits"]["properties"]["resources"])
    return _ruled(spec, *_PROVISIONER)


def node_template(spec: JSON) -> JSON:
    """Add what ``node_template.validate`` says."""
    fields = spec["properties"]
    spec["required"] = ["subnetSelector"]
    fields["subnetSelector"]["minProperties"] = 1
    for name in templates.ID_FORMATS:
        _selector(fields[name], templates.ID_FORMATS[name].pattern)
    fields["amiFamily"]["enum"] = list(templates.AMI_FAMILIES)
    options = fields["metadataOptions"]["properties"]
    options["httpEndpoint"]["enum"] = list(templates.HTTP_ENDPOINT_STATES)
    options["httpProtocolIPv6"]["enum"] = list(templates.HTTP_ENDPOINT_STATES)
    options["httpTokens"]["enum"] = list(templates.HTTP_TOKENS_STATES)
    hops = options["httpPutResponseHopLimit"]
    hops |= {"minimum": templates.HOP_LIMIT_LEAST, "maximum": templates.HOP_LIMIT_MOST}
    _volumes(fields["blockDeviceMappings"])
    _ruled(fields["tags"], *_TAGS)
    return _ruled(spec, *_TEMPLATE)


def _rule(expression: str, problem: str, remedy: str, *, at: str = "") -> JSON:
    """One rule: what must hold, what is said when it does not, and about which field."""
    rule: JSON = {"rule": expression, "message": f"{problem}; {remedy}"}
    return rule | {"fieldPath": at} if at else rule


def _ruled(schema: JSON, *rules: JSON) -> JSON:
    schema["x-kubernetes-validations"] = [dict(rule) for rule in rules]
    return schema


def _text(value: str) -> str:
    """A text as CEL writes it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _texts(values: tuple[str, ...]) -> str:
    return f"[{', '.join(_text(one) for one in values)}]"


def _is_unrestricted(key: str, *, known: tuple[str, ...]) -> str:
    """True in CEL for a label that a person may use, as ``names.restricted_label_problem`` says."""
    closed = "|".join(one.replace(".", r"\.") for one in names.RESTRICTED_DOMAINS)
    open_ = "|".join(one.replace(".", r"\.") for one in sorted(names.RESTRICTED_DOMAIN_EXCEPTIONS))
    is_closed, is_open = _text(rf"^([^/]*\.)?({closed})/"), _text(f"^({open_})/")
    return f"{key} in {_texts(known)} || !{key}.matches({is_closed}) || {key}.matches({is_open})"


# ------------------------------------------------------------------------------------ provisioner

_SAME_TAINT = "a.key == b.key && (has(a.effect) ? a.effect : '') == (has(b.effect) ? b.effect : '')"
_PROVISIONER = (
    _rule(
        "!has(self.ttlSecondsAfterEmpty) || !has(self.consolidation)"
        " || !has(self.consolidation.enabled) || !self.consolidation.enabled",
        "consolidation.enabled is true as well, and consolidation removes empty nodes",
        "remove ttlSecondsAfterEmpty, or set consolidation.enabled to false",
        at=".ttlSecondsAfterEmpty",
    ),
    _rule(
        "!has(self.provider) || !has(self.providerRef)",
        "expected exactly one of provider and providerRef, got both",
        "remove spec.provider",
        at=".provider",
    ),
    _rule(
        "has(self.provider) || has(self.providerRef)",
        "missing one of provider and providerRef",
        "name a node template",
        at=".providerRef",
    ),
    *(
        _rule(
            f"!has(self.{name}) || self.{name}.all(a, self.{name}.exists_one(b, {_SAME_TAINT}))",
            "the same key and effect stand there twice",
            "remove one of them",
            at=f".{name}",
        )
        for name in ("taints", "startupTaints")
    ),
    _rule(
        "!has(self.taints) || !has(self.startupTaints)"
        f" || self.taints.all(a, !self.startupTaints.exists(b, {_SAME_TAINT}))",
        "the same key and effect stand in taints",
        "remove one of them",
        at=".startupTaints",
    ),
)


def _labels(schema: JSON) -> None:
    schema["maxProperties"] = validation.LABELS_MOST
    schema["additionalProperties"] |= {
        "pattern": LABEL_VALUE,
        "maxLength": names.NAME_LIMIT_CHARS,
    }
    _ruled(
        schema,
        _rule(
            f"!({_text(names.PROVISIONER_NAME)} in self)",
            f"{names.PROVISIONER_NAME} is set by the system",
            "remove it",
        ),
        _rule(
            f"self.all(k, k.matches({_text(QUALIFIED_NAME)}))",
            "a key is not a qualified name, as in team or example.com/team",
            "rename the key",
        ),
        _rule(
            f"self.all(k, {_is_unrestricted('k', known=tuple(sorted(names.WELL_KNOWN_LABELS)))})",
            f"a label is in a domain kept for the system ({', '.join(names.RESTRICTED_DOMAINS)})",
            _OWN_DOMAIN,
        ),
    )


def _taints(schema: JSON) -> None:
    schema["maxItems"] = validation.TAINTS_MOST
    fields = schema["items"]["properties"]
    fields["key"] |= {"pattern": QUALIFIED_NAME, "maxLength": KEY_LIMIT_CHARS}
    fields["value"] |= {"pattern": LABEL_VALUE, "maxLength": names.NAME_LIMIT_CHARS}
    fields["effect"]["enum"] = ["", *taint.EFFECTS]


def _requirements(schema: JSON) -> None:
    schema["maxItems"] = validation.REQUIREMENTS_MOST
    fields = schema["items"]["properties"]
    fields["key"] |= {"pattern": QUALIFIED_NAME, "maxLength": KEY_LIMIT_CHARS}
    fields["operator"]["enum"] = list(requirement.OPERATORS)
    fields["values"]["items"] |= {"pattern": LABEL_VALUE, "maxLength": names.NAME_LIMIT_CHARS}
    known = tuple(sorted({*names.WELL_KNOWN_LABELS, *names.LABEL_ALIASES}))
    _ruled(
        schema["items"],
        _rule(
            f"self.key != {_text(names.PROVISIONER_NAME)}",
            "this label is set by the system",
            "remove it",
            at=".key",
        ),
        _rule(
            _is_unrestricted("self.key", known=known),
            f"the label is in a domain kept for the system ({', '.join(names.RESTRICTED_DOMAINS)})",
            _OWN_DOMAIN,
            at=".key",
        ),
        _rule(
            "self.operator != 'In' || has(self.values) && self.values.size() > 0",
            "In has no values",
            "name at least one",
            at=".values",
        ),
        _rule(
            "!(self.operator in ['Gt', 'Lt']) || has(self.values) && self.values.size() == 1"
            f" && self.values[0].matches('^{validation.BOUND}$')",
            f"Gt and Lt compare with {validation.BOUND_NAMED}",
            "give exactly one, as in [8]",
            at=".values",
        ),
    )


def _amounts(schema: JSON) -> None:
    schema["additionalProperties"] |= {"pattern": AMOUNT, "minimum": 0}


# ---------------------------------------------------------------------------------------- kubelet


def _kubelet(schema: JSON) -> None:
    fields = schema["properties"]
    fields["evictionMaxPodGracePeriod"]["minimum"] = 0
    for name in ("kubeReserved", "systemReserved"):
        _amounts(fields[name])
        _ruled(fields[name], _known_keys(kubelets.RESERVABLE, "a resource cannot be reserved"))
    for name in ("evictionHard", "evictionSoft", "evictionSoftGracePeriod"):
        pattern = DURATION if name == "evictionSoftGracePeriod" else THRESHOLD
        fields[name]["additionalProperties"]["pattern"] = pattern
        known = _known_keys(kubelets.EVICTION_SIGNALS, "the kubelet does not know a signal")
        _ruled(fields[name], known)
    _ruled(schema, *_KUBELET)


def _known_keys(known: tuple[str, ...], problem: str) -> JSON:
    return _rule(f"self.all(k, k in {_texts(known)})", problem, f"use only {', '.join(known)}")


def _each_is_in(name: str, other: str) -> JSON:
    return _rule(
        f"!has(self.{name}) || self.{name}.all(k, has(self.{other}) && k in self.{other})",
        f"{other} lacks a signal",
        "set both, or remove this",
        at=f".{name}",
    )


_KUBELET = (
    _each_is_in("evictionSoft", "evictionSoftGracePeriod"),
    _each_is_in("evictionSoftGracePeriod", "evictionSoft"),
    _rule(
        "!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent)"
        " || self.imageGCHighThresholdPercent >= self.imageGCLowThresholdPercent",
        "it is below imageGCLowThresholdPercent",
        "raise it, or lower that",
        at=".imageGCHighThresholdPercent",
    ),
)

# ---------------------------------------------------------------------------------- node template

_DECIDED_BY_LAUNCH_TEMPLATE = {
    "securityGroupSelector": "self.securityGroupSelector.size() == 0",
    "metadataOptions": "",
    "amiFamily": "",
    "instanceProfile": "",
    "blockDeviceMappings": "self.blockDeviceMappings.size() == 0",
    "userData": "",
    "amiSelector": "self.amiSelector.size() == 0",
}
"""Fields that may not stand beside a launch template, and when they do not count."""
_TEMPLATE = (
    _rule(
        "has(self.launchTemplate)"
        " || has(self.securityGroupSelector) && self.securityGroupSelector.size() > 0",
        "it is missing",
        "select security groups by tag or id, or name a launchTemplate",
        at=".securityGroupSelector",
    ),
    _rule(
        f"!has(self.amiFamily) || self.amiFamily != {_text(templates.CUSTOM_AMI_FAMILY)}"
        " || has(self.amiSelector) && self.amiSelector.size() > 0",
        "amiFamily Custom has no image of its own",
        "select one",
        at=".amiSelector",
    ),
    *(
        _rule(
            f"!has(self.launchTemplate) || !has(self.{name})" + (f" || {but}" if but else ""),
            "launchTemplate is set, and it decides this",
            f"remove {name}, or launchTemplate",
            at=f".{name}",
        )
        for name, but in _DECIDED_BY_LAUNCH_TEMPLATE.items()
    ),
)
_TAGS = (
    _rule("!('' in self)", "a key is empty", "name the tag"),
    _rule(
        f"{_texts(tuple(sorted(names.RESTRICTED_TAGS)))}.all(k, !(k in self))"
        f" && !self.exists(k, k.startsWith({_text(names.RESTRICTED_TAG_PREFIX)}))",
        "instances are found by a tag that the system sets"
        f" ({', '.join(sorted(names.RESTRICTED_TAGS))}, {names.RESTRICTED_TAG_PREFIX}...)",
        "remove it",
    ),
)


def _selector(schema: JSON, form: str) -> None:
    ids = _texts(templates.ID_FILTERS)
    listed = rf"^\s*{form}\s*(,\s*{form}\s*)*$"
    _ruled(
        schema,
        _rule(
            "self.all(k, k != '' && self[k] != '')",
            "a key or a value is empty",
            "give both; '*' selects any value of a tag",
        ),
        _rule(
            f"self.size() < 2 || {ids}.all(k, !(k in self))",
            "ids stand beside other keys",
            "use the ids alone, or none",
        ),
        _rule(
            f"{ids}.all(k, !(k in self) || self[k] == '' || self[k].matches({_text(listed)}))",
            "a listed id is none",
            f"ids begin with {form.partition('[')[0]}",
        ),
    )


def _volumes(schema: JSON) -> None:
    schema["maxItems"] = templates.BLOCK_DEVICES_MOST
    mapping = schema["items"]
    mapping["required"] = ["deviceName", "ebs"]
    mapping["properties"]["deviceName"]["minLength"] = 1
    volume = mapping["properties"]["ebs"]
    fields = volume["properties"]
    fields["volumeType"]["enum"] = list(templates.VOLUME_TYPES)
    fields["volumeSize"] |= {"pattern": AMOUNT, "maxLength": 64}
    least, most = (
        f"quantity({_text(size)})"
        for size in (templates.VOLUME_SIZE_LEAST, templates.VOLUME_SIZE_MOST)
    )
    size = "quantity(string(self.volumeSize))"
    _ruled(
        volume,
        _rule(
            "has(self.volumeSize) || has(self.snapshotID) && self.snapshotID != ''",
            "neither a size nor a snapshotID is given",
            "give one of them",
            at=".volumeSize",
        ),
        _rule(
            "!has(self.volumeSize) || !isQuantity(string(self.volumeSize))"
            f" || {size}.compareTo({least}) >= 0 && {size}.compareTo({most}) <= 0",
            "EBS has no such volumes",
            f"use {templates.VOLUME_SIZE_LEAST} to {templates.VOLUME_SIZE_MOST}",
            at=".volumeSize",
        ),
    )
