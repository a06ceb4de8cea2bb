"""The owners of pods: who makes another one when a pod is gone, and how many are ready.

Only what R3 needs (has the owner as many ready pods as before?), what reports name, and what the
controllers of a simulated cluster keep.
"""

from __future__ import annotations

from unmoor.model import names, taint
from unmoor.model.base import Condition, Object, Struct
from unmoor.model.pod import PodSpec
from unmoor.model.selector import LabelSelector
from unmoor.model.taint import Toleration

DAEMON_TOLERATIONS = tuple(
    Toleration(key=key, operator=taint.EXISTS, effect=effect)
    for key, effect in (
        (names.NOT_READY, taint.NO_EXECUTE),
        (names.UNREACHABLE, taint.NO_EXECUTE),
        ("node.kubernetes.io/disk-pressure", taint.NO_SCHEDULE),
        ("node.kubernetes.io/memory-pressure", taint.NO_SCHEDULE),
        ("node.kubernetes.io/pid-pressure", taint.NO_SCHEDULE),
        (names.UNSCHEDULABLE, taint.NO_SCHEDULE),
    )
)
"""What every DaemonSet pod puts up with (API reference: DaemonSet, taints and tolerations)."""


class WorkloadSpec(Struct):
    """Desired count and selector; ``replicas`` None where the kind has none (DaemonSet, Job)."""

    replicas: int | None = None
    selector: LabelSelector | None = None


class WorkloadStatus(Struct):
    """Observed counts."""

    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0


class ReplicaSet(Object):
    """API reference: apps/v1 ReplicaSet."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class Deployment(Object):
    """API reference: apps/v1 Deployment."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class StatefulSetStatus(WorkloadStatus):
    """Observed counts of a StatefulSet; ``current_revision`` names the templates all pods had."""

    current_revision: str = ""


class StatefulSet(Object):
    """API reference: apps/v1 StatefulSet."""

    spec: WorkloadSpec = WorkloadSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class TemplateMeta(Struct):
    """Labels and annotations of the pods to come."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class DaemonSetStatus(Struct):
    """Observed counts of a DaemonSet."""

    desired_number_scheduled: int = 0
    number_ready: int = 0


class PodTemplate(Struct):
    """What each pod of an owner starts as (API reference: v1.PodTemplateSpec)."""

    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class DaemonSetSpec(Struct):
    """Which pods are its own, and what each starts as."""

    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class DaemonSet(Object):
    """API reference: apps/v1 DaemonSet."""

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class JobStatus(Struct):
    """Observed counts of a Job."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()


class JobSpec(Struct):
    """Desired counts of a Job."""

    parallelism: int | None = None
    completions: int | None = None


class Job(Object):
    """API reference: batch/v1 Job."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_finished(self) -> bool:
        """Complete or Failed: no pod of it will come back."""
        return any(c.type in {"Complete", "Failed"} and c.is_true for c in self.status.conditions)


class ControllerRevision(Object):
    """API reference: apps/v1 ControllerRevision: a template, numbered in the order of use."""

    revision: int = 0
