"""Facts about topology spread constraints. Every function is a row.

Unless it says otherwise, a constraint is hard, of skew 1, over zones, and counts app=web.
"""

from __future__ import annotations

from tests.facts.fact import Fact
from tests.facts.raw import (
    HOSTNAME,
    ZONE,
    ended,
    expression,
    leaving,
    namespace,
    node,
    pod,
    spread,
    spreads,
    wants,
)
from unmoor.model.base import JSON

SKEW = "didn't match pod topology spread constraints"
NO_LABEL = "didn't match pod topology spread constraints (missing required label)"
WEB = {"app": "web"}


def _zones() -> list[JSON]:
    """Node a in zone 1, b in 2, c in 3."""
    return [node(name, zone=zone) for name, zone in (("a", "1"), ("b", "2"), ("c", "3"))]


def _web(name: str, on: str, **more: object) -> JSON:
    return pod(name, on=on, labels=WEB, **more)  # type: ignore[arg-type]


def _new(*constraints: JSON, **spec: object) -> JSON:
    return pod("new", labels=WEB, **spreads(*constraints), **spec)  # type: ignore[arg-type]


def the_first_pod_may_go_anywhere() -> Fact:
    return Fact(_zones(), _new(spread()), "a b c")


def the_skew_is_counted_from_the_emptiest_zone() -> Fact:
    return Fact([*_zones(), _web("x", "a"), _web("y", "b")], _new(spread()), "c", SKEW)


def a_greater_skew_leaves_more_room() -> Fact:
    cluster = [*_zones(), _web("x", "a"), _web("y", "b"), _web("z", "b")]
    return Fact(cluster, _new(spread(maxSkew=2)), "a c", SKEW)


def a_pod_that_does_not_count_itself_may_go_where_the_skew_is_already_one() -> Fact:
    cluster = [*_zones(), _web("x", "a"), _web("y", "b"), _web("z", "b")]
    return Fact(cluster, pod("new", labels={"app": "job"}, **spreads(spread())), "a c", SKEW)


def a_node_without_the_label_takes_none() -> Fact:
    return Fact([*_zones(), node("d")], _new(spread()), "a b c", NO_LABEL)


def pods_on_a_node_without_the_label_do_not_count() -> Fact:
    cluster = [*_zones(), node("d"), _web("x", "d"), _web("y", "d")]
    return Fact(cluster, _new(spread()), "a b c", NO_LABEL)


def over_hosts_the_emptiest_host_counts() -> Fact:
    """Karpenter takes the least of hosts to be none, as it could always make one."""
    cluster = [node("a"), node("b"), _web("x", "a"), _web("y", "b")]
    return Fact(cluster, _new(spread(HOSTNAME)), "a b")


def over_hosts_a_node_without_that_label_takes_none() -> Fact:
    """Kubelets set it; a node that somebody has made by hand may lack it."""
    bare = node("b")
    del bare["metadata"]["labels"][HOSTNAME]
    return Fact([node("a"), bare], _new(spread(HOSTNAME)), "a", NO_LABEL)


def a_label_of_the_host_may_differ_from_the_name_of_the_node() -> Fact:
    cluster = [node("a", labels={HOSTNAME: "x"}), node("b", labels={HOSTNAME: "x"}), node("c")]
    return Fact([*cluster, _web("w", "a")], _new(spread(HOSTNAME)), "c", SKEW)


def pods_of_other_namespaces_do_not_count() -> Fact:
    other = [namespace("other"), _web("x", "a", namespace="other")]
    return Fact([*_zones(), *other], _new(spread()), "a b c")


def pods_that_have_ended_or_are_leaving_do_not_count() -> Fact:
    gone = [ended(_web("x", "a")), leaving(_web("y", "b"))]
    return Fact([*_zones(), *gone], _new(spread()), "a b c")


def without_a_selector_no_pod_counts() -> Fact:
    """Not even the pod itself, so that any skew is allowed."""
    constraint = spread()
    del constraint["labelSelector"]
    return Fact([*_zones(), _web("x", "a")], _new(constraint), "a b c")


def an_empty_selector_counts_no_pod_either() -> Fact:
    """Everywhere else in Kubernetes an empty selector is met by everything; here by nothing."""
    cluster = [*_zones(), pod("x", on="a"), _web("y", "b"), _web("z", "b")]
    return Fact(cluster, _new(spread(selector={})), "a b c")


def a_selector_may_be_made_of_expressions() -> Fact:
    cluster = [*_zones(), _web("x", "a"), pod("y", on="b", labels={"app": "job"})]
    selector = {"matchExpressions": [expression("app", "NotIn", "job")]}
    return Fact(cluster, _new(spread(selector=selector)), "b c", SKEW)


def a_wish_to_spread_refuses_none() -> Fact:
    wish = spread(whenUnsatisfiable="ScheduleAnyway")
    return Fact([*_zones(), _web("x", "a"), _web("y", "a")], _new(wish), "a b c")


def all_constraints_must_hold() -> Fact:
    cluster = [node("a", zone="1"), node("b", zone="1"), node("c", zone="2"), node("d", zone="2")]
    cluster += [_web("x", "a"), _web("y", "b"), _web("z", "c")]
    return Fact(cluster, _new(spread(), spread(HOSTNAME)), "d", SKEW)


def a_node_must_have_the_labels_of_all_constraints_to_be_counted() -> Fact:
    """The pods on d, which has no zone, do not count over hosts either."""
    cluster = [node("a", zone="1"), node("b", zone="2"), node("d"), _web("x", "a"), _web("y", "b")]
    return Fact(cluster, _new(spread(), spread(HOSTNAME)), "a b", NO_LABEL)


# --------------------------------------------------------------------------------------- minDomains


def too_few_zones_are_as_an_empty_one() -> Fact:
    cluster = [*_zones()[:2], _web("x", "a")]
    return Fact(cluster, _new(spread(minDomains=3)), "b", SKEW)


def too_few_zones_that_are_all_full_refuse() -> Fact:
    cluster = [*_zones()[:2], _web("x", "a"), _web("y", "b")]
    return Fact(cluster, _new(spread(minDomains=3)), "", SKEW)


def enough_zones_are_counted_as_ever() -> Fact:
    cluster = [*_zones()[:2], _web("x", "a"), _web("y", "b")]
    return Fact(cluster, _new(spread(minDomains=2)), "a b")


# ----------------------------------------------------------------------------------- matchLabelKeys


def pods_of_another_revision_do_not_count() -> Fact:
    cluster = [*_zones(), pod("x", on="a", labels={**WEB, "rev": "1"})]
    asks = pod("new", labels={**WEB, "rev": "2"}, **spreads(spread(matchLabelKeys=["rev"])))
    return Fact(cluster, asks, "a b c")


def pods_of_the_same_revision_count() -> Fact:
    cluster = [*_zones(), pod("x", on="a", labels={**WEB, "rev": "2"})]
    asks = pod("new", labels={**WEB, "rev": "2"}, **spreads(spread(matchLabelKeys=["rev"])))
    return Fact(cluster, asks, "b c", SKEW)


def a_key_that_the_pod_does_not_have_says_nothing() -> Fact:
    cluster = [*_zones(), pod("x", on="a", labels={**WEB, "rev": "1"})]
    return Fact(cluster, _new(spread(matchLabelKeys=["rev"])), "b c", SKEW)


# -------------------------------------------------------------------------------- which nodes count


def zones_that_the_pod_may_not_go_to_are_none_of_the_least_number() -> Fact:
    cluster = [*_zones(), _web("x", "a"), _web("y", "b")]
    asks = _new(spread(minDomains=3), **wants([expression(ZONE, "In", "1", "2")]))
    return Fact(cluster, asks, "", SKEW)


def zones_that_the_pod_may_not_go_to_do_not_count() -> Fact:
    """By nodeAffinityPolicy Honor, the default: empty zone 3 is not asked for its number."""
    cluster = [*_zones(), _web("x", "a"), _web("y", "b")]
    asks = _new(spread(), **wants([expression(ZONE, "In", "1", "2")]))
    return Fact(cluster, asks, "a b", "node affinity/selector")


def a_node_selector_leaves_zones_out_too() -> Fact:
    cluster = [node("a", zone="1", labels={"disk": "x"}), *_zones()[1:], _web("x", "a")]
    return Fact(cluster, _new(spread(), nodeSelector={"disk": "x"}), "a", "node affinity/selector")


def pods_on_nodes_that_the_pod_may_not_go_to_do_not_count() -> Fact:
    """Two nodes in zone 1, of which the pod wants one; the pods on the other are not seen."""
    want = {"disk": "x"}
    cluster = [
        node("a", zone="1"),
        node("b", zone="1", labels=want),
        node("c", zone="2", labels=want),
    ]
    cluster += [_web("x", "a"), _web("y", "a")]
    return Fact(cluster, _new(spread(), nodeSelector=want), "b c", "node affinity/selector")


def zones_that_the_pod_may_not_go_to_count_if_asked() -> Fact:
    cluster = [*_zones(), _web("x", "a"), _web("y", "b")]
    asks = _new(spread(nodeAffinityPolicy="Ignore"), **wants([expression(ZONE, "In", "1", "2")]))
    return Fact(cluster, asks, "", SKEW)


def tainted_nodes_count() -> Fact:
    """By nodeTaintsPolicy Ignore, the default: zone 3 has no pod and takes none."""
    cluster = [*_zones()[:2], node("c", zone="3", taints="x:NoSchedule")]
    return Fact([*cluster, _web("x", "a"), _web("y", "b")], _new(spread()), "", SKEW)


def tainted_nodes_do_not_count_if_asked() -> Fact:
    cluster = [*_zones()[:2], node("c", zone="3", taints="x:NoSchedule")]
    asks = _new(spread(nodeTaintsPolicy="Honor"))
    return Fact([*cluster, _web("x", "a"), _web("y", "b")], asks, "a b", "untolerated taint")


def tolerated_nodes_count_then() -> Fact:
    cluster = [*_zones()[:2], node("c", zone="3", taints="x:NoSchedule")]
    told = [{"key": "x", "operator": "Exists"}]
    asks = _new(spread(nodeTaintsPolicy="Honor"), tolerations=told)
    return Fact([*cluster, _web("x", "a"), _web("y", "b")], asks, "c", SKEW)


def a_cordoned_node_counts_even_then() -> Fact:
    """A cordon is no taint of the node's own; the controller manager adds one, and here is none."""
    cluster = [*_zones()[:2], node("c", zone="3", unschedulable=True)]
    asks = _new(spread(nodeTaintsPolicy="Honor"))
    return Fact([*cluster, _web("x", "a"), _web("y", "b")], asks, "", SKEW)


def a_full_node_counts() -> Fact:
    """Whether the pod finds room there is not asked."""
    cluster = [*_zones()[:2], node("c", zone="3", room={"cpu": "100m"})]
    asks = _new(spread(), containers=[{"resources": {"requests": {"cpu": "1"}}}])
    return Fact([*cluster, _web("x", "a"), _web("y", "b")], asks, "", SKEW)


def other_keys_than_zone_and_host_are_as_good() -> Fact:
    cluster = [node(name, labels={"rack": rack}) for name, rack in (("a", "1"), ("b", "2"))]
    return Fact([*cluster, _web("x", "a")], _new(spread("rack")), "b", SKEW)


def an_unknown_key_refuses_every_node() -> Fact:
    return Fact(_zones(), _new(spread("rack")), "", NO_LABEL)
