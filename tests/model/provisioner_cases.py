"""Each rule for a Provisioner (spec 1.1, T370): what it accepts and what it refuses.

Cases are by name. A refused one has the field that is named, below ``spec`` where it is the
kubelet's. tests/model asks our own code, tests/contract the API servers.
"""

from typing import Any

from unmoor.model import names, provisioner


def taint(key: str = "a", effect: str = "NoSchedule", value: str = "") -> dict[str, str]:
    return {"key": key, "effect": effect, "value": value}


def require(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


ACCEPTED: dict[str, dict[str, Any]] = {
    "nothing but a template": {},
    "ttl missing": {"ttlSecondsUntilExpired": None, "ttlSecondsAfterEmpty": None},
    "ttl zero": {"ttlSecondsUntilExpired": 0, "ttlSecondsAfterEmpty": 0},
    "ttl": {"ttlSecondsUntilExpired": 30, "ttlSecondsAfterEmpty": 30},
    "consolidation": {"consolidation": {"enabled": True}},
    "consolidation off beside a ttl": {
        "consolidation": {"enabled": False},
        "ttlSecondsAfterEmpty": 30,
    },
    "consolidation unset beside a ttl": {"consolidation": {}, "ttlSecondsAfterEmpty": 30},
    "labels": {"labels": {"team": "shop", "example.com/x": ""}},
    "a well-known label": {"labels": {names.ZONE: "a"}},
    "a label in an excepted domain": {
        "labels": {
            "kops.k8s.io/x": "a",
            "node-restriction.kubernetes.io/x": "a",
            "node.kubernetes.io/x": "a",
        }
    },
    "taints": {"taints": [taint(), taint("example.com/b", "NoExecute", "x")]},
    "a taint without effect": {"taints": [taint(effect="")]},
    "one key with two effects": {"taints": [taint(), taint(effect="NoExecute")]},
    "one key with two effects in two lists": {
        "taints": [taint()],
        "startupTaints": [taint(effect="NoExecute")],
    },
    "no requirements": {"requirements": []},
    "every operator": {
        "requirements": [
            require("a", "In", "x"),
            require("a", "NotIn", "x"),
            require("a", "NotIn"),
            require("a", "Exists"),
            require("a", "DoesNotExist"),
            require("a", "Gt", "0"),
            require("a", "Lt", "9"),
            require("b", "Lt", "9" * 18),
            require("b", "Gt", "0" * 45 + "9" * 18),
        ]
    },
    "requirements that contradict each other": {
        "requirements": [require("a", "In", "x"), require("a", "NotIn", "x")]
    },
    "well-known requirements": {
        "requirements": [
            require(key, "Exists")
            for key in sorted(names.WELL_KNOWN_LABELS)
            if key != names.PROVISIONER_NAME
        ]
    },
    "older names of labels": {
        "requirements": [require(key, "Exists") for key in sorted(names.LABEL_ALIASES)]
    },
    "no limits": {"limits": {}},
    "empty limits": {"limits": {"resources": {}}},
    "limits": {"limits": {"resources": {"cpu": 1000, "memory": "1000Gi", "x.com/y": "0"}}},
    "a limit of nothing": {"limits": {"resources": {"cpu": 0}}},
    "weights": {"weight": 1},
    "largest weight": {"weight": 100},
    "an inline provider": {
        "provider": {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}},
        "providerRef": None,
    },
}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "expiry below zero": ({"ttlSecondsUntilExpired": -1}, "spec.ttlSecondsUntilExpired"),
    "emptiness without end": (
        {"ttlSecondsAfterEmpty": provisioner.TTL_MOST_S + 1},
        "spec.ttlSecondsAfterEmpty",
    ),
    "emptiness below zero": ({"ttlSecondsAfterEmpty": -1}, "spec.ttlSecondsAfterEmpty"),
    "consolidation beside a ttl": (
        {"consolidation": {"enabled": True}, "ttlSecondsAfterEmpty": 30},
        "spec.ttlSecondsAfterEmpty, spec.consolidation.enabled",
    ),
    "no provider": ({"providerRef": None}, "spec.provider, spec.providerRef"),
    "two providers": ({"provider": {}}, "spec.provider, spec.providerRef"),
    "a template without name": ({"providerRef": {"kind": "x"}}, "spec.providerRef.name"),
    "an inline provider with an error": (
        {"provider": {"amiFamily": "AL7"}, "providerRef": None},
        "spec.provider.amiFamily",
    ),
    "an inline provider that is none": (
        {"provider": {"tags": ["a"]}, "providerRef": None},
        "spec.provider",
    ),
    "the system's label": (
        {"labels": {names.PROVISIONER_NAME: "x"}},
        f"spec.labels[{names.PROVISIONER_NAME}]",
    ),
    "a label key that is none": ({"labels": {"a b": "x"}}, "spec.labels[a b]"),
    "an empty label key": ({"labels": {"": "x"}}, "spec.labels[]"),
    "a label value that is none": ({"labels": {"a": "/"}}, "spec.labels[a]"),
    "a label in a restricted domain": (
        {"labels": {"kubernetes.io/x": "a"}},
        "spec.labels[kubernetes.io/x]",
    ),
    "a label in a restricted sub-domain": (
        {"labels": {"a.k8s.io/x": "a"}},
        "spec.labels[a.k8s.io/x]",
    ),
    "the host's name": ({"labels": {names.HOSTNAME: "a"}}, f"spec.labels[{names.HOSTNAME}]"),
    "a taint without key": ({"taints": [taint("")]}, "spec.taints[0].key"),
    "a taint key that is none": ({"taints": [taint("a b")]}, "spec.taints[0].key"),
    "a taint value that is none": ({"taints": [taint(value="?")]}, "spec.taints[0].value"),
    "a taint value with a domain (R33)": (
        {"taints": [taint(value="example.com/x")]},
        "spec.taints[0].value",
    ),
    "a taint effect that is none": ({"taints": [taint(effect="No")]}, "spec.taints[0].effect"),
    "a taint twice": ({"taints": [taint(), taint(value="x")]}, "spec.taints[1]"),
    "a taint in both lists": (
        {"taints": [taint()], "startupTaints": [taint()]},
        "spec.startupTaints[0]",
    ),
    "a startup taint that is none": (
        {"startupTaints": [taint("???")]},
        "spec.startupTaints[0].key",
    ),
    "a requirement on the provisioner": (
        {"requirements": [require(names.PROVISIONER_NAME, "In", "x")]},
        "spec.requirements[0].key",
    ),
    "an operator that is none": (
        {"requirements": [require("a", "Near", "x")]},
        "spec.requirements[0].operator",
    ),
    "an operator of a later version": (
        {"requirements": [require("a", "Gte", "1")]},
        "spec.requirements[0].operator",
    ),
    "a requirement without operator": (
        {"requirements": [{"key": "a"}]},
        "spec.requirements[0].operator",
    ),
    "a requirement key that is none": (
        {"requirements": [require("a b", "Exists")]},
        "spec.requirements[0].key",
    ),
    "a requirement without key": (
        {"requirements": [{"operator": "Exists"}]},
        "spec.requirements[0].key",
    ),
    "a restricted requirement": (
        {"requirements": [require("karpenter.sh/x", "Exists")]},
        "spec.requirements[0].key",
    ),
    "a requirement value that is none": (
        {"requirements": [require("a", "In", "?")]},
        "spec.requirements[0].values",
    ),
    "in nothing": ({"requirements": [require("a", "In")]}, "spec.requirements[0].values"),
    "greater than nothing": ({"requirements": [require("a", "Gt")]}, "spec.requirements[0].values"),
    "greater than two": (
        {"requirements": [require("a", "Gt", "1", "2")]},
        "spec.requirements[0].values",
    ),
    "greater than a word": (
        {"requirements": [require("a", "Gt", "x")]},
        "spec.requirements[0].values",
    ),
    "greater than what 64 bits hold": (
        {"requirements": [require("a", "Gt", "9223372036854775808")]},
        "spec.requirements[0].values",
    ),
    "less than the most digits that a value may have": (
        {"requirements": [require("a", "Lt", "9" * 63)]},
        "spec.requirements[0].values",
    ),
    "less than below zero": (
        {"requirements": [require("a", "Lt", "-1")]},
        "spec.requirements[0].values",
    ),
    "a limit that is none": (
        {"limits": {"resources": {"memory": "1GB"}}},
        "spec.limits.resources.memory",
    ),
    "an empty limit": ({"limits": {"resources": {"cpu": ""}}}, "spec.limits.resources.cpu"),
    "a negative limit (N19)": (
        {"limits": {"resources": {"cpu": "-50"}}},
        "spec.limits.resources.cpu",
    ),
    "a silly limit (N19)": (
        {"limits": {"resources": {"cpu": "1e30"}}},
        "spec.limits.resources.cpu",
    ),
    "weight zero": ({"weight": 0}, "spec.weight"),
    "weight 101": ({"weight": 101}, "spec.weight"),
}

KUBELET_ACCEPTED: dict[str, dict[str, Any]] = {
    "kubelet, empty": {},
    "reserved": {
        "kubeReserved": {"cpu": "100m", "memory": "1Gi", "ephemeral-storage": "1Gi", "pid": "100"},
        "systemReserved": {"cpu": 1, "memory": "0"},
    },
    "hard eviction": {
        "evictionHard": {
            "memory.available": "5%",
            "nodefs.available": "10Gi",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "100%",
            "imagefs.inodesFree": "12.5%",
            "pid.available": "100",
        }
    },
    "soft eviction with its grace": {
        "evictionSoft": {"memory.available": "5%"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s"},
    },
    "image collection": {"imageGCHighThresholdPercent": 60, "imageGCLowThresholdPercent": 50},
    "image collection, equal": {
        "imageGCHighThresholdPercent": 60,
        "imageGCLowThresholdPercent": 60,
    },
    "image collection, one": {"imageGCLowThresholdPercent": 100},
    "image collection of all": {
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 0,
    },
    "grace of pods": {"evictionMaxPodGracePeriod": 0},
    "density": {"maxPods": 0, "podsPerCore": 0, "clusterDNS": ["10.0.0.10"], "cpuCFSQuota": False},
}

KUBELET_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a reserved resource that is none": (
        {"kubeReserved": {"gpu": "1"}},
        "kubeReserved.gpu",
    ),
    "a negative reservation": (
        {"systemReserved": {"cpu": "-1"}},
        "systemReserved.cpu",
    ),
    "a reservation for the system of what is none": (
        {"systemReserved": {"gpu": "1"}},
        "systemReserved.gpu",
    ),
    "a soft threshold that is none": (
        {
            "evictionSoft": {"memory.available": "much"},
            "evictionSoftGracePeriod": {"memory.available": "1m"},
        },
        "evictionSoft.memory.available",
    ),
    "a reservation that is no quantity": (
        {"kubeReserved": {"cpu": "much"}},
        "kubeReserved.cpu",
    ),
    "a signal that is none": (
        {"evictionHard": {"memory": "5%"}},
        "evictionHard.memory",
    ),
    "a negative percentage": (
        {"evictionHard": {"memory.available": "-3%"}},
        "evictionHard.memory.available",
    ),
    "a percentage of nothing": (
        {"evictionHard": {"memory.available": "%"}},
        "evictionHard.memory.available",
    ),
    "more than all": (
        {"evictionHard": {"memory.available": "100.1%"}},
        "evictionHard.memory.available",
    ),
    "a percentage that is no number": (
        {"evictionHard": {"memory.available": "5Gi%"}},
        "evictionHard.memory.available",
    ),
    "a threshold that is none": (
        {"evictionHard": {"memory.available": "110GB"}},
        "evictionHard.memory.available",
    ),
    "a negative threshold": (
        {"evictionHard": {"memory.available": "-1Gi"}},
        "evictionHard.memory.available",
    ),
    "soft eviction without grace": (
        {"evictionSoft": {"memory.available": "5%"}},
        "evictionSoft.memory.available",
    ),
    "grace without soft eviction": (
        {"evictionSoftGracePeriod": {"memory.available": "1m"}},
        "evictionSoftGracePeriod.memory.available",
    ),
    "a grace that is no duration": (
        {
            "evictionSoft": {"memory.available": "5%"},
            "evictionSoftGracePeriod": {"memory.available": "soon"},
        },
        "evictionSoftGracePeriod.memory.available",
    ),
    "a grace for a signal that is none": (
        {"evictionSoft": {"memory": "5%"}, "evictionSoftGracePeriod": {"memory": "-1m"}},
        "evictionSoftGracePeriod.memory",
    ),
    "image collection, reversed": (
        {"imageGCHighThresholdPercent": 50, "imageGCLowThresholdPercent": 60},
        "imageGCHighThresholdPercent",
    ),
    "image collection above 100": (
        {"imageGCHighThresholdPercent": 101},
        "imageGCHighThresholdPercent",
    ),
    "image collection below 0": (
        {"imageGCLowThresholdPercent": -1},
        "imageGCLowThresholdPercent",
    ),
    "image collection from above 100": (
        {"imageGCLowThresholdPercent": 101},
        "imageGCLowThresholdPercent",
    ),
    "a negative grace of pods": (
        {"evictionMaxPodGracePeriod": -1},
        "evictionMaxPodGracePeriod",
    ),
    "negative pods": ({"maxPods": -1}, "maxPods"),
    "negative density": ({"podsPerCore": -1}, "podsPerCore"),
}

CODE_ONLY = frozenset(
    {
        "an inline provider with an error",
        "an inline provider that is none",
        "a silly limit (N19)",
    }
)
"""What no schema and no rule of an API server can say (``crd_rules.LEFT_TO_CODE``)."""
