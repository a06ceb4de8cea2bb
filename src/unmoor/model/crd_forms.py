"""What definitions of our kinds are built of: types, lists, columns.

Must not: know any kind.
"""

from __future__ import annotations

from unmoor.model.base import JSON


def object_of(description: str = "", *, required: tuple[str, ...] = (), **properties: JSON) -> JSON:
    """An object with these properties."""
    found: JSON = {"type": "object"}
    if description:
        found["description"] = description
    if required:
        found["required"] = list(required)
    return found | {"properties": properties}


def string(description: str = "") -> JSON:
    """A text."""
    return {"type": "string"} | ({"description": description} if description else {})


def boolean(description: str = "") -> JSON:
    """True or false."""
    return {"type": "boolean"} | ({"description": description} if description else {})


def integer(
    description: str = "", *, bits: int = 64, least: int | None = None, most: int | None = None
) -> JSON:
    """A whole number."""
    found: JSON = {"type": "integer", "format": f"int{bits}"}
    if description:
        found["description"] = description
    if least is not None:
        found["minimum"] = least
    if most is not None:
        found["maximum"] = most
    return found


def list_of(items: JSON, description: str = "") -> JSON:
    """A list of these."""
    found: JSON = {"type": "array", "items": items}
    return found | ({"description": description} if description else {})


def map_of(values: JSON, description: str = "") -> JSON:
    """Names to these."""
    found: JSON = {"type": "object", "additionalProperties": values}
    return found | ({"description": description} if description else {})


def anything(description: str) -> JSON:
    """An object whose fields are kept as they are."""
    return {
        "type": "object",
        "description": description,
        "x-kubernetes-preserve-unknown-fields": True,
    }


def time() -> JSON:
    """A time."""
    return {"type": "string", "format": "date-time"}


def quantity() -> JSON:
    """A number, or a quantity as people write it."""
    return {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    }


def quantities(description: str = "") -> JSON:
    """Resources to quantities."""
    return map_of(quantity(), description)


def taints(description: str) -> JSON:
    """A list of taints."""
    taint = object_of(
        required=("key",), key=string(), value=string(), effect=string(), timeAdded=time()
    )
    return list_of(taint, description)


def requirements(description: str = "") -> JSON:
    """A list of requirements on labels."""
    requirement = object_of(
        required=("key", "operator"), key=string(), operator=string(), values=list_of(string())
    )
    return list_of(requirement, description)


def reference(description: str) -> JSON:
    """A reference to another object."""
    return object_of(
        description, required=("name",), apiVersion=string(), kind=string(), name=string()
    )


def conditions() -> JSON:
    """The conditions of a status."""
    condition = object_of(
        required=("type", "status"),
        type=string(),
        status=string(),
        severity=string(),
        reason=string(),
        message=string(),
        lastTransitionTime=time(),
    )
    return list_of(condition)


def kubelet(description: str) -> JSON:
    """The arguments of a kubelet."""
    return object_of(
        description,
        clusterDNS=list_of(string()),
        containerRuntime=string(),
        maxPods=integer(bits=32, least=0),
        podsPerCore=integer(bits=32, least=0),
        systemReserved=quantities(),
        kubeReserved=quantities(),
        evictionHard=map_of(string()),
        evictionSoft=map_of(string()),
        evictionSoftGracePeriod=map_of(string()),
        evictionMaxPodGracePeriod=integer(bits=32),
        imageGCHighThresholdPercent=integer(bits=32, least=0, most=100),
        imageGCLowThresholdPercent=integer(bits=32, least=0, most=100),
        cpuCFSQuota=boolean(),
    )


def column(name: str, path: str, *, kind: str = "string", wide: bool = False) -> JSON:
    """A column of ``kubectl get``; a wide one is shown with ``-o wide``."""
    described: JSON = {"name": name, "type": kind, "jsonPath": path}
    return described | ({"priority": 1} if wide else {})


def label_path(key: str, of: str = "labels") -> str:
    """The path of a label or annotation, whose dots must not be read as steps."""
    escaped = key.replace(".", r"\.")
    return f".metadata.{of}.{escaped}"


def definition(
    group_version: str, kind: str, *, schema: JSON, columns: list[JSON], short: tuple[str, ...] = ()
) -> JSON:
    """A cluster-scoped kind with one version and a status that is written on its own."""
    group, version = group_version.split("/")
    plural = f"{kind.lower()}s"
    described: JSON = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    if columns:
        described["additionalPrinterColumns"] = columns
    named: JSON = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
        "categories": ["unmoor"],
    }
    if short:
        named["shortNames"] = list(short)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": named, "versions": [described]},
    }


def schema(description: str, spec: JSON, status: JSON) -> JSON:
    """A whole object: what was asked for, and what has become of it."""
    return object_of(
        description,
        apiVersion=string(),
        kind=string(),
        metadata={"type": "object"},
        spec=spec,
        status=status,
    )
