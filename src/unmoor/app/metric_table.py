"""Which metrics are there? Karpenter's names and labels (spec 10.1); one row each.

Must not: count.
"""

from __future__ import annotations

from enum import Enum

import msgspec

Labels = tuple[str, ...]


class Kind(Enum):
    """How a metric takes a value."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


class Row(msgspec.Struct, frozen=True):
    """One metric."""

    name: str
    kind: Kind
    labels: Labels
    help: str


TABLE = (
    Row("machines_created", Kind.COUNTER, ("reason", "provisioner"), "Machines created."),
    Row(
        "machines_terminated",
        Kind.COUNTER,
        ("reason", "provisioner"),
        "Machines that unmoor deleted; those that a person deleted are not in it.",
    ),
    Row(
        "provisioner_scheduling_duration_seconds",
        Kind.HISTOGRAM,
        (),
        "How long it took to plan where pods go, with the creation of machines.",
    ),
    Row(
        "provisioner_scheduling_queue_depth",
        Kind.GAUGE,
        (),
        "Pods without a place when it was last planned where they go.",
    ),
    Row("machines_launched", Kind.COUNTER, ("provisioner",), "Machines with an instance."),
    Row("machines_registered", Kind.COUNTER, ("provisioner",), "Machines whose node joined."),
    Row("machines_initialized", Kind.COUNTER, ("provisioner",), "Machines ready for pods."),
    Row(
        "machines_disrupted",
        Kind.COUNTER,
        ("type", "provisioner"),
        "Machines that began to qualify for a disruption.",
    ),
    Row("machines_drifted", Kind.COUNTER, ("type", "provisioner"), "Machines that drifted."),
    Row("nodes_created", Kind.COUNTER, ("provisioner",), "Nodes that joined for a machine."),
    Row("nodes_terminated", Kind.COUNTER, ("provisioner",), "Nodes that are gone."),
    Row(
        "nodes_termination_time_seconds",
        Kind.SUMMARY,
        ("provisioner",),
        "From a node's deletion to the release of its finalizer.",
    ),
    Row("nodes_leases_deleted", Kind.COUNTER, (), "Leases deleted that no node owned."),
    Row("consistency_errors", Kind.COUNTER, ("check",), "Consistency checks that failed."),
    Row(
        "deprovisioning_evaluation_duration_seconds",
        Kind.HISTOGRAM,
        ("method",),
        "How long a look at the whole cluster took, with its effects; all methods share one.",
    ),
    Row(
        "deprovisioning_actions_performed",
        Kind.COUNTER,
        ("action", "deprovisioner"),
        "Disruptions begun.",
    ),
    Row(
        "deprovisioning_replacement_machine_initialized_seconds",
        Kind.HISTOGRAM,
        (),
        "How long replacements were waited for, whether they came up or not.",
    ),
    Row(
        "deprovisioning_replacement_machine_launch_failure_counter",
        Kind.COUNTER,
        ("deprovisioner",),
        "Replacements that did not come up; nothing went then.",
    ),
    Row(
        "deprovisioning_eligible_machines",
        Kind.GAUGE,
        ("deprovisioner",),
        "Machines that the method would let go when it last looked; it looks between commands.",
    ),
    Row(
        "deprovisioning_consolidation_timeouts",
        Kind.COUNTER,
        ("consolidation_type",),
        "Searches that ran out of time: none here, as they end after so much work (R46).",
    ),
    Row(
        "deprovisioning_observed_commands",
        Kind.GAUGE,
        ("deprovisioner",),
        "Disruptions that stand and are only observed.",
    ),
    Row(
        "deprovisioning_observed_machines",
        Kind.GAUGE,
        ("deprovisioner",),
        "Machines that would be gone by these.",
    ),
    Row(
        "deprovisioning_observed_saving_usd_per_hour",
        Kind.GAUGE,
        ("deprovisioner",),
        "What would be paid less in an hour by these, where the prices are known.",
    ),
    Row(
        "provisioner_limit",
        Kind.GAUGE,
        ("provisioner", "resource_type"),
        "How much a Provisioner may have, in cores, bytes or pieces.",
    ),
    Row(
        "provisioner_usage",
        Kind.GAUGE,
        ("provisioner", "resource_type"),
        "How much its nodes, and its machines without one, have together.",
    ),
    Row(
        "provisioner_usage_pct",
        Kind.GAUGE,
        ("provisioner", "resource_type"),
        "How much of the limit that is, in percent.",
    ),
    Row(
        "cloudprovider_duration_seconds",
        Kind.HISTOGRAM,
        ("controller", "method", "provider"),
        "How long the cloud took to answer.",
    ),
    Row(
        "cloudprovider_errors_total",
        Kind.COUNTER,
        ("controller", "method", "provider", "error"),
        "Calls that the cloud refused or did not answer.",
    ),
)
"""Everything under ``karpenter_``, in the order of spec 10.1."""

OURS_TABLE = (
    Row(
        "moved_pods_landed_total",
        Kind.COUNTER,
        ("where",),
        "Pods that a finished command has moved: on the node that was planned for them "
        "(`planned`), on one that is to go soon (`going-soon`), or on another (`elsewhere`).",
    ),
    Row(
        "nodes_going_soon",
        Kind.GAUGE,
        (),
        "Nodes with the taint of those that are to go soon, when it was last looked at.",
    ),
)
"""Everything under ``unmoor_``."""

RECONCILER_TABLE = (
    Row("reconcile_total", Kind.COUNTER, ("controller", "result"), "Steps, by what came of them."),
    Row("reconcile_errors_total", Kind.COUNTER, ("controller",), "Steps that failed."),
    Row("reconcile_time_seconds", Kind.HISTOGRAM, ("controller",), "A step with its effects."),
)
"""Everything under ``controller_runtime_``."""

TABLES = {"karpenter": TABLE, "controller_runtime": RECONCILER_TABLE, "unmoor": OURS_TABLE}
"""All of them, by what their names begin with."""
