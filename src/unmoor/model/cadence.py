"""How often and how long: every interval, wait and time limit of the controllers, by name.

Each field is a ConfigMap key ``cadence.<name in camel case, without the unit>`` with a Go duration,
so that a rehearsal in real time can be shortened. The defaults are those of spec 10.4 where it has
one. What a person plans with (deadlines, batch windows) is in ``settings``.

Must not: count anything; numbers without a unit of time are in ``settings``.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from unmoor.model.moment import HOUR, MINUTE


class Cadence(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, all of them positive."""

    # Deprovisioning
    deprovisioning_poll_s: Annotated[
        float, Meta(description="between two searches for something to deprovision")
    ] = 10.0
    deprovisioning_again_s: Annotated[
        float, Meta(description="until the next search, after one that found something")
    ] = 0.001
    unsynced_wait_s: Annotated[
        float,
        Meta(description="until the next look, while the picture of the cluster is incomplete"),
    ] = 1.0
    consolidation_validation_s: Annotated[
        float, Meta(description="a consolidation must still be right after this long")
    ] = 15.0
    multi_consolidation_limit_s: Annotated[
        float, Meta(description="the longest search for several machines to consolidate at once")
    ] = 1 * MINUTE
    single_consolidation_limit_s: Annotated[
        float, Meta(description="the longest search for one machine to consolidate")
    ] = 3 * MINUTE
    consolidation_memory_s: Annotated[
        float, Meta(description="an unchanged cluster is searched again after this long")
    ] = 5 * MINUTE
    replacement_poll_s: Annotated[
        float, Meta(description="between the first looks at a replacement that is coming up")
    ] = 2.0
    replacement_poll_most_s: Annotated[float, Meta(description="between the later looks at it")] = (
        10.0
    )
    replacement_limit_s: Annotated[
        float, Meta(description="a replacement that is not ready by then is given up")
    ] = 9.5 * MINUTE
    replacement_backoff_s: Annotated[
        float,
        Meta(
            description="a node whose replacement has failed is left alone for this long, at first"
        ),
    ] = 1 * MINUTE
    replacement_backoff_most_s: Annotated[
        float, Meta(description="and for this long after many such failures")
    ] = 30 * MINUTE
    not_found_grace_s: Annotated[
        float, Meta(description="what was just created may be missing from the cache for this long")
    ] = 5.0
    nomination_least_s: Annotated[
        float, Meta(description="a node picked for a pod is kept for it at least this long")
    ] = 10.0
    moved_pods_limit_s: Annotated[
        float, Meta(description="the next command stops waiting for the pods of the last one (R3)")
    ] = 10 * MINUTE
    steering_linger_s: Annotated[
        float,
        Meta(description="the taint of a node that is to go soon stays after a command this long"),
    ] = 1 * MINUTE
    refused_write_limit_s: Annotated[
        float,
        Meta(
            description="a command goes on without a node that the server has refused to change "
            "for this long"
        ),
    ] = 1 * MINUTE
    # Provisioning
    pending_pod_retry_s: Annotated[
        float, Meta(description="until a pod that is still pending is looked at again")
    ] = 10.0
    creation_backoff_most_s: Annotated[
        float,
        Meta(
            description="the longest wait until the server is asked again for a machine of a "
            "provisioner, of which it has refused some"
        ),
    ] = 5 * MINUTE
    unready_node_limit_s: Annotated[
        float,
        Meta(
            description="a node that was up and is not ready is expected back for this long; then "
            "pods that wait get another place"
        ),
    ] = 5 * MINUTE
    startup_taint_patience_s: Annotated[
        float,
        Meta(
            description="a node that is ready may have startup taints for this long; then the pods "
            "that are to run there are told"
        ),
    ] = 2 * MINUTE
    # Keeping the picture right
    watch_retry_s: Annotated[
        float, Meta(description="after a failed list or watch, until the next attempt; doubles")
    ] = 0.2
    watch_retry_most_s: Annotated[
        float, Meta(description="the longest wait between two such attempts")
    ] = 10.0
    watch_silence_s: Annotated[
        float, Meta(description="a watch that says nothing for this long is opened again")
    ] = 3 * MINUTE
    absence_memory_s: Annotated[
        float, Meta(description="how long the server's word that an object is missing is believed")
    ] = 1 * MINUTE
    lease_gc_grace_s: Annotated[
        float, Meta(description="a lease without a node that is younger than this is left alone")
    ] = 1 * MINUTE
    resync_s: Annotated[
        float, Meta(description="until an object is looked at again although nothing happened")
    ] = 1 * MINUTE
    consistency_scan_s: Annotated[
        float, Meta(description="between two comparisons of a machine with its node")
    ] = 10 * MINUTE
    drift_poll_s: Annotated[
        float, Meta(description="between two looks at whether a machine has drifted")
    ] = 5 * MINUTE
    nominated_poll_s: Annotated[
        float, Meta(description="until a node that pods are coming to is looked at for emptiness")
    ] = 30.0
    # Machines and instances
    machine_gc_s: Annotated[
        float, Meta(description="between two searches for machines whose instance is gone")
    ] = 2 * MINUTE
    machine_gc_grace_s: Annotated[
        float, Meta(description="a machine launched less than this ago is not looked for")
    ] = 10.0
    instance_gc_start_s: Annotated[
        float, Meta(description="between the first searches for instances without a machine")
    ] = 10.0
    instance_gc_s: Annotated[float, Meta(description="between the later searches for them")] = (
        2 * MINUTE
    )
    instance_gc_grace_s: Annotated[
        float, Meta(description="an instance younger than this is left alone")
    ] = 30.0
    registration_limit_s: Annotated[
        float, Meta(description="a machine whose node has not joined by then is given up")
    ] = 15 * MINUTE
    lost_node_limit_s: Annotated[
        float,
        Meta(
            description="a machine whose node is gone, though nobody let it go, is given up when "
            "none has joined by then"
        ),
    ] = 1 * HOUR
    launch_memory_s: Annotated[
        float, Meta(description="how long the result of a launch is remembered")
    ] = 1 * MINUTE
    launch_backoff_s: Annotated[
        float, Meta(description="after a lost launch, until it is asked for again; doubles")
    ] = 1.0
    launch_backoff_most_s: Annotated[
        float, Meta(description="the longest wait between two such attempts")
    ] = 1 * MINUTE
    link_again_s: Annotated[
        float, Meta(description="until an instance that could not be found is asked for again")
    ] = 10.0
    heartbeat_s: Annotated[
        float,
        Meta(
            description="a Ready node whose lease was renewed this lately is alive, though the "
            "cloud may know no machine of it"
        ),
    ] = 2 * MINUTE
    instance_look_s: Annotated[
        float, Meta(description="while its node drains, how often an instance is looked for")
    ] = 5.0
    terminate_again_s: Annotated[
        float, Meta(description="after a refused or lost termination, until the next attempt")
    ] = 5.0
    # Draining
    cordon_quiet_s: Annotated[
        float,
        Meta(description="a cordon this young is not relied on: a scheduler may not know of it"),
    ] = 5.0
    drain_poll_s: Annotated[
        float, Meta(description="between two looks at a node that is being drained")
    ] = 1.0
    pods_memory_s: Annotated[
        float, Meta(description="how long the server's word on a node's pods is believed")
    ] = 10.0
    stuck_terminating_s: Annotated[
        float, Meta(description="a pod still terminating this long past its grace is stuck")
    ] = 1 * MINUTE
    eviction_backoff_s: Annotated[
        float, Meta(description="until the second attempt to evict a pod; it doubles each time")
    ] = 0.1
    eviction_backoff_most_s: Annotated[
        float, Meta(description="the longest wait between two attempts")
    ] = 10.0
    admitted_wait_s: Annotated[
        float, Meta(description="an evicted pod that does not terminate by then is asked again")
    ] = 10.0
    drain_cut_off_s: Annotated[
        float, Meta(description="this long after a drain deadline, what is left is left")
    ] = 10.0
    deadline_least_s: Annotated[
        float,
        Meta(
            description="a longer drain deadline never passes sooner after it was first seen, "
            "whatever the clocks of the server and of unmoor say"
        ),
    ] = 5 * MINUTE
    detach_limit_s: Annotated[
        float, Meta(description="volumes of evicted pods are waited for at most this long")
    ] = 6 * MINUTE
    uncordon_respect_s: Annotated[
        float,
        Meta(
            description="a node that a person took from a command, or that the server refused to "
            "change, is left alone so long"
        ),
    ] = 15 * MINUTE
    # The cloud
    node_template_refresh_s: Annotated[
        float, Meta(description="between two resolutions of a node template's selectors")
    ] = 5 * MINUTE
    discovery_memory_s: Annotated[
        float, Meta(description="how long the cloud's answer to a selector is remembered")
    ] = 1 * MINUTE
    instance_types_memory_s: Annotated[
        float, Meta(description="how long the list of instance types is remembered")
    ] = 5 * MINUTE
    stock_out_memory_s: Annotated[
        float,
        Meta(
            description="how long an offering that was out of stock is not tried; doubles with "
            "each in a row"
        ),
    ] = 3 * MINUTE
    stock_out_memory_most_s: Annotated[
        float, Meta(description="the longest time for which it is not tried")
    ] = 15 * MINUTE
    no_show_memory_s: Annotated[
        float,
        Meta(
            description="how long a provisioner does not ask for an offering of which its machine "
            "has not come up; doubles with each in a row"
        ),
    ] = 15 * MINUTE
    no_show_memory_most_s: Annotated[
        float,
        Meta(
            description="the longest time for which it does not ask for it, and for which it "
            "pauses because its nodes do not become ready"
        ),
    ] = 4 * HOUR
    pricing_refresh_s: Annotated[float, Meta(description="between two price lists")] = 12 * HOUR
    interruption_wait_s: Annotated[
        float, Meta(description="how long one request to the interruption queue waits")
    ] = 20.0
    interruption_visibility_s: Annotated[
        float, Meta(description="how long a message taken from it is hidden from others")
    ] = 20.0
    # Telling people
    node_metrics_s: Annotated[float, Meta(description="between two measurements of the nodes")] = (
        5.0
    )
    provisioner_metrics_s: Annotated[
        float, Meta(description="between two measurements of the provisioners")
    ] = 5 * MINUTE
    provisioner_status_s: Annotated[
        float,
        Meta(description="what a provisioner has is not counted again within this time"),
    ] = 1.0
    event_dedupe_s: Annotated[
        float, Meta(description="the same event is not repeated within this time")
    ] = 2 * MINUTE
    unconsolidatable_dedupe_s: Annotated[
        float, Meta(description="the event Unconsolidatable is not repeated within this time (R10)")
    ] = 15 * MINUTE
    failed_scheduling_dedupe_s: Annotated[
        float, Meta(description="the event FailedScheduling is not repeated within this time")
    ] = 5 * MINUTE
    log_dedupe_s: Annotated[
        float, Meta(description="an unchanged observation is not logged again within this time")
    ] = 24 * HOUR
    # Who leads
    lease_duration_s: Annotated[
        float, Meta(description="how long a leader that is not heard of is still waited for")
    ] = 15.0
    lease_renew_limit_s: Annotated[
        float,
        Meta(
            description="a leader that could not renew for this long stops; at most leaseDuration"
        ),
    ] = 10.0
    lease_retry_s: Annotated[
        float,
        Meta(
            description="between two attempts to take or renew the lease; at most leaseRenewLimit"
        ),
    ] = 2.0
