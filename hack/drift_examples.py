"""An example or more for each field that a machine may drift by, as data: the page shows them, and
``tests/policy/test_drift_examples.py`` plays them.
"""

from __future__ import annotations

from typing import NamedTuple

from unmoor.model.drift_fields import NODE_TEMPLATE, PROVISIONER

ACCOUNT = {
    "images": "ami-1 family=AL2 team=shop\nami-2 family=AL2023 team=web",
    "subnets": "subnet-a zone=z1 team=shop\nsubnet-b zone=z2 team=web",
    "securityGroups": "sg-1 team=shop\nsg-2 team=shop role=nodes\nsg-3 team=web",
}
"""What the account of the examples holds."""
LABELS = {
    "node.kubernetes.io/instance-type": "m5.large",
    "karpenter.sh/capacity-type": "on-demand",
    "kubernetes.io/arch": "amd64",
}
"""What the machine of the examples is."""
SPECS: dict[str, dict[str, object]] = {
    PROVISIONER: {"providerRef": {"name": "default"}},
    NODE_TEMPLATE: {
        "subnetSelector": {"team": "shop"},
        "securityGroupSelector": {"team": "shop"},
        "amiSelector": {"team": "shop"},
    },
}
"""What the two objects say besides the field of an example."""


class Example(NamedTuple):
    """The value of the field, as YAML, when the machine was made, and now. ``image``: a new one."""

    before: str
    now: str
    is_drift: bool
    image: str = ""


EXAMPLES: dict[tuple[str, str], tuple[Example, ...]] = {
    (PROVISIONER, "annotations"): (Example("", "{edition: '2'}", True),),
    (PROVISIONER, "labels"): (
        Example("{team: shop}", "{team: web}", True),
        Example("{a: x, b: y}", "{b: y, a: x}", False),
    ),
    (PROVISIONER, "taints"): (
        Example("[{key: gpu, effect: NoSchedule}]", "", True),
        Example("", "[]", False),
    ),
    (PROVISIONER, "startupTaints"): (Example("", "[{key: cni, effect: NoExecute}]", True),),
    (PROVISIONER, "kubeletConfiguration"): (
        Example("{maxPods: 110}", "{maxPods: 60}", True),
        Example("{kubeReserved: {memory: 1Gi}}", "{kubeReserved: {memory: 2Gi}}", True),
        Example("{kubeReserved: {memory: 1Gi}}", "{kubeReserved: {memory: 1024Mi}}", False),
        Example(
            "{evictionHard: {memory.available: 1Gi}}",
            "{evictionHard: {memory.available: 1024Mi}}",
            False,
        ),
    ),
    (PROVISIONER, "requirements"): (
        Example(
            "[{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}]",
            "[{key: node.kubernetes.io/instance-type, operator: In, values: [m5.2xlarge]}]",
            True,
        ),
        Example(
            "[{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}]",
            "[{key: node.kubernetes.io/instance-type, operator: In, "
            "values: [m5.large, m5.2xlarge]}]",
            False,
        ),
        Example("", "[{key: team, operator: Exists}]", True),
        Example("", "[{key: team, operator: NotIn, values: [web]}]", False),
    ),
    (PROVISIONER, "weight"): (Example("1", "50", False),),
    (PROVISIONER, "limits"): (Example("", "{resources: {cpu: '1'}}", False),),
    (PROVISIONER, "consolidation"): (Example("", "{enabled: true}", False),),
    (PROVISIONER, "ttlSecondsUntilExpired"): (Example("", "2592000", False),),
    (PROVISIONER, "ttlSecondsAfterEmpty"): (Example("", "30", False),),
    (PROVISIONER, "provider"): (
        Example(
            "{subnetSelector: {team: shop}, launchTemplate: mine}",
            "{subnetSelector: {team: web}, launchTemplate: mine-too}",
            False,
        ),
    ),
    (PROVISIONER, "providerRef"): (Example("{name: default}", "{name: its-equal}", False),),
    (NODE_TEMPLATE, "subnetSelector"): (
        Example("{team: shop}", "{team: web}", True),
        Example("{team: shop}", "{team: '*'}", False),
    ),
    (NODE_TEMPLATE, "securityGroupSelector"): (
        Example("{team: shop}", "{role: nodes}", True),
        Example("{team: shop}", "{aws-ids: 'sg-2, sg-1'}", False),
    ),
    (NODE_TEMPLATE, "amiSelector"): (
        Example("{team: shop}", "{team: shop}", True, "ami-3 team=shop"),
        Example("{team: shop}", "{aws-ids: ami-1}", False),
        Example("{team: shop}", "{team: web}", True),
    ),
    (NODE_TEMPLATE, "amiFamily"): (
        Example("AL2", "Bottlerocket", True),
        Example("", "AL2", False),
    ),
    (NODE_TEMPLATE, "instanceProfile"): (Example("nodes", "other-nodes", True),),
    (NODE_TEMPLATE, "userData"): (
        Example("echo one", "echo two", True),
        Example("", "''", False),
    ),
    (NODE_TEMPLATE, "context"): (Example("", "reserved-1", True),),
    (NODE_TEMPLATE, "tags"): (
        Example("{a: x}", "{a: x, b: y}", True),
        Example("{a: x, b: y}", "{b: y, a: x}", False),
    ),
    (NODE_TEMPLATE, "metadataOptions"): (
        Example("", "{httpTokens: optional}", True),
        Example(
            "",
            "{httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 2, "
            "httpTokens: required}",
            False,
        ),
    ),
    (NODE_TEMPLATE, "blockDeviceMappings"): (
        Example(
            "[{deviceName: /dev/xvda, ebs: {volumeSize: 20Gi}}]",
            "[{deviceName: /dev/xvda, ebs: {volumeSize: 30Gi}}]",
            True,
        ),
        Example(
            "[{deviceName: /dev/xvda, ebs: {volumeSize: 1Ti}}]",
            "[{deviceName: /dev/xvda, ebs: {volumeSize: 1024Gi}}]",
            False,
        ),
    ),
    (NODE_TEMPLATE, "detailedMonitoring"): (
        Example("", "true", True),
        Example("", "false", False),
    ),
    (NODE_TEMPLATE, "launchTemplate"): (Example("mine", "mine-too", False),),
}
"""By kind and field."""
