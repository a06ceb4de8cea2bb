"""Settings: defaults, the rules of spec 1.5, and what a bad value leaves in force (T374, T425)."""

from collections.abc import Mapping

import pytest

from unmoor.model import settings
from unmoor.model.cadence import Cadence
from unmoor.model.settings import DEFAULTS, Settings


def read(data: Mapping[str, str]) -> Settings:
    found, errors = settings.read(data)
    assert errors == ()
    return found


def test_t374_an_empty_config_map_means_the_defaults() -> None:
    assert read({}) == DEFAULTS
    assert (DEFAULTS.batch_max_duration_s, DEFAULTS.batch_idle_duration_s) == (10, 1)
    assert DEFAULTS.drain_deadline_s is None
    assert DEFAULTS.load_balancer_wait_s == 0
    assert DEFAULTS.aws.cluster_name == ""
    assert DEFAULTS.aws.assume_role_duration_s == 900
    assert DEFAULTS.aws.vm_memory_overhead_percent == 0.075
    assert DEFAULTS.aws.enable_eni_limited_pod_density
    assert not DEFAULTS.aws.enable_pod_eni


CUSTOM = {
    "batchMaxDuration": "30s",
    "batchIdleDuration": "5s",
    "featureGates.driftEnabled": "true",
    "unmoor.drainDeadline": "10m",
    "unmoor.loadBalancerWait": "15s",
    "unmoor.returningPodsRounds": "5",
    "unmoor.keptDisruptions": "0",
    "unmoor.nodesGoingMost": "20",
    "unmoor.balanced": "2",
    "unmoor.nodesGoingMostPerProvisioner": "0",
    "unmoor.instanceGcStartRounds": "2",
    "aws.assumeRoleARN": "arn:x",
    "aws.assumeRoleDuration": "1h",
    "aws.clusterCABundle": "bundle",
    "aws.clusterName": "prod",
    "aws.clusterEndpoint": "https://cluster.example.com:443",
    "aws.defaultInstanceProfile": "profile",
    "aws.enablePodENI": "true",
    "aws.enableENILimitedPodDensity": "false",
    "aws.isolatedVPC": "true",
    "aws.vmMemoryOverheadPercent": "0.1",
    "aws.interruptionQueueName": "queue",
    "aws.tags": '{"team": "shop", "kubernetes.io/clusters": "x"}',
    "aws.reservedENIs": "1",
    "cadence.deprovisioningPoll": "100ms",
    "cadence.drainPoll": "50ms",
}


def test_t374_t425_custom_values_are_read() -> None:
    found = read(CUSTOM)

    assert found.batch_max_duration_s == 30
    assert found.drain_deadline_s == 600
    assert found.load_balancer_wait_s == 15
    assert (found.returning_pods_rounds, found.kept_disruptions) == (5, 0)
    assert found.aws.tags == {"team": "shop", "kubernetes.io/clusters": "x"}
    assert found.aws.reserved_enis == 1
    assert found.aws.vm_memory_overhead_percent == 0.1
    assert found.aws.isolated_vpc
    assert found.cadence.deprovisioning_poll_s == 0.1
    assert found.cadence.drain_poll_s == 0.05
    assert found.cadence.machine_gc_s == DEFAULTS.cadence.machine_gc_s
    for setting in settings.SETTINGS:
        if setting.key in CUSTOM:
            assert setting.value(found) != setting.value(DEFAULTS), setting.key


BAD = [
    ("unmoor.balanced", "0"),
    ("unmoor.balanced", "no"),
    ("unmoor.nodesGoingMost", "-1"),
    ("unmoor.nodesGoingMostPerProvisioner", "many"),
    ("batchMaxDuration", "-10s"),
    ("batchMaxDuration", "999ms"),
    ("batchMaxDuration", ""),
    ("batchIdleDuration", "-1s"),
    ("batchIdleDuration", "100ms"),
    ("batchIdleDuration", ""),
    ("featureGates.driftEnabled", "foobar"),
    ("featureGates.driftEnabled", ""),
    ("aws.assumeRoleDuration", "14m59s"),
    ("aws.clusterEndpoint", "cluster.example.com"),
    ("aws.clusterEndpoint", "https://"),
    ("aws.clusterEndpoint", "/path"),
    ("aws.vmMemoryOverheadPercent", "-0.01"),
    ("aws.vmMemoryOverheadPercent", "nan"),
    ("aws.reservedENIs", "-1"),
    ("aws.reservedENIs", "1.5"),
    ("aws.reservedENIs", "1_0"),
    ("aws.enablePodENI", "yes"),
    ("aws.tags", "team=shop"),
    ("aws.tags", '{"team": 1}'),
    ("aws.tags", '{"kubernetes.io/cluster/prod": "owned"}'),
    ("aws.tags", '{"karpenter.sh/provisioner-name": "x"}'),
    ("aws.tags", '{"karpenter.sh/managed-by": "x"}'),
    ("unmoor.drainDeadline", "0s"),
    ("unmoor.drainDeadline", "Never"),
    ("unmoor.loadBalancerWait", "-1s"),
    ("unmoor.returningPodsRounds", "0"),
    ("cadence.drainPoll", "0s"),
    ("cadence.drainPoll", "1"),
]


@pytest.mark.parametrize(("key", "value"), BAD)
def test_t374_t425_a_bad_value_leaves_the_last_good_one_and_is_reported(
    key: str, value: str
) -> None:
    last_good = read(CUSTOM)

    found, (error,) = settings.read({**CUSTOM, key: value}, last_good)

    assert found == last_good
    assert error.field == f"data[{key}]"
    assert error.value == value
    assert error.object == "configmap/karpenter-global-settings"
    assert error.remedy


def test_at_first_the_last_good_value_is_the_default() -> None:
    found, (error,) = settings.read({"batchMaxDuration": "soon", "aws.clusterName": "prod"})

    assert found.batch_max_duration_s == DEFAULTS.batch_max_duration_s
    assert found.aws.cluster_name == "prod"
    assert str(error) == (
        "configmap/karpenter-global-settings: data[batchMaxDuration] is 'soon': it cannot be used, "
        "the last good value stays; write a duration, as in 1h30m or 300ms"
    )


def test_t375_a_key_that_is_removed_returns_to_its_default() -> None:
    found, errors = settings.read({}, read(CUSTOM))

    assert (found, errors) == (DEFAULTS, ())


def test_t425_unknown_keys_are_ignored_unless_they_were_meant_for_us() -> None:
    data = {
        "aws.nodeNameConvention": "ip-name",
        "_example": "x",
        "cadence.drainPol": "1s",
        "unmoor.draindeadline": "1m",
        "unmoor.colour": "red",
    }

    found, errors = settings.read(data)

    assert found == DEFAULTS
    assert [(error.field, error.remedy) for error in errors] == [
        ("data[cadence.drainPol]", "did you mean cadence.drainPoll?"),
        ("data[unmoor.colour]", "remove it"),
        ("data[unmoor.draindeadline]", "did you mean unmoor.drainDeadline?"),
    ]


def test_values_that_contradict_each_other_stay_as_they_were_together() -> None:
    last_good = read({"cadence.leaseDuration": "30s"})

    found, (error,) = settings.read(
        {"cadence.leaseDuration": "1s", "cadence.leaseRetry": "500ms"}, last_good
    )

    assert found.cadence.lease_duration_s == 30
    assert found.cadence.lease_retry_s == 2
    assert "contradict each other" in error.problem
    assert "cadence.leaseRetry <= cadence.leaseRenewLimit <= cadence.leaseDuration" in error.remedy


def test_a_limit_can_be_switched_off_by_name() -> None:
    assert read({"unmoor.drainDeadline": "off"}).drain_deadline_s is None


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ({}, None),
        ({"featureGates.driftEnabled": "true"}, True),
        ({"featureGates.driftEnabled": "false"}, False),
    ],
)
def test_r15_not_set_is_neither_on_nor_off(data: dict[str, str], *, found: bool | None) -> None:
    assert read(data).drift_enabled is found


def test_every_setting_has_one_key_a_description_and_a_default_that_can_be_read() -> None:
    keys = [setting.key for setting in settings.SETTINGS]
    assert len(keys) == len(set(keys))
    for setting in settings.SETTINGS:
        assert setting.description
        text = setting.default_text()
        if setting.key != "featureGates.driftEnabled":  # unset is a state of its own
            assert setting.value(read({setting.key: text})) == setting.value(DEFAULTS)
    fields = {*Settings.__struct_fields__, *settings.AWSSettings.__struct_fields__}
    known = {setting.attribute for setting in settings.SETTINGS}
    assert fields | set(Cadence.__struct_fields__) == known | {"aws", "cadence"}


SPEC_10_4 = {
    "deprovisioning_poll_s": 10,
    "deprovisioning_again_s": 0.001,
    "unsynced_wait_s": 1,
    "consolidation_validation_s": 15,
    "multi_consolidation_limit_s": 60,
    "single_consolidation_limit_s": 180,
    "consolidation_memory_s": 300,
    "replacement_poll_s": 2,
    "replacement_poll_most_s": 10,
    "replacement_limit_s": 570,
    "not_found_grace_s": 5,
    "nomination_least_s": 10,
    "pending_pod_retry_s": 10,
    "resync_s": 60,
    "drift_poll_s": 300,
    "nominated_poll_s": 30,
    "machine_gc_s": 120,
    "machine_gc_grace_s": 10,
    "instance_gc_start_s": 10,
    "instance_gc_s": 120,
    "instance_gc_grace_s": 30,
    "registration_limit_s": 900,
    "launch_memory_s": 60,
    "drain_poll_s": 1,
    "stuck_terminating_s": 60,
    "eviction_backoff_s": 0.1,
    "eviction_backoff_most_s": 10,
    "consistency_scan_s": 600,
    "node_template_refresh_s": 300,
    "discovery_memory_s": 60,
    "instance_types_memory_s": 300,
    "stock_out_memory_s": 180,
    "pricing_refresh_s": 43200,
    "interruption_wait_s": 20,
    "interruption_visibility_s": 20,
    "node_metrics_s": 5,
    "provisioner_metrics_s": 300,
    "event_dedupe_s": 120,
    "unconsolidatable_dedupe_s": 900,
    "failed_scheduling_dedupe_s": 300,
    "log_dedupe_s": 86400,
}
OURS = {
    "stock_out_memory_most_s": 900,
    "provisioner_status_s": 1,
    "moved_pods_limit_s": 600,
    "replacement_backoff_s": 60,
    "replacement_backoff_most_s": 1800,
    "refused_write_limit_s": 60,
    "steering_linger_s": 60,
    "absence_memory_s": 60,
    "pods_memory_s": 10,
    "deadline_least_s": 300,
    "watch_retry_s": 0.2,
    "watch_retry_most_s": 10,
    "watch_silence_s": 180,
    "lease_gc_grace_s": 60,
    "lost_node_limit_s": 3600,
    "unready_node_limit_s": 300,
    "startup_taint_patience_s": 120,
    "creation_backoff_most_s": 300,
    "no_show_memory_s": 900,
    "no_show_memory_most_s": 14_400,
    "launch_backoff_s": 1,
    "launch_backoff_most_s": 60,
    "link_again_s": 10,
    "heartbeat_s": 120,
    "instance_look_s": 5,
    "terminate_again_s": 5,
    "cordon_quiet_s": 5,
    "admitted_wait_s": 10,
    "drain_cut_off_s": 10,
    "detach_limit_s": 360,
    "uncordon_respect_s": 900,
    "lease_duration_s": 15,
    "lease_renew_limit_s": 10,
    "lease_retry_s": 2,
}


def test_every_cadence_is_as_long_as_it_was_meant_to_be() -> None:
    cadence = DEFAULTS.cadence
    found = {name: getattr(cadence, name) for name in Cadence.__struct_fields__}

    assert found == SPEC_10_4 | OURS
