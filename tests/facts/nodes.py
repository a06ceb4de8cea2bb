"""Facts about taints, and about which nodes a pod wants. Every function is a row."""

from __future__ import annotations

from tests.facts.fact import Fact
from tests.facts.raw import PREFERRED, REQUIRED, expression, node, pod, tolerations, wants

TAINT = "untolerated taint"
CORDON = "node(s) were unschedulable"
AFFINITY = "didn't match Pod's node affinity/selector"
DEDICATED = "team=db:NoSchedule"


# ------------------------------------------------------------------------------------------- taints


def a_taint_keeps_pods_away() -> Fact:
    return Fact([node("a", taints=DEDICATED), node("b")], pod(), "b", TAINT)


def a_taint_that_throws_pods_out_keeps_them_away() -> Fact:
    return Fact([node("a", taints="team=db:NoExecute"), node("b")], pod(), "b", TAINT)


def a_taint_that_is_only_a_wish_does_not() -> Fact:
    return Fact([node("a", taints="team=db:PreferNoSchedule")], pod(), "a")


def a_toleration_names_key_value_and_effect() -> Fact:
    cluster = [node("a", taints=DEDICATED), node("b", taints="team=web:NoSchedule")]
    told = {"key": "team", "operator": "Equal", "value": "db", "effect": "NoSchedule"}
    return Fact(cluster, pod(**tolerations(told)), "a", TAINT)


def a_toleration_without_operator_means_equal() -> Fact:
    cluster = [node("a", taints=DEDICATED), node("b", taints="team=web:NoSchedule")]
    return Fact(cluster, pod(**tolerations({"key": "team", "value": "db"})), "a", TAINT)


def a_toleration_of_an_effect_is_not_one_of_the_other() -> Fact:
    cluster = [node("a", taints=DEDICATED), node("b", taints="team=db:NoExecute")]
    told = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
    return Fact(cluster, pod(**tolerations(told)), "a", TAINT)


def a_toleration_without_effect_is_one_of_every_effect() -> Fact:
    cluster = [node("a", taints=f"{DEDICATED} team=db:NoExecute")]
    return Fact(cluster, pod(**tolerations({"key": "team", "operator": "Exists"})), "a")


def a_toleration_without_key_is_one_of_everything() -> Fact:
    cluster = [node("a", taints=f"{DEDICATED} x:NoExecute")]
    return Fact(cluster, pod(**tolerations({"operator": "Exists"})), "a")


def every_taint_must_be_tolerated() -> Fact:
    cluster = [node("a", taints=f"{DEDICATED} x:NoSchedule"), node("b", taints=DEDICATED)]
    return Fact(cluster, pod(**tolerations({"key": "team", "operator": "Exists"})), "b", TAINT)


def an_end_to_the_toleration_does_not_matter() -> Fact:
    told = {"key": "x", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
    return Fact([node("a", taints="x:NoExecute")], pod(tolerations=[told]), "a")


def a_cordon_keeps_pods_away() -> Fact:
    return Fact([node("a", unschedulable=True), node("b")], pod(), "b", CORDON)


def a_cordon_can_be_tolerated() -> Fact:
    told = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    return Fact([node("a", unschedulable=True)], pod(**tolerations(told)), "a")


def a_toleration_of_another_effect_is_none_of_a_cordon() -> Fact:
    told = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoExecute"}
    return Fact([node("a", unschedulable=True), node("b")], pod(**tolerations(told)), "b", CORDON)


def whether_a_node_is_ready_does_not_matter() -> Fact:
    """Only its taints do; the controller manager sets those of a node that is not ready."""
    silent = node("a")
    silent["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return Fact([silent], pod(), "a")


def a_startup_taint_is_a_taint_like_others() -> Fact:
    """Karpenter looks through these before a node is initialized; kube-scheduler never does."""
    cluster = [node("a", taints="node.cilium.io/agent-not-ready:NoExecute"), node("b")]
    return Fact(cluster, pod(), "b", TAINT)


# ------------------------------------------------------------------------------------- wanted nodes


def a_node_selector_names_labels() -> Fact:
    cluster = [node("a", labels={"disk": "ssd"}), node("b", labels={"disk": "hdd"}), node("c")]
    return Fact(cluster, pod(nodeSelector={"disk": "ssd"}), "a", AFFINITY)


def in_asks_for_one_of_the_values() -> Fact:
    cluster = [node(name, labels={"disk": kind}) for name, kind in (("a", "x"), ("b", "y"))]
    cluster += [node("c", labels={"disk": "z"}), node("d")]
    return Fact(cluster, pod(**wants([expression("disk", "In", "x", "y")])), "a b", AFFINITY)


def not_in_is_met_by_a_node_without_the_label() -> Fact:
    cluster = [node("a", labels={"disk": "x"}), node("b", labels={"disk": "y"}), node("c")]
    return Fact(cluster, pod(**wants([expression("disk", "NotIn", "x")])), "b c", AFFINITY)


def exists_is_met_by_an_empty_value() -> Fact:
    cluster = [node("a", labels={"disk": ""}), node("b")]
    return Fact(cluster, pod(**wants([expression("disk", "Exists")])), "a", AFFINITY)


def does_not_exist_is_not() -> Fact:
    cluster = [node("a", labels={"disk": ""}), node("b")]
    return Fact(cluster, pod(**wants([expression("disk", "DoesNotExist")])), "b", AFFINITY)


def gt_and_lt_are_about_whole_numbers() -> Fact:
    cluster = [node(n, labels={"size": s}) for n, s in (("a", "9"), ("b", "10"), ("c", "2x"))]
    cluster += [node("d"), node("e", labels={"size": "9.5"}), node("f", labels={"size": ""})]
    return Fact(cluster, pod(**wants([expression("size", "Gt", "9")])), "b", AFFINITY)


def lt_is_not_met_by_a_node_without_the_label() -> Fact:
    cluster = [node("a", labels={"size": "0"}), node("b", labels={"size": "1"}), node("c")]
    return Fact(cluster, pod(**wants([expression("size", "Lt", "1")])), "a", AFFINITY)


def numbers_may_have_leading_zeros() -> Fact:
    cluster = [node("a", labels={"size": "0010"}), node("b", labels={"size": "9"})]
    return Fact(cluster, pod(**wants([expression("size", "Gt", "09")])), "a", AFFINITY)


def numbers_may_not_have_underscores_nor_more_than_64_bits() -> Fact:
    cluster = [node("a", labels={"size": "1_0"}), node("b", labels={"size": "9223372036854775808"})]
    cluster += [node("c", labels={"size": "9223372036854775807"})]
    return Fact(cluster, pod(**wants([expression("size", "Gt", "9")])), "c", AFFINITY)


def all_expressions_of_a_term_must_hold() -> Fact:
    cluster = [node("a", labels={"disk": "x"}), node("b", labels={"disk": "x", "size": "1"})]
    asks = wants([expression("disk", "In", "x"), expression("size", "Exists")])
    return Fact(cluster, pod(**asks), "b", AFFINITY)


def one_term_must_hold() -> Fact:
    cluster = [node("a", labels={"disk": "x"}), node("b", labels={"size": "1"}), node("c")]
    asks = wants([expression("disk", "In", "x")], [expression("size", "Exists")])
    return Fact(cluster, pod(**asks), "a b", AFFINITY)


def a_term_without_expressions_holds_nowhere() -> Fact:
    cluster = [node("a", labels={"disk": "x"}), node("b")]
    return Fact(cluster, pod(**wants([], [expression("disk", "In", "x")])), "a", AFFINITY)


def selector_and_affinity_must_both_hold() -> Fact:
    cluster = [node("a", labels={"disk": "x"}), node("b", labels={"disk": "x", "size": "1"})]
    asks = pod(nodeSelector={"size": "1"}, **wants([expression("disk", "In", "x")]))
    return Fact(cluster, asks, "b", AFFINITY)


def a_field_names_the_node() -> Fact:
    """A node selector that names one node has only that one looked at: the others say nothing."""
    field = {"matchFields": [expression("metadata.name", "In", "b")]}
    asks = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [field]}}}
    return Fact([node("a"), node("b")], pod(affinity=asks), "b", "didn't satisfy plugin(s)")


def a_field_may_also_name_the_node_to_keep_away_from() -> Fact:
    field = {"matchFields": [expression("metadata.name", "NotIn", "b")]}
    asks = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [field]}}}
    return Fact([node("a"), node("b")], pod(affinity=asks), "a", AFFINITY)


def fields_and_labels_of_a_term_must_both_hold() -> Fact:
    term = {
        "matchFields": [expression("metadata.name", "In", "a")],
        "matchExpressions": [expression("disk", "Exists")],
    }
    asks = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
    cluster = [node("a"), node("b", labels={"disk": "x"})]
    return Fact(cluster, pod(affinity=asks), "", AFFINITY)


def a_term_that_names_a_node_is_one_of_several() -> Fact:
    field = {"matchFields": [expression("metadata.name", "In", "a")]}
    label = {"matchExpressions": [expression("disk", "Exists")]}
    asks = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [field, label]}}}
    cluster = [node("a"), node("b", labels={"disk": "x"}), node("c")]
    return Fact(cluster, pod(affinity=asks), "a b", AFFINITY)


def a_wish_for_a_node_refuses_none() -> Fact:
    term = {"weight": 100, "preference": {"matchExpressions": [expression("disk", "Exists")]}}
    return Fact([node("a")], pod(affinity={"nodeAffinity": {PREFERRED: [term]}}), "a")
