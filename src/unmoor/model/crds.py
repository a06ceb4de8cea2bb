"""How the API server learns our kinds: the CustomResourceDefinitions, built from one place.

Here are the types; ``crd_rules`` adds what ``validate`` of a kind refuses, as far as a server can
say it. Fields that are not here are pruned by the server, so a test compares these schemas with the
structs that read them.

Must not: be edited without the struct that reads the field.
"""

from __future__ import annotations

from unmoor.model import crd_rules, names
from unmoor.model.base import JSON
from unmoor.model.disruption import DisruptionPhase, LeftOutReason
from unmoor.model.provisioner import ACTIVE, TTL_MOST_S

CONDITION = '.status.conditions[?(@.type=="%s")].status'


def _object(description: str = "", *, required: tuple[str, ...] = (), **properties: JSON) -> JSON:
    """An object with these properties."""
    schema: JSON = {"type": "object"}
    if description:
        schema["description"] = description
    if required:
        schema["required"] = list(required)
    return schema | {"properties": properties}


def _string(description: str = "") -> JSON:
    return {"type": "string"} | ({"description": description} if description else {})


def _boolean(description: str = "") -> JSON:
    return {"type": "boolean"} | ({"description": description} if description else {})


def _integer(
    description: str = "", *, bits: int = 64, least: int | None = None, most: int | None = None
) -> JSON:
    schema: JSON = {"type": "integer", "format": f"int{bits}"}
    if description:
        schema["description"] = description
    if least is not None:
        schema["minimum"] = least
    if most is not None:
        schema["maximum"] = most
    return schema


def _list(items: JSON, description: str = "") -> JSON:
    schema: JSON = {"type": "array", "items": items}
    return schema | ({"description": description} if description else {})


def _map(values: JSON, description: str = "") -> JSON:
    schema: JSON = {"type": "object", "additionalProperties": values}
    return schema | ({"description": description} if description else {})


def _anything(description: str) -> JSON:
    return {
        "type": "object",
        "description": description,
        "x-kubernetes-preserve-unknown-fields": True,
    }


def _time() -> JSON:
    return {"type": "string", "format": "date-time"}


def _quantity() -> JSON:
    return {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    }


def _quantities(description: str = "") -> JSON:
    return _map(_quantity(), description)


def _taints(description: str) -> JSON:
    taint = _object(
        required=("key",), key=_string(), value=_string(), effect=_string(), timeAdded=_time()
    )
    return _list(taint, description)


def _requirements(description: str = "") -> JSON:
    requirement = _object(
        required=("key", "operator"), key=_string(), operator=_string(), values=_list(_string())
    )
    return _list(requirement, description)


def _reference(description: str) -> JSON:
    return _object(
        description, required=("name",), apiVersion=_string(), kind=_string(), name=_string()
    )


def _conditions() -> JSON:
    condition = _object(
        required=("type", "status"),
        type=_string(),
        status=_string(),
        severity=_string(),
        reason=_string(),
        message=_string(),
        lastTransitionTime=_time(),
    )
    return _list(condition)


def _kubelet(description: str) -> JSON:
    return _object(
        description,
        clusterDNS=_list(_string()),
        containerRuntime=_string(),
        maxPods=_integer(bits=32, least=0),
        podsPerCore=_integer(bits=32, least=0),
        systemReserved=_quantities(),
        kubeReserved=_quantities(),
        evictionHard=_map(_string()),
        evictionSoft=_map(_string()),
        evictionSoftGracePeriod=_map(_string()),
        evictionMaxPodGracePeriod=_integer(bits=32),
        imageGCHighThresholdPercent=_integer(bits=32, least=0, most=100),
        imageGCLowThresholdPercent=_integer(bits=32, least=0, most=100),
        cpuCFSQuota=_boolean(),
    )


def _column(name: str, path: str, *, kind: str = "string", wide: bool = False) -> JSON:
    """A column of ``kubectl get``; a wide one is shown with ``-o wide``."""
    column: JSON = {"name": name, "type": kind, "jsonPath": path}
    return column | ({"priority": 1} if wide else {})


def _label(key: str, of: str = "labels") -> str:
    """The path of a label or annotation, whose dots must not be read as steps."""
    escaped = key.replace(".", r"\.")
    return f".metadata.{of}.{escaped}"


def _definition(
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
    named |= {"shortNames": list(short)} if short else {}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": named, "versions": [described]},
    }


def _schema(description: str, spec: JSON, status: JSON) -> JSON:
    return _object(
        description,
        apiVersion=_string(),
        kind=_string(),
        metadata={"type": "object"},
        spec=spec,
        status=status,
    )


def provisioner() -> JSON:
    """Return the definition of ``karpenter.sh/v1alpha5`` Provisioner (spec 1.1)."""
    spec = _object(
        annotations=_map(_string(), "Put on every node."),
        labels=_map(_string(), "Put on every node; each is a requirement as well."),
        taints=_taints("Put on every node; pods must tolerate them."),
        startupTaints=_taints("Put on every new node and removed by someone else."),
        requirements=_requirements("What the nodes must be, as requirements on their labels."),
        kubeletConfiguration=_kubelet("Arguments of the kubelet."),
        provider=_anything("Deprecated: the node template, written in place. See providerRef."),
        providerRef=_reference("The node template."),
        ttlSecondsAfterEmpty=_integer(
            "Seconds after which an empty node goes; unset: it stays. Not with consolidation.",
            least=0,
            most=TTL_MOST_S,
        ),
        ttlSecondsUntilExpired=_integer(
            "Seconds after which a node goes; unset: it stays.", least=0, most=TTL_MOST_S
        ),
        limits=_object(
            "How much capacity all nodes together may have. A machine that is not launched yet "
            "counts as the largest that it may become.",
            resources=_quantities("By resource, as in cpu; what is not named has no limit."),
        ),
        weight=_integer(
            "Provisioners with a higher weight are tried first.", bits=32, least=1, most=100
        ),
        consolidation=_object(
            "Whether nodes are removed or replaced when that is cheaper.", enabled=_boolean()
        ),
    )
    status = _object(
        resources=_quantities("The capacity of all nodes together."),
        lastScaleTime=_time(),
        conditions=_conditions(),
    )
    return _definition(
        f"{names.KARPENTER_GROUP}/v1alpha5",
        "Provisioner",
        schema=_schema(
            "Which nodes there may be, and when they may go.", crd_rules.provisioner(spec), status
        ),
        columns=[
            _column("Template", ".spec.providerRef.name"),
            _column("Weight", ".spec.weight", kind="integer", wide=True),
            _column("Active", CONDITION % ACTIVE),
            _column("Age", ".metadata.creationTimestamp", kind="date"),
        ],
    )


def machine() -> JSON:
    """Return the definition of ``karpenter.sh/v1alpha5`` Machine (spec 1.2)."""
    spec = _object(
        taints=_taints("Put on the node."),
        startupTaints=_taints("Put on the new node and removed by someone else."),
        requirements=_requirements("What the instance must be."),
        resources=_object("What the node must have room for.", requests=_quantities()),
        kubelet=_kubelet("Arguments of the kubelet."),
        machineTemplateRef=_reference("The node template."),
    )
    status = _object(
        nodeName=_string("The node that has joined for it."),
        providerID=_string("The instance."),
        capacity=_quantities(),
        allocatable=_quantities(),
        conditions=_conditions(),
    )
    return _definition(
        f"{names.KARPENTER_GROUP}/v1alpha5",
        "Machine",
        schema=_schema("A node from the launch of its instance to its end.", spec, status),
        columns=[
            _column("Type", _label(names.INSTANCE_TYPE)),
            _column("Zone", _label(names.ZONE)),
            _column("Node", ".status.nodeName"),
            _column("Ready", CONDITION % "Ready"),
            _column("Age", ".metadata.creationTimestamp", kind="date"),
            _column("Capacity", _label(names.CAPACITY_TYPE), wide=True),
            _column("Provisioner", _label(names.PROVISIONER_NAME), wide=True),
            _column("Template", ".spec.machineTemplateRef.name", wide=True),
            _column("USD per hour", _label(names.PRICE, "annotations"), wide=True),
            _column("Price book", _label(names.PRICE_BOOK, "annotations"), wide=True),
        ],
    )


def aws_node_template() -> JSON:
    """Return the definition of ``karpenter.k8s.aws/v1alpha1`` AWSNodeTemplate (spec 1.4)."""
    volume = _object(
        deleteOnTermination=_boolean(),
        encrypted=_boolean(),
        iops=_integer(),
        kmsKeyID=_string(),
        snapshotID=_string(),
        throughput=_integer(),
        volumeSize=_quantity(),
        volumeType=_string(),
    )
    spec = _object(
        amiFamily=_string("The kind of image; AL2 when unset."),
        userData=_string("Given to the instance when it starts."),
        context=_string("The context of the fleet request."),
        instanceProfile=_string("The role of the instance."),
        tags=_map(_string(), "Tags of the instance."),
        metadataOptions=_object(
            "Access to the instance metadata service.",
            httpEndpoint=_string(),
            httpProtocolIPv6=_string(),
            httpPutResponseHopLimit=_integer(),
            httpTokens=_string(),
        ),
        blockDeviceMappings=_list(_object(deviceName=_string(), ebs=volume), "Its volumes."),
        detailedMonitoring=_boolean("Whether it is measured every minute."),
        subnetSelector=_map(_string(), "Subnets by tag, or by aws-ids."),
        securityGroupSelector=_map(_string(), "Security groups by tag, or by aws-ids."),
        amiSelector=_map(_string(), "Images by tag, name, owner, or by aws-ids."),
        launchTemplate=_string("A launch template of your own, instead of most of the above."),
    )
    status = _object(
        subnets=_list(_object(id=_string(), zone=_string())),
        securityGroups=_list(_object(id=_string(), name=_string())),
        amis=_list(_object(id=_string(), name=_string(), requirements=_requirements())),
    )
    return _definition(
        f"{names.AWS_GROUP}/v1alpha1",
        "AWSNodeTemplate",
        schema=_schema("How AWS instances are made.", crd_rules.node_template(spec), status),
        columns=[],
    )


def disruption() -> JSON:
    """Return the definition of ``unmoor.dev/v1alpha1`` Disruption."""
    node = _object(
        required=("name", "uid"),
        name=_string(),
        uid=_string(),
        machine=_string(),
        machineUID=_string(),
    )
    owner = _object(
        required=("kind", "namespace", "name", "uid"),
        kind=_string(),
        namespace=_string(),
        name=_string(),
        uid=_string(),
        ready=_integer(),
    )
    spec = _object(
        "What was decided. Never edited afterwards.",
        method=_string("Which way of deprovisioning: expiration, drift, emptiness and so on."),
        reason=_string("Why, in a word."),
        summary=_string("The nodes that go, for a person: some by name, the rest counted."),
        nodes=_list(node, "The nodes that go, by identity."),
        moved=_list(owner, "Who owns the pods that move, and how many of them were ready."),
    )
    left_out = _object(
        required=("reason",),
        reason=_string("Why, in a word.") | {"enum": [one.value for one in LeftOutReason]},
        message=_string("The same in a sentence."),
    )
    status = _object(
        "What has become of it.",
        phase=_string("How far it has come.") | {"enum": [one.value for one in DisruptionPhase]},
        phaseSince=_time(),
        message=_string("The same in a sentence."),
        leftOut=_map(left_out, "Nodes that were let go again, by name."),
        startedAt=_time(),
        finishedAt=_time(),
    )
    return _definition(
        f"{names.UNMOOR_GROUP}/v1alpha1",
        "Disruption",
        schema=_schema("A decision to take nodes out of service.", spec, status),
        columns=[
            _column("Method", ".spec.method"),
            _column("Phase", ".status.phase"),
            _column("Nodes", ".spec.summary"),
            _column("Age", ".metadata.creationTimestamp", kind="date"),
            _column("Message", ".status.message"),
            _column("Reason", ".spec.reason", wide=True),
        ],
        short=("disrupt",),
    )


def instance() -> JSON:
    """Return the definition of ``sim.unmoor.dev/v1alpha1`` Instance: a simulated machine."""
    return _definition(
        f"{names.SIM_GROUP}/v1alpha1",
        "Instance",
        schema=_schema(
            "A machine of the simulated cloud.",
            _anything("What was asked for."),
            _anything("What has become of it."),
        ),
        columns=[
            _column("Type", ".spec.instanceType"),
            _column("Zone", ".spec.zone"),
            _column("Capacity", ".spec.capacityType"),
            _column("Phase", ".status.phase"),
            _column("Node", ".status.nodeName"),
            _column("Age", ".metadata.creationTimestamp", kind="date"),
        ],
    )


def all_crds() -> tuple[JSON, ...]:
    """Return every definition, ready to be applied. Each call makes new ones."""
    return (provisioner(), machine(), aws_node_template(), disruption(), instance())
