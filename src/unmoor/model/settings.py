"""What a person may set for the whole cluster: the ``karpenter-global-settings`` ConfigMap.

Keys and defaults are those of spec 1.5, with two groups of ours: ``unmoor.*`` and ``cadence.*``.
The values are live, but for those in ``AT_START``. A bad value must not stop a running controller,
so it leaves the last good value of that key in force and is reported; a key that is removed returns
to its default.

Must not: read the ConfigMap, flags or the environment (``app``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, get_type_hints

import msgspec
from msgspec import Meta

from unmoor.model import duration, names, reading
from unmoor.model.cadence import Cadence
from unmoor.model.moment import HOUR, MINUTE
from unmoor.model.reading import OFF
from unmoor.model.validation import FieldError

CONFIG_MAP_NAME = "karpenter-global-settings"
NAMESPACE = "karpenter"
"""Where the ConfigMap and the lease are, unless somebody says otherwise."""

BATCH_LEAST_S = 1.0
ASSUME_ROLE_LEAST_S = 15 * MINUTE
CADENCE_LEAST_S = 0.001
"""A shorter interval would keep a processor busy with nothing."""

FEWEST_PODS = "fewest-pods"
LEAST_COST = "least-cost"
CONSOLIDATION_ORDERS = (FEWEST_PODS, LEAST_COST)
"""In which order nodes are looked at: as the page has it (R8), or by one formula (spec 3.6)."""

METHODS = ("expiration", "drift", "emptiness", "consolidation")
"""Which may be observed; in the order in which they act (001:15)."""

_OURS = ("unmoor.", "cadence.")


class AWSSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The ``aws.*`` keys (spec 1.5)."""

    assume_role_arn: Annotated[str, Meta(description="the role to act as")] = ""
    assume_role_duration_s: Annotated[
        float, Meta(description="how long a session of that role lasts; at least 15m")
    ] = ASSUME_ROLE_LEAST_S
    cluster_ca_bundle: Annotated[str, Meta(description="given to nodes that join")] = ""
    cluster_name: Annotated[str, Meta(description="marks instances as this cluster's")] = ""
    cluster_endpoint: Annotated[
        str, Meta(description="where nodes find the API server; empty, or an absolute URL")
    ] = ""
    default_instance_profile: Annotated[
        str, Meta(description="for node templates that name none")
    ] = ""
    enable_pod_eni: Annotated[bool, Meta(description="count pod network interfaces")] = False
    enable_eni_limited_pod_density: Annotated[
        bool, Meta(description="a node takes as many pods as it has addresses")
    ] = True
    isolated_vpc: Annotated[bool, Meta(description="do not refresh on-demand prices")] = False
    vm_memory_overhead_percent: Annotated[
        float, Meta(description="the share of memory that a machine keeps for itself")
    ] = 0.075
    interruption_queue_name: Annotated[
        str, Meta(description="where interruptions are announced; empty: nowhere")
    ] = ""
    tags: Annotated[
        dict[str, str], Meta(description="tags for every instance, as a JSON object")
    ] = msgspec.field(default_factory=dict)
    reserved_enis: Annotated[int, Meta(description="network interfaces that are not for pods")] = 0


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, checked. Seconds, unless the name says otherwise."""

    batch_max_duration_s: Annotated[
        float, Meta(description="the longest wait for more pending pods; at least 1s")
    ] = 10.0
    batch_idle_duration_s: Annotated[
        float, Meta(description="no new pending pod for this long ends the wait; at least 1s")
    ] = 1.0
    drift_enabled: Annotated[
        bool | None,
        Meta(description="false: no drift; true: adopted machines, too; unset: only our own"),
    ] = None
    drain_deadline_s: Annotated[
        float | None, Meta(description="a drain ends by force after this long; off: never")
    ] = None
    load_balancer_wait_s: Annotated[
        float, Meta(description="from leaving the load balancers to the first eviction")
    ] = 0.0
    returning_pods_rounds: Annotated[
        int, Meta(description="how often pods may return to a draining node until we report it")
    ] = 3
    kept_disruptions: Annotated[
        int, Meta(description="how many finished Disruptions are kept as the ledger")
    ] = 100
    paused: Annotated[
        str, Meta(description="no method makes a node go: by=..., until=..., reason=..., or true")
    ] = ""
    observe: Annotated[
        tuple[str, ...],
        Meta(description="methods whose commands are recorded and not carried out, with commas"),
    ] = ()
    quiet_after_start_s: Annotated[
        float, Meta(description="no method acts until unmoor has looked on for so long")
    ] = 0.0
    not_ready_share_most: Annotated[
        float, Meta(description="no method acts while a larger share of the nodes is not ready")
    ] = 0.45
    failed_commands_most: Annotated[
        int, Meta(description="after so many failed commands in a row a person is asked; 0: never")
    ] = 5
    nodes_going_most: Annotated[
        int | None, Meta(description="so many nodes may be going at once; off: any number")
    ] = None
    nodes_going_most_of_one: Annotated[
        int | None,
        Meta(description="so many nodes of one Provisioner may be going at once; off: any number"),
    ] = None
    consolidation_order: Annotated[
        str, Meta(description="which nodes are consolidated first: fewest-pods or least-cost (R8)")
    ] = FEWEST_PODS
    spot_to_spot: Annotated[
        bool, Meta(description="a spot node may be replaced by a cheaper spot node (R9)")
    ] = False
    least_saving: Annotated[
        float, Meta(description="the share of its price that a replacement must save; 0: any")
    ] = 0.1
    moved_workload_respect_s: Annotated[
        float,
        Meta(description="no replacement moves a workload again that was moved this recently"),
    ] = 30 * MINUTE
    balanced_factor: Annotated[
        float | None,
        Meta(description="a command must save its share of what it disturbs over this (R9); off"),
    ] = None
    moved_workload_respect_deletions: Annotated[
        bool, Meta(description="a deletion does not move such a workload again either")
    ] = False
    replaced_type_respect_s: Annotated[
        float,
        Meta(description="no node that replaced a type is replaced by that type so soon; 0s: any"),
    ] = 6 * HOUR
    drift_share_most: Annotated[
        float,
        Meta(description="drift is held while a larger share of a provisioner has drifted; 1: off"),
    ] = 1.0
    steering: Annotated[
        bool, Meta(description="pods that move are kept off nodes that are to go soon, by a taint")
    ] = True
    instance_gc_start_rounds: Annotated[
        int, Meta(description="how many of the searches for lost instances are the quick ones")
    ] = 20
    aws: AWSSettings = AWSSettings()
    cadence: Cadence = Cadence()


class Setting(msgspec.Struct, frozen=True):
    """One key: its name in the ConfigMap, where its value lives, and how it is read.

    ``read`` raises ValueError, whose text is the remedy.
    """

    key: str
    group: str
    attribute: str
    read: Callable[[str], object]

    def value(self, settings: Settings) -> object:
        """What the settings hold for this key."""
        value: object = getattr(_holder(settings, self.group), self.attribute)
        return value

    def default_text(self) -> str:
        """The default as one would write it in the ConfigMap."""
        value = self.value(DEFAULTS)
        if self.attribute.endswith("_s"):
            return OFF if value is None else duration.format_duration(float(str(value)))
        match value:
            case None:
                return OFF if self._may_be_off() else ""
            case bool():
                return str(value).lower()
            case tuple():
                return ",".join(value)
            case dict():
                return msgspec.json.encode(value).decode()
            case _:
                return str(value)

    def _may_be_off(self) -> bool:
        try:
            return self.read(OFF) is None
        except ValueError:
            return False

    @property
    def description(self) -> str:
        """What it is good for, for the reference page."""
        hints = get_type_hints(type(_holder(DEFAULTS, self.group)), include_extras=True)
        meta: Meta = hints[self.attribute].__metadata__[0]
        return meta.description or ""


def read(
    data: Mapping[str, str], last_good: Settings | None = None, *, name: str = CONFIG_MAP_NAME
) -> tuple[Settings, tuple[FieldError, ...]]:
    """Return the settings of a ConfigMap's ``data``, and what is wrong with it, sorted by key.

    ``name``: what the ConfigMap is called, for the error texts.
    A missing key has its default. A bad value leaves that of ``last_good`` (at first: the default)
    in force. Unknown keys are ignored, except for those that were meant for us.
    """
    good = DEFAULTS if last_good is None else last_good
    values: dict[str, dict[str, object]] = {"": {}, "aws": {}, "cadence": {}}
    errors = []
    for setting in SETTINGS:
        given = data.get(setting.key)
        try:
            value = setting.value(DEFAULTS) if given is None else setting.read(given)
        except ValueError as error:
            value = setting.value(good)
            errors.append(_error(setting.key, given or "", "it cannot be used", str(error)))
        values[setting.group][setting.attribute] = value
    errors += _unknown(data)
    settings = Settings(
        aws=msgspec.structs.replace(DEFAULTS.aws, **values["aws"]),
        cadence=msgspec.structs.replace(DEFAULTS.cadence, **values["cadence"]),
    )
    settings = msgspec.structs.replace(settings, **values[""])
    settings, disagreements = _consistent(settings, good)
    found = sorted((*errors, *disagreements))
    return settings, tuple(msgspec.structs.replace(e, object=f"configmap/{name}") for e in found)


def _holder(settings: Settings, group: str) -> Settings | AWSSettings | Cadence:
    match group:
        case "aws":
            return settings.aws
        case "cadence":
            return settings.cadence
        case _:
            return settings


def _error(key: str, value: str, problem: str, remedy: str) -> FieldError:
    return FieldError("", f"data[{key}]", value, f"{problem}, the last good value stays", remedy)


def _unknown(data: Mapping[str, str]) -> list[FieldError]:
    known = [setting.key for setting in SETTINGS]
    errors = []
    for key, value in data.items():
        if key.startswith(_OURS) and key not in known:
            meant = names.nearest(key, known)
            remedy = f"did you mean {meant}?" if meant else "remove it"
            errors.append(FieldError("", f"data[{key}]", value, "there is no such key", remedy))
    return errors


def _consistent(settings: Settings, good: Settings) -> tuple[Settings, list[FieldError]]:
    """Some values only make sense together; where they do not, all of them stay as they were."""
    errors = []
    for attributes in _ASCENDING:
        given = [getattr(settings.cadence, attribute) for attribute in attributes]
        if given == sorted(given):
            continue
        keys = [_camel(attribute.removesuffix("_s")) for attribute in attributes]
        shown = " > ".join(duration.format_duration(value) for value in given)
        last = {attribute: getattr(good.cadence, attribute) for attribute in attributes}
        cadence = msgspec.structs.replace(settings.cadence, **last)
        settings = msgspec.structs.replace(settings, cadence=cadence)
        remedy = f"keep {' <= '.join(f'cadence.{key}' for key in keys)}"
        errors.append(
            _error(f"cadence.{keys[0]}", shown, "the values contradict each other", remedy)
        )
    return settings, errors


_ASCENDING = (
    ("lease_retry_s", "lease_renew_limit_s", "lease_duration_s"),
    ("eviction_backoff_s", "eviction_backoff_most_s"),
    ("replacement_poll_s", "replacement_poll_most_s"),
    ("replacement_backoff_s", "replacement_backoff_most_s"),
    ("watch_retry_s", "watch_retry_most_s"),
)
"""Cadences that must not exceed the next one."""


def _camel(attribute: str) -> str:
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)


SETTINGS: tuple[Setting, ...] = (
    Setting("batchMaxDuration", "", "batch_max_duration_s", reading.duration(BATCH_LEAST_S)),
    Setting("batchIdleDuration", "", "batch_idle_duration_s", reading.duration(BATCH_LEAST_S)),
    Setting("featureGates.driftEnabled", "", "drift_enabled", reading.boolean),
    Setting("unmoor.drainDeadline", "", "drain_deadline_s", reading.limit(CADENCE_LEAST_S)),
    Setting("unmoor.loadBalancerWait", "", "load_balancer_wait_s", reading.duration(0.0)),
    Setting("unmoor.returningPodsRounds", "", "returning_pods_rounds", reading.count(1)),
    Setting("unmoor.keptDisruptions", "", "kept_disruptions", reading.count(0)),
    Setting("unmoor.quietAfterStart", "", "quiet_after_start_s", reading.duration(0.0)),
    Setting("unmoor.notReadyShareMost", "", "not_ready_share_most", reading.share),
    Setting("unmoor.failedCommandsMost", "", "failed_commands_most", reading.count(0)),
    Setting("unmoor.nodesGoingMost", "", "nodes_going_most", reading.most(0)),
    Setting("unmoor.nodesGoingMostPerProvisioner", "", "nodes_going_most_of_one", reading.most(0)),
    Setting("unmoor.paused", "", "paused", reading.text),
    Setting("unmoor.observe", "", "observe", reading.some_of(METHODS)),
    Setting(
        "unmoor.consolidationOrder", "", "consolidation_order", reading.one_of(CONSOLIDATION_ORDERS)
    ),
    Setting("unmoor.spotToSpot", "", "spot_to_spot", reading.boolean),
    Setting("unmoor.leastSaving", "", "least_saving", reading.share),
    Setting("unmoor.movedWorkloadRespect", "", "moved_workload_respect_s", reading.duration(0.0)),
    Setting("unmoor.balanced", "", "balanced_factor", reading.factor),
    Setting(
        "unmoor.movedWorkloadRespectDeletions",
        "",
        "moved_workload_respect_deletions",
        reading.boolean,
    ),
    Setting("unmoor.replacedTypeRespect", "", "replaced_type_respect_s", reading.duration(0.0)),
    Setting("unmoor.driftShareMost", "", "drift_share_most", reading.share),
    Setting("unmoor.steering", "", "steering", reading.boolean),
    Setting("unmoor.instanceGcStartRounds", "", "instance_gc_start_rounds", reading.count(0)),
    Setting("aws.assumeRoleARN", "aws", "assume_role_arn", reading.text),
    Setting(
        "aws.assumeRoleDuration",
        "aws",
        "assume_role_duration_s",
        reading.duration(ASSUME_ROLE_LEAST_S),
    ),
    Setting("aws.clusterCABundle", "aws", "cluster_ca_bundle", reading.text),
    Setting("aws.clusterName", "aws", "cluster_name", reading.text),
    Setting("aws.clusterEndpoint", "aws", "cluster_endpoint", reading.url),
    Setting("aws.defaultInstanceProfile", "aws", "default_instance_profile", reading.text),
    Setting("aws.enablePodENI", "aws", "enable_pod_eni", reading.boolean),
    Setting(
        "aws.enableENILimitedPodDensity", "aws", "enable_eni_limited_pod_density", reading.boolean
    ),
    Setting("aws.isolatedVPC", "aws", "isolated_vpc", reading.boolean),
    Setting("aws.vmMemoryOverheadPercent", "aws", "vm_memory_overhead_percent", reading.share),
    Setting("aws.interruptionQueueName", "aws", "interruption_queue_name", reading.text),
    Setting("aws.tags", "aws", "tags", reading.tags),
    Setting("aws.reservedENIs", "aws", "reserved_enis", reading.count(0)),
    *(
        Setting(
            f"cadence.{_camel(attribute.removesuffix('_s'))}",
            "cadence",
            attribute,
            reading.duration(CADENCE_LEAST_S),
        )
        for attribute in Cadence.__struct_fields__
    ),
)
"""Every key, in the order of the reference page."""

NOT_YET = frozenset(
    {
        "aws.assumeRoleARN",
        "aws.assumeRoleDuration",
        "aws.clusterCABundle",
        "aws.clusterEndpoint",
        "aws.defaultInstanceProfile",
        "aws.enablePodENI",
        "aws.enableENILimitedPodDensity",
        "aws.isolatedVPC",
        "aws.vmMemoryOverheadPercent",
        "aws.interruptionQueueName",
        "aws.tags",
        "aws.reservedENIs",
        "cadence.unsyncedWait",
        "cadence.multiConsolidationLimit",
        "cadence.singleConsolidationLimit",
        "cadence.consolidationMemory",
        "cadence.notFoundGrace",
        "cadence.launchMemory",
        "cadence.discoveryMemory",
        "cadence.pricingRefresh",
        "cadence.interruptionWait",
        "cadence.interruptionVisibility",
        "cadence.nodeMetrics",
    }
)
"""Keys that are checked, and that nothing asks for yet."""
AT_START = frozenset({"cadence.leaseDuration", "cadence.leaseRenewLimit", "cadence.leaseRetry"})
"""Keys that are looked at once, when a process starts (``app.process``)."""

DEFAULTS = Settings()
