"""Facts about requests and room. Every function is a row, and its name says what holds."""

from __future__ import annotations

from tests.facts.fact import Fact
from tests.facts.raw import container, ended, leaving, node, pod
from unmoor.model.base import JSON

CPU = "Insufficient cpu"
GPU = "example.com/gpu"


def _node(name: str, cpu: str, **more: str) -> JSON:
    return node(name, room={"cpu": cpu, **more})


def requests_of_containers_add_up() -> Fact:
    both = [container(cpu="600m"), container(cpu="600m")]
    return Fact([_node("a", "1"), _node("b", "1200m")], pod(containers=both), "b", CPU)


def pods_on_the_node_hold_their_requests() -> Fact:
    cluster = [_node("a", "2"), _node("b", "2"), pod("old", on="a", cpu="1500m")]
    return Fact(cluster, pod(cpu="1"), "b", CPU)


def a_limit_without_a_request_is_a_request() -> Fact:
    """The API server fills it in before kube-scheduler sees the pod."""
    asks = [container(limits={"cpu": "2"})]
    return Fact([_node("a", "1"), _node("b", "2")], pod(containers=asks), "b", CPU)


def a_request_counts_and_a_higher_limit_does_not() -> Fact:
    asks = [container(cpu="1", limits={"cpu": "64"})]
    return Fact([_node("a", "900m"), _node("b", "1")], pod(containers=asks), "b", CPU)


def the_greatest_init_container_counts() -> Fact:
    asks = pod(cpu="1", initContainers=[container(cpu="3"), container(cpu="2")])
    return Fact([_node("a", "2900m"), _node("b", "3")], asks, "b", CPU)


def a_sidecar_runs_beside_the_containers() -> Fact:
    asks = pod(cpu="1", initContainers=[container(cpu="1", always=True)])
    return Fact([_node("a", "1900m"), _node("b", "2")], asks, "b", CPU)


def a_sidecar_runs_beside_the_init_containers_after_it() -> Fact:
    before = [container(cpu="1", always=True), container(cpu="2")]
    return Fact(
        [_node("a", "2900m"), _node("b", "3")], pod(cpu="1", initContainers=before), "b", CPU
    )


def a_sidecar_does_not_run_beside_the_init_containers_before_it() -> Fact:
    before = [container(cpu="2"), container(cpu="1", always=True)]
    return Fact(
        [_node("a", "1900m"), _node("b", "2")], pod(cpu="500m", initContainers=before), "b", CPU
    )


def overhead_is_added_to_what_is_greater() -> Fact:
    asks = pod(cpu="1", initContainers=[container(cpu="2")], overhead={"cpu": "500m"})
    return Fact([_node("a", "2400m"), _node("b", "2500m")], asks, "b", CPU)


def the_request_of_the_pod_counts_instead_of_those_of_its_containers() -> Fact:
    asks = pod(cpu="500m", resources={"requests": {"cpu": "2"}})
    return Fact([_node("a", "1900m"), _node("b", "2")], asks, "b", CPU)


def the_request_of_the_pod_counts_instead_of_that_of_an_init_container() -> Fact:
    asks = pod(cpu="500m", resources={"requests": {"cpu": "2"}})
    asks["spec"]["initContainers"] = [container(cpu="2")]
    return Fact([_node("a", "1900m"), _node("b", "2")], asks, "b", CPU)


def the_request_of_the_pod_says_nothing_of_other_resources() -> Fact:
    asks = pod(resources={"requests": {"cpu": "1"}})
    asks["spec"]["containers"] = [container(memory="2Gi"), container(memory="2Gi")]
    small, great = (
        node(name, room={"memory": size}) for name, size in (("a", "3Gi"), ("b", "4Gi"))
    )
    return Fact([small, great], asks, "b", "Insufficient memory")


def overhead_is_added_to_the_request_of_the_pod() -> Fact:
    asks = pod(resources={"requests": {"cpu": "2"}}, overhead={"cpu": "1"})
    return Fact([_node("a", "2900m"), _node("b", "3")], asks, "b", CPU)


def a_limit_of_the_pod_without_a_request_is_a_request() -> Fact:
    asks = pod(resources={"limits": {"cpu": "2"}})
    return Fact([_node("a", "1900m"), _node("b", "2")], asks, "b", CPU)


def a_limit_of_the_pod_is_no_request_where_containers_have_some() -> Fact:
    """The API server takes their sum for the request of the pod."""
    asks = pod(resources={"limits": {"cpu": "3"}})
    asks["spec"]["containers"] = [container(cpu="1"), container(cpu="500m")]
    return Fact([_node("a", "1400m"), _node("b", "1500m")], asks, "b", CPU)


def a_limit_of_the_pod_is_no_request_where_one_container_has_some() -> Fact:
    asks = pod(resources={"limits": {"cpu": "3"}})
    asks["spec"]["containers"] = [container(cpu="1"), container()]
    return Fact([_node("a", "900m"), _node("b", "1")], asks, "b", CPU)


def a_pod_that_is_being_made_smaller_holds_what_it_has_until_then() -> Fact:
    """In place: the kubelet has not got to it yet, and says so in the status of the container."""
    old = pod("old", on="a", cpu="500m")
    old["spec"]["containers"][0]["name"] = "main"
    has = {"requests": {"cpu": "3"}}
    state = {"name": "main", "ready": True, "restartCount": 0, "image": "none", "imageID": ""}
    old["status"] = {"phase": "Running", "containerStatuses": [{**state, "resources": has}]}
    return Fact([node("a"), node("b"), old], pod(cpu="2"), "b", CPU)


def every_pod_takes_one_place() -> Fact:
    cluster = [_node("a", "4", pods="1"), _node("b", "4", pods="2"), pod("x", on="a")]
    return Fact([*cluster, pod("y", on="b")], pod(), "b", "Too many pods")


def a_node_that_says_nothing_of_places_takes_no_pod() -> Fact:
    silent = node("a")
    del silent["status"]["allocatable"]["pods"]
    return Fact([silent, node("b")], pod(), "b", "Too many pods")


def what_a_node_does_not_have_is_none() -> Fact:
    without, plenty = node("a"), node("b", room={GPU: "2"})
    asks = pod(containers=[container(limits={GPU: "1"})])
    return Fact([without, plenty], asks, "b", f"Insufficient {GPU}")


def none_of_what_a_node_does_not_have_fits() -> Fact:
    asks = pod(containers=[container(limits={GPU: "0"}, cpu="1")])
    return Fact([node("a")], asks, "a")


def ephemeral_storage_is_a_resource() -> Fact:
    cluster = [node("a"), node("b", room={"ephemeral-storage": "20Gi"})]
    asks = pod(containers=[container(limits={"ephemeral-storage": "10Gi"})])
    return Fact(cluster, asks, "b", "Insufficient ephemeral-storage")


def a_pod_that_asks_for_nothing_fits_on_a_full_node() -> Fact:
    return Fact([_node("a", "1"), pod("old", on="a", cpu="1")], pod(), "a")


def a_pod_that_asks_for_something_else_fits_on_a_node_that_has_too_little() -> Fact:
    """Of the memory here twice as much is promised as there is; that is nobody's matter."""
    hungry = pod("old", on="a", containers=[container(memory="16Gi")])
    return Fact([node("a"), hungry], pod(cpu="1"), "a")


def a_pod_that_asks_for_a_byte_does_not() -> Fact:
    hungry = pod("old", on="a", containers=[container(memory="16Gi")])
    asks = pod(containers=[container(memory="1")])
    return Fact([node("a"), hungry, node("b")], asks, "b", "Insufficient memory")


def a_pod_that_has_ended_holds_nothing() -> Fact:
    old = ended(pod("old", on="a", cpu="1"))
    return Fact([_node("a", "1"), old], pod(cpu="1"), "a")


def a_pod_that_is_leaving_holds_its_share() -> Fact:
    old = leaving(pod("old", on="a", cpu="1"))
    return Fact([_node("a", "1"), old, _node("b", "1")], pod(cpu="1"), "b", CPU)


def a_thousandth_of_a_thousandth_is_rounded_up() -> Fact:
    """CPUs are counted in thousandths, upwards, for each container by itself."""
    asks = pod(containers=[container(cpu="500100u"), container(cpu="500100u")])
    return Fact([_node("a", "1001m"), _node("b", "1002m")], asks, "b", CPU)
