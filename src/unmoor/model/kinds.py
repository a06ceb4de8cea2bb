"""Which kinds there are, under which path, and which struct reads each.

One constant per kind; there is no other list. A kind's name is unique here, so the name alone
identifies it everywhere else.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from unmoor.model import (
    cluster,
    disruption,
    disruption_budget,
    machine,
    node,
    node_template,
    pod,
    provisioner,
    storage,
    workload,
)
from unmoor.model.base import JSON, Object, Ref
from unmoor.model.names import AWS_GROUP, KARPENTER_GROUP, SIM_GROUP, UNMOOR_GROUP

T = TypeVar("T")


class Resource(msgspec.Struct, Generic[T], frozen=True):
    """A kind as the API serves it (API reference: metav1.APIResource)."""

    kind: str
    plural: str
    group: str
    version: str
    is_namespaced: bool
    type: type[T]

    @property
    def is_built_in(self) -> bool:
        """Kubernetes brings it along: no other group may be without a dot, or end like this."""
        return "." not in self.group or self.group.endswith(".k8s.io")

    @property
    def api_version(self) -> str:
        """``v1`` or ``group/version``, as an object's ``apiVersion`` says it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, an object, or one of its subresources."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.is_namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/" + "/".join(parts)

    def raw(self) -> Resource[JSON]:
        """The same kind, decoded to plain JSON: for those who need every field."""
        return Resource(
            self.kind, self.plural, self.group, self.version, self.is_namespaced, dict[str, Any]
        )

    def ref(self, name: str, namespace: str = "", uid: str = "") -> Ref:
        """Refer to one object of this kind."""
        return Ref(kind=self.kind, name=name, namespace=namespace, uid=uid)


NODES = Resource("Node", "nodes", "", "v1", False, node.Node)
PODS = Resource("Pod", "pods", "", "v1", True, pod.Pod)
NAMESPACES = Resource("Namespace", "namespaces", "", "v1", False, cluster.Namespace)
CONFIG_MAPS = Resource("ConfigMap", "configmaps", "", "v1", True, cluster.ConfigMap)
EVENTS = Resource("Event", "events", "", "v1", True, cluster.Event)
CLAIMS = Resource(
    "PersistentVolumeClaim",
    "persistentvolumeclaims",
    "",
    "v1",
    True,
    storage.PersistentVolumeClaim,
)
VOLUMES = Resource(
    "PersistentVolume", "persistentvolumes", "", "v1", False, storage.PersistentVolume
)
REPLICA_SETS = Resource("ReplicaSet", "replicasets", "apps", "v1", True, workload.ReplicaSet)
DEPLOYMENTS = Resource("Deployment", "deployments", "apps", "v1", True, workload.Deployment)
STATEFUL_SETS = Resource("StatefulSet", "statefulsets", "apps", "v1", True, workload.StatefulSet)
DAEMON_SETS = Resource("DaemonSet", "daemonsets", "apps", "v1", True, workload.DaemonSet)
REVISIONS = Resource(
    "ControllerRevision", "controllerrevisions", "apps", "v1", True, workload.ControllerRevision
)
JOBS = Resource("Job", "jobs", "batch", "v1", True, workload.Job)
BUDGETS = Resource(
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    "policy",
    "v1",
    True,
    disruption_budget.PodDisruptionBudget,
)
PRIORITY_CLASSES = Resource(
    "PriorityClass", "priorityclasses", "scheduling.k8s.io", "v1", False, cluster.PriorityClass
)
STORAGE_CLASSES = Resource(
    "StorageClass", "storageclasses", "storage.k8s.io", "v1", False, storage.StorageClass
)
CSI_NODES = Resource("CSINode", "csinodes", "storage.k8s.io", "v1", False, storage.CSINode)
ATTACHMENTS = Resource(
    "VolumeAttachment",
    "volumeattachments",
    "storage.k8s.io",
    "v1",
    False,
    storage.VolumeAttachment,
)
LEASES = Resource("Lease", "leases", "coordination.k8s.io", "v1", True, cluster.Lease)
PROVISIONERS = Resource(
    "Provisioner", "provisioners", KARPENTER_GROUP, "v1alpha5", False, provisioner.Provisioner
)
MACHINES = Resource("Machine", "machines", KARPENTER_GROUP, "v1alpha5", False, machine.Machine)
NODE_TEMPLATES = Resource(
    "AWSNodeTemplate",
    "awsnodetemplates",
    AWS_GROUP,
    "v1alpha1",
    False,
    node_template.AWSNodeTemplate,
)
DISRUPTIONS = Resource(
    "Disruption", "disruptions", UNMOOR_GROUP, "v1alpha1", False, disruption.Disruption
)
INSTANCES = Resource("Instance", "instances", SIM_GROUP, "v1alpha1", False, cluster.Instance)

KINDS: dict[str, Resource[Any]] = {
    one.kind: one for one in list(globals().values()) if isinstance(one, Resource)
}
"""Every kind that unmoor reads or writes, by its name."""

KIND_OF: dict[type[Any], str] = {resource.type: kind for kind, resource in KINDS.items()}
"""The kind of each struct."""


def ref_of(obj: Object) -> Ref:
    """Refer to an object by identity: kind, namespace, name and uid."""
    meta = obj.metadata
    return Ref(KIND_OF[type(obj)], meta.name, namespace=meta.namespace, uid=meta.uid)
