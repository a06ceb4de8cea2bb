"""How the API server learns our kinds: the CustomResourceDefinitions, built from one place.

Here are the types; ``crd_rules`` adds what ``validate`` of a kind refuses, as far as a server can
say it. Fields that are not here are pruned by the server, so a test compares these schemas with the
structs that read them.

Must not: be edited without the struct that reads the field.
"""

from __future__ import annotations

from unmoor.model import crd_forms as form
from unmoor.model import crd_rules, names
from unmoor.model.base import JSON
from unmoor.model.disruption import DisruptionPhase, LeftOutReason
from unmoor.model.provisioner import ACTIVE, TTL_MOST_S

CONDITION = '.status.conditions[?(@.type=="%s")].status'


def provisioner() -> JSON:
    """Return the definition of ``karpenter.sh/v1alpha5`` Provisioner (spec 1.1)."""
    spec = form.object_of(
        annotations=form.map_of(form.string(), "Put on every node."),
        labels=form.map_of(form.string(), "Put on every node; each is a requirement as well."),
        taints=form.taints("Put on every node; pods must tolerate them."),
        startupTaints=form.taints("Put on every new node and removed by someone else."),
        requirements=form.requirements("What the nodes must be, as requirements on their labels."),
        kubeletConfiguration=form.kubelet("Arguments of the kubelet."),
        provider=form.anything("Deprecated: the node template, written in place. See providerRef."),
        providerRef=form.reference("The node template."),
        ttlSecondsAfterEmpty=form.integer(
            "Seconds after which an empty node goes; unset: it stays. Not with consolidation.",
            least=0,
            most=TTL_MOST_S,
        ),
        ttlSecondsUntilExpired=form.integer(
            "Seconds after which a node goes; unset: it stays.", least=0, most=TTL_MOST_S
        ),
        limits=form.object_of(
            "How much capacity all nodes together may have. A machine that is not launched yet "
            "counts as the largest that it may become.",
            resources=form.quantities("By resource, as in cpu; what is not named has no limit."),
        ),
        weight=form.integer(
            "Provisioners with a higher weight are tried first.", bits=32, least=1, most=100
        ),
        consolidation=form.object_of(
            "Whether nodes are removed or replaced when that is cheaper.", enabled=form.boolean()
        ),
    )
    status = form.object_of(
        resources=form.quantities("The capacity of all nodes together."),
        lastScaleTime=form.time(),
        conditions=form.conditions(),
    )
    return form.definition(
        f"{names.KARPENTER_GROUP}/v1alpha5",
        "Provisioner",
        schema=form.schema(
            "Which nodes there may be, and when they may go.", crd_rules.provisioner(spec), status
        ),
        columns=[
            form.column("Template", ".spec.providerRef.name"),
            form.column("Weight", ".spec.weight", kind="integer", wide=True),
            form.column("Active", CONDITION % ACTIVE),
            form.column("Age", ".metadata.creationTimestamp", kind="date"),
        ],
    )


def machine() -> JSON:
    """Return the definition of ``karpenter.sh/v1alpha5`` Machine (spec 1.2)."""
    spec = form.object_of(
        taints=form.taints("Put on the node."),
        startupTaints=form.taints("Put on the new node and removed by someone else."),
        requirements=form.requirements("What the instance must be."),
        resources=form.object_of("What the node must have room for.", requests=form.quantities()),
        kubelet=form.kubelet("Arguments of the kubelet."),
        machineTemplateRef=form.reference("The node template."),
    )
    status = form.object_of(
        nodeName=form.string("The node that has joined for it."),
        providerID=form.string("The instance."),
        capacity=form.quantities(),
        allocatable=form.quantities(),
        conditions=form.conditions(),
    )
    return form.definition(
        f"{names.KARPENTER_GROUP}/v1alpha5",
        "Machine",
        schema=form.schema("A node from the launch of its instance to its end.", spec, status),
        columns=[
            form.column("Type", form.label_path(names.INSTANCE_TYPE)),
            form.column("Zone", form.label_path(names.ZONE)),
            form.column("Node", ".status.nodeName"),
            form.column("Ready", CONDITION % "Ready"),
            form.column("Age", ".metadata.creationTimestamp", kind="date"),
            form.column("Capacity", form.label_path(names.CAPACITY_TYPE), wide=True),
            form.column("Provisioner", form.label_path(names.PROVISIONER_NAME), wide=True),
            form.column("Template", ".spec.machineTemplateRef.name", wide=True),
            form.column("USD per hour", form.label_path(names.PRICE, "annotations"), wide=True),
            form.column("Price book", form.label_path(names.PRICE_BOOK, "annotations"), wide=True),
        ],
    )


def aws_node_template() -> JSON:
    """Return the definition of ``karpenter.k8s.aws/v1alpha1`` AWSNodeTemplate (spec 1.4)."""
    volume = form.object_of(
        deleteOnTermination=form.boolean(),
        encrypted=form.boolean(),
        iops=form.integer(),
        kmsKeyID=form.string(),
        snapshotID=form.string(),
        throughput=form.integer(),
        volumeSize=form.quantity(),
        volumeType=form.string(),
    )
    spec = form.object_of(
        amiFamily=form.string("The kind of image; AL2 when unset."),
        userData=form.string("Given to the instance when it starts."),
        context=form.string("The context of the fleet request."),
        instanceProfile=form.string("The role of the instance."),
        tags=form.map_of(form.string(), "Tags of the instance."),
        metadataOptions=form.object_of(
            "Access to the instance metadata service.",
            httpEndpoint=form.string(),
            httpProtocolIPv6=form.string(),
            httpPutResponseHopLimit=form.integer(),
            httpTokens=form.string(),
        ),
        blockDeviceMappings=form.list_of(
            form.object_of(deviceName=form.string(), ebs=volume), "Its volumes."
        ),
        detailedMonitoring=form.boolean("Whether it is measured every minute."),
        subnetSelector=form.map_of(form.string(), "Subnets by tag, or by aws-ids."),
        securityGroupSelector=form.map_of(form.string(), "Security groups by tag, or by aws-ids."),
        amiSelector=form.map_of(form.string(), "Images by tag, name, owner, or by aws-ids."),
        launchTemplate=form.string("A launch template of your own, instead of most of the above."),
    )
    image = form.object_of(id=form.string(), name=form.string(), requirements=form.requirements())
    status = form.object_of(
        subnets=form.list_of(form.object_of(id=form.string(), zone=form.string())),
        securityGroups=form.list_of(form.object_of(id=form.string(), name=form.string())),
        amis=form.list_of(image),
    )
    return form.definition(
        f"{names.AWS_GROUP}/v1alpha1",
        "AWSNodeTemplate",
        schema=form.schema("How AWS instances are made.", crd_rules.node_template(spec), status),
        columns=[],
    )


def _decided() -> JSON:
    """The spec of a Disruption."""
    node = form.object_of(
        required=("name", "uid"),
        name=form.string(),
        uid=form.string(),
        machine=form.string(),
        machineUID=form.string(),
    )
    owner = form.object_of(
        required=("kind", "namespace", "name", "uid"),
        kind=form.string(),
        namespace=form.string(),
        name=form.string(),
        uid=form.string(),
        ready=form.integer(),
    )
    replacement = form.object_of(
        required=("name",),
        name=form.string("Of the Machine."),
        provisioner=form.string(),
        requirements=form.requirements(),
        instanceTypes=form.list_of(form.string()),
        requests=form.quantities(),
        priceUSDPerHour=form.string("What it was to cost; empty when nobody knew."),
        priceBook=form.string("The name of the prices that this one is of."),
    )
    return form.object_of(
        "What was decided. Never edited afterwards.",
        method=form.string("Which way of deprovisioning: expiration, drift, emptiness and so on."),
        action=form.string("Whether the nodes are deleted, or replaced by other machines first."),
        reason=form.string("Why, in a word."),
        observed=form.boolean("True: it is recorded, and not carried out."),
        summary=form.string("The nodes that go, for a person: some by name, the rest counted."),
        nodes=form.list_of(node, "The nodes that go, by identity."),
        replacementSummary=form.string("The machines that come in their stead, for a person."),
        replacements=form.list_of(
            replacement, "The machines that are to be up before a node goes."
        ),
        savingPerHour=form.string("What is paid less afterwards, in USD; empty when unknown."),
        movedPods=form.integer("How many pods were to be moved."),
        moves=form.map_of(
            form.list_of(form.string()), "Where they were expected to go: node or machine to pods."
        ),
        moved=form.list_of(owner, "Who owns the pods that move, and how many of them were ready."),
    )


def disruption() -> JSON:
    """Return the definition of ``unmoor.dev/v1alpha1`` Disruption."""
    left_out = form.object_of(
        required=("reason",),
        reason=form.string("Why, in a word.") | {"enum": [one.value for one in LeftOutReason]},
        message=form.string("The same in a sentence."),
    )
    status = form.object_of(
        "What has become of it.",
        phase=form.string("How far it has come.")
        | {"enum": [one.value for one in DisruptionPhase]},
        phaseSince=form.time(),
        message=form.string("The same in a sentence."),
        leftOut=form.map_of(left_out, "Nodes that were let go again, by name."),
        launched=form.map_of(form.string(), "Replacements that have been there, by name: uids."),
        homeless=form.map_of(form.string(), "Moved pods without a place, by their owner's uid."),
        startedAt=form.time(),
        finishedAt=form.time(),
    )
    return form.definition(
        f"{names.UNMOOR_GROUP}/v1alpha1",
        "Disruption",
        schema=form.schema("A decision to take nodes out of service.", _decided(), status),
        columns=[
            form.column("Method", ".spec.method"),
            form.column("Action", ".spec.action"),
            form.column("Nodes", ".spec.summary"),
            form.column("Replacements", ".spec.replacementSummary"),
            form.column("USD per hour saved", ".spec.savingPerHour"),
            form.column("Phase", ".status.phase"),
            form.column("Age", ".metadata.creationTimestamp", kind="date"),
            form.column("Message", ".status.message", wide=True),
            form.column("Reason", ".spec.reason", wide=True),
        ],
        short=("disrupt",),
    )


def instance() -> JSON:
    """Return the definition of ``sim.unmoor.dev/v1alpha1`` Instance: a simulated machine."""
    return form.definition(
        f"{names.SIM_GROUP}/v1alpha1",
        "Instance",
        schema=form.schema(
            "A machine of the simulated cloud.",
            form.anything("What was asked for."),
            form.anything("What has become of it."),
        ),
        columns=[
            form.column("Type", ".spec.instanceType"),
            form.column("Zone", ".spec.zone"),
            form.column("Capacity", ".spec.capacityType"),
            form.column("Phase", ".status.phase"),
            form.column("Node", ".status.nodeName"),
            form.column("Age", ".metadata.creationTimestamp", kind="date"),
        ],
    )


def all_crds() -> tuple[JSON, ...]:
    """Return every definition, ready to be applied. Each call makes new ones."""
    return (provisioner(), machine(), aws_node_template(), disruption(), instance())
