"""Provisioners and node templates, right and wrong: `validate` and each server must agree."""

from typing import TypeAlias

from tests.model import provisioner_cases as t370
from unmoor.model import names, validation
from unmoor.model.base import JSON
from unmoor.model.node_template import BLOCK_DEVICES_MOST

Case: TypeAlias = tuple[str, JSON]
"""Its name, and what its spec has beside the least that a spec must have."""

PROVISIONER: JSON = {"providerRef": {"name": "default"}}
TEMPLATE: JSON = {"subnetSelector": {"team": "a"}, "securityGroupSelector": {"team": "a"}}
LONG = "a" * 64
CAPACITY_TYPE = {"key": names.CAPACITY_TYPE, "operator": "In", "values": ["spot"]}


def _requirement(key: str = "team", operator: str = "In", *values: str) -> JSON:
    return {"requirements": [{"key": key, "operator": operator, "values": list(values)}]}


def _taint(key: str = "a", **parts: str) -> JSON:
    return {"taints": [{"key": key, **parts}]}


def _kubelet(**parts: object) -> JSON:
    return {"kubeletConfiguration": parts}


def _soft(signal: str = "memory.available", soft: str = "5%", grace: str = "1m") -> JSON:
    return _kubelet(evictionSoft={signal: soft}, evictionSoftGracePeriod={signal: grace})


def _device(**ebs: object) -> JSON:
    return {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": ebs}]}


RIGHT_PROVISIONERS: list[Case] = [
    ("the least", {}),
    ("emptiness", {"ttlSecondsAfterEmpty": 0}),
    ("emptiness without consolidation", {"ttlSecondsAfterEmpty": 3, "consolidation": {}}),
    ("not both", {"ttlSecondsAfterEmpty": 3, "consolidation": {"enabled": False}}),
    ("consolidation", {"consolidation": {"enabled": True}}),
    ("expiration", {"ttlSecondsUntilExpired": 0, "ttlSecondsAfterEmpty": 9_223_372_036}),
    ("weight", {"weight": 100}),
    ("no limits", {"limits": {}}),
    ("limits", {"limits": {"resources": {"cpu": 10, "memory": "1.5Gi", "x/y": "1e3"}}}),
    ("labels", {"labels": {"team": "a", "example.com/team": "", names.ZONE: "a"}}),
    ("label of kops", {"labels": {"kops.k8s.io/instancegroup": "a"}}),
    ("label of a node", {"labels": {"node-restriction.kubernetes.io/a": "b"}}),
    ("taints", {"taints": [{"key": "a", "value": "b", "effect": "NoExecute"}]}),
    ("taint without effect", _taint()),
    (
        "taint on two grounds",
        {"taints": [{"key": "a", "effect": one} for one in ("", "NoExecute")]},
    ),
    (
        "taints in both lists",
        {
            "taints": [{"key": "a", "effect": "NoExecute"}],
            "startupTaints": [{"key": "a", "effect": "NoSchedule"}],
        },
    ),
    ("no requirements", {"requirements": []}),
    ("requirement", _requirement("team", "In", "a", "b")),
    ("requirement on a well-known label", {"requirements": [CAPACITY_TYPE]}),
    ("requirement on an old name", _requirement("beta.kubernetes.io/arch", "In", "arm64")),
    ("requirement without values", _requirement("team", "Exists")),
    ("requirement on nothing", _requirement("team", "NotIn")),
    ("bound", _requirement(names.INSTANCE_CPU, "Gt", "007")),
    (
        "reserved",
        _kubelet(kubeReserved={"cpu": "100m", "pid": 5}, systemReserved={"memory": "1Gi"}),
    ),
    ("hard eviction", _kubelet(evictionHard={"memory.available": "5.5%", "pid.available": "10"})),
    ("all of it", _kubelet(evictionHard={"nodefs.available": "100%"})),
    ("soft eviction", _soft()),
    ("image collection", _kubelet(imageGCHighThresholdPercent=5, imageGCLowThresholdPercent=5)),
    ("half of image collection", _kubelet(imageGCLowThresholdPercent=5)),
    ("pods", _kubelet(maxPods=0, podsPerCore=3, evictionMaxPodGracePeriod=0)),
    ("inline", {"providerRef": None, "provider": TEMPLATE}),
]
WRONG_PROVISIONERS: list[Case] = [
    ("emptiness before now", {"ttlSecondsAfterEmpty": -1}),
    ("emptiness after the end", {"ttlSecondsAfterEmpty": 9_223_372_037}),
    ("expiration before now", {"ttlSecondsUntilExpired": -1}),
    ("expiration after the end", {"ttlSecondsUntilExpired": 9_223_372_037}),
    ("both", {"ttlSecondsAfterEmpty": 3, "consolidation": {"enabled": True}}),
    ("two templates", {"provider": TEMPLATE}),
    ("no template", {"providerRef": None}),
    ("nameless template", {"providerRef": {"name": ""}}),
    ("no weight", {"weight": 0}),
    ("much weight", {"weight": 101}),
    ("limit of nothing", {"limits": {"resources": {"cpu": "lots"}}}),
    ("limit below zero", {"limits": {"resources": {"cpu": "-1"}}}),
    ("limit below zero in figures", {"limits": {"resources": {"cpu": -1}}}),
    ("label of ours", {"labels": {names.PROVISIONER_NAME: "a"}}),
    ("label without a name", {"labels": {"example.com/": "a"}}),
    ("label of two words", {"labels": {"two words": "a"}}),
    ("label with a long name", {"labels": {LONG: "a"}}),
    ("label of two words as a value", {"labels": {"team": "two words"}}),
    ("label with a long value", {"labels": {"team": LONG}}),
    ("label with a line break", {"labels": {"team": "a\n"}}),
    ("label of kubernetes", {"labels": {"kubernetes.io/mine": "a"}}),
    ("label under kubernetes", {"labels": {"sub.domain.k8s.io/mine": "a"}}),
    ("label of karpenter", {"labels": {"karpenter.sh/mine": "a"}}),
    ("label under an exception", {"labels": {"sub.node.kubernetes.io/mine": "a"}}),
    ("label that each node has", {"labels": {names.HOSTNAME: "a"}}),
    ("label with an old name", {"labels": {"beta.kubernetes.io/arch": "arm64"}}),
    ("labels", {"labels": {f"a{n}": "" for n in range(validation.LABELS_MOST + 1)}}),
    ("taint without key", _taint("")),
    ("taint of two words", _taint("two words")),
    ("taint with a bad value", _taint(value="two words")),
    ("taint with a bad effect", _taint(effect="Never")),
    ("taint twice", {"taints": [{"key": "a"}, {"key": "b"}, {"key": "a", "effect": ""}]}),
    ("startup taint twice", {"startupTaints": [{"key": "a"}, {"key": "a", "value": "b"}]}),
    ("taint in both lists", {**_taint(), "startupTaints": [{"key": "a", "value": "b"}]}),
    ("taints", {"taints": [{"key": f"a{n}"} for n in range(validation.TAINTS_MOST + 1)]}),
    ("requirement of ours", _requirement(names.PROVISIONER_NAME, "In", "a")),
    ("requirement without key", _requirement("", "In", "a")),
    ("requirement of two words", _requirement("two words", "In", "a")),
    ("requirement on kubernetes", _requirement("kubernetes.io/mine", "In", "a")),
    ("requirement on each node", _requirement(names.HOSTNAME, "In", "a")),
    ("requirement on karpenter", _requirement("a.karpenter.sh/mine", "Exists")),
    ("requirement that is near", _requirement("team", "Near", "a")),
    ("requirement of another version", _requirement("team", "Gte", "1")),
    ("requirement with a bad value", _requirement("team", "In", "two words")),
    ("in nothing", _requirement("team", "In")),
    ("in nothing at all", {"requirements": [{"key": "team", "operator": "In"}]}),
    ("above a word", _requirement("team", "Gt", "many")),
    ("above less than nothing", _requirement("team", "Gt", "-1")),
    ("below two", _requirement("team", "Lt", "1", "2")),
    ("below nothing", {"requirements": [{"key": "team", "operator": "Lt"}]}),
    (
        "requirements",
        {"requirements": [{"key": "a", "operator": "Exists"}] * (validation.REQUIREMENTS_MOST + 1)},
    ),
    ("reserved pods", _kubelet(kubeReserved={"pods": "1"})),
    ("reserved for the system", _kubelet(systemReserved={"cpu": "1", "gpu": "1"})),
    ("reserved below zero", _kubelet(kubeReserved={"cpu": "-1"})),
    ("reserved lots", _kubelet(systemReserved={"cpu": "lots"})),
    ("eviction at a signal", _kubelet(evictionHard={"smoke": "5%"})),
    ("eviction above all", _kubelet(evictionHard={"memory.available": "101%"})),
    ("eviction just above all", _kubelet(evictionHard={"memory.available": "100.5%"})),
    ("eviction below zero", _kubelet(evictionHard={"memory.available": "-1Mi"})),
    ("eviction at lots", _kubelet(evictionHard={"memory.available": "lots"})),
    ("soft eviction at a signal", _soft("smoke")),
    ("soft eviction above all", _soft(soft="200%")),
    ("soft eviction at once", _soft(grace="soon")),
    ("soft eviction earlier", _soft(grace="-1m")),
    ("soft eviction in days", _soft(grace="1d")),
    ("soft eviction alone", _kubelet(evictionSoft={"memory.available": "5%"})),
    ("grace alone", _kubelet(evictionSoftGracePeriod={"memory.available": "1m"})),
    (
        "grace for another",
        _kubelet(
            evictionSoft={"memory.available": "5%"},
            evictionSoftGracePeriod={"nodefs.available": "1m"},
        ),
    ),
    ("images upside down", _kubelet(imageGCHighThresholdPercent=4, imageGCLowThresholdPercent=5)),
    ("images above all", _kubelet(imageGCHighThresholdPercent=101)),
    ("pods below zero", _kubelet(maxPods=-1)),
    ("grace below zero", _kubelet(evictionMaxPodGracePeriod=-1)),
]

T370_RIGHT: list[Case] = [
    *((f"T370: {name}", parts) for name, parts in t370.ACCEPTED.items()),
    *((f"T370: {name}", _kubelet(**parts)) for name, parts in t370.KUBELET_ACCEPTED.items()),
]
"""Those that our own code is asked field by field."""
T370_WRONG: list[Case] = [
    *(
        (f"T370: {name}", parts)
        for name, (parts, _) in t370.REFUSED.items()
        if name not in t370.CODE_ONLY
    ),
    *((f"T370: {name}", _kubelet(**parts)) for name, (parts, _) in t370.KUBELET_REFUSED.items()),
]

LAUNCHED: JSON = {"launchTemplate": "mine", "securityGroupSelector": None}
RIGHT_TEMPLATES: list[Case] = [
    ("the least", {}),
    ("launch template", LAUNCHED),
    (
        "launch template and nothing else",
        {**LAUNCHED, "amiSelector": {}, "blockDeviceMappings": []},
    ),
    ("family", {"amiFamily": "Bottlerocket"}),
    ("own image", {"amiFamily": "Custom", "amiSelector": {"aws-ids": "ami-123, ami-abc"}}),
    (
        "ids",
        {"subnetSelector": {"aws::ids": "subnet-1"}, "securityGroupSelector": {"aws-ids": "sg-1"}},
    ),
    ("options", {"metadataOptions": {"httpTokens": "optional", "httpPutResponseHopLimit": 64}}),
    ("volume", _device(volumeSize="20Gi", volumeType="gp3")),
    ("volume in bytes", _device(volumeSize=64_000_000_000_000)),
    ("volume of a snapshot", _device(snapshotID="snap-1")),
    ("tags", {"tags": {"team": "", "karpenter.sh/other": "a"}}),
]
WRONG_TEMPLATES: list[Case] = [
    ("no subnets", {"subnetSelector": None}),
    ("empty subnets", {"subnetSelector": {}}),
    ("no groups", {"securityGroupSelector": None}),
    ("empty groups", {"securityGroupSelector": {}}),
    ("tag without value", {"subnetSelector": {"team": ""}}),
    ("tag without key", {"securityGroupSelector": {"": "a"}}),
    ("ids and tags", {"subnetSelector": {"aws-ids": "subnet-1", "team": "a"}}),
    ("ids twice", {"amiSelector": {"aws-ids": "ami-1", "aws::ids": "ami-1"}}),
    ("ids of another kind", {"subnetSelector": {"aws-ids": "sg-1"}}),
    ("ids of images", {"amiSelector": {"aws::ids": "ami-1,subnet-1"}}),
    ("ids of groups", {"securityGroupSelector": {"aws-ids": "sg-1,"}}),
    ("family", {"amiFamily": "Slackware"}),
    ("no own image", {"amiFamily": "Custom"}),
    ("empty own image", {"amiFamily": "Custom", "amiSelector": {}}),
    *(
        (f"launch template and {name}", {**LAUNCHED, name: value})
        for name, value in {
            "securityGroupSelector": {"team": "a"},
            "metadataOptions": {},
            "amiFamily": "AL2",
            "instanceProfile": "",
            "blockDeviceMappings": [{"deviceName": "a", "ebs": {"volumeSize": "1G"}}],
            "userData": "",
            "amiSelector": {"team": "a"},
        }.items()
    ),
    ("endpoint", {"metadataOptions": {"httpEndpoint": "open"}}),
    ("protocol", {"metadataOptions": {"httpProtocolIPv6": "open"}}),
    ("tokens", {"metadataOptions": {"httpTokens": "enabled"}}),
    ("no hops", {"metadataOptions": {"httpPutResponseHopLimit": 0}}),
    ("many hops", {"metadataOptions": {"httpPutResponseHopLimit": 65}}),
    ("nameless device", {"blockDeviceMappings": [{"ebs": {"volumeSize": "1G"}}]}),
    ("device without a name", {"blockDeviceMappings": [{"deviceName": "", "ebs": {}}]}),
    ("device without a volume", {"blockDeviceMappings": [{"deviceName": "a"}]}),
    ("volume without a size", _device()),
    ("volume of no snapshot", _device(snapshotID="")),
    ("volume of another type", _device(volumeSize="1G", volumeType="floppy")),
    ("small volume", _device(volumeSize="999M")),
    ("large volume", _device(volumeSize="65T")),
    ("small volume in bytes", _device(volumeSize=5)),
    ("volume of lots", _device(volumeSize="lots")),
    (
        "volumes",
        {
            "blockDeviceMappings": [{"deviceName": "a", "ebs": {"snapshotID": "s"}}]
            * (BLOCK_DEVICES_MOST + 1)
        },
    ),
    ("tag without a key", {"tags": {"": "a"}}),
    ("tag of ours", {"tags": {names.PROVISIONER_NAME: "a"}}),
    ("tag of the cluster", {"tags": {"kubernetes.io/cluster/mine": "owned"}}),
]
