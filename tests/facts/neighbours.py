"""Facts about pod affinity and anti-affinity. Every function is a row.

Unless it says otherwise, a term is about zones and selects pods with app=db.
"""

from __future__ import annotations

from tests.facts.fact import Fact
from tests.facts.raw import (
    HOSTNAME,
    PREFERRED,
    apart,
    ended,
    expression,
    leaving,
    namespace,
    near,
    node,
    pod,
    selecting,
    term,
)
from unmoor.model.base import JSON

AFFINITY = "didn't match pod affinity rules"
ANTI = "didn't match pod anti-affinity rules"
SYMMETRIC = "didn't satisfy existing pods anti-affinity rules"
DB = {"app": "db"}


def _zones() -> list[JSON]:
    """Nodes a and b in zone 1, c in zone 2, d in none."""
    where = (("a", "1"), ("b", "1"), ("c", "2"), ("d", ""))
    return [node(name, zone=zone) for name, zone in where]


def _db(on: str, **more: object) -> JSON:
    return pod("old", on=on, labels=DB, **more)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------- affinity


def near_means_in_the_same_zone() -> Fact:
    return Fact([*_zones(), _db("a")], pod(**near(term())), "a b", AFFINITY)


def near_may_mean_on_the_same_node() -> Fact:
    return Fact([*_zones(), _db("a")], pod(**near(term(HOSTNAME))), "a", AFFINITY)


def near_nobody_is_nowhere() -> Fact:
    return Fact(_zones(), pod(**near(term())), "", AFFINITY)


def near_a_pod_on_a_node_without_a_zone_is_nowhere() -> Fact:
    return Fact([*_zones(), _db("d")], pod(**near(term())), "", AFFINITY)


def the_first_of_pods_that_want_each_other_may_go_wherever_there_are_zones() -> Fact:
    return Fact(_zones(), pod(labels=DB, **near(term())), "a b c", AFFINITY)


def the_second_goes_to_the_first() -> Fact:
    cluster = [*_zones(), _db("c", **near(term()))]
    return Fact(cluster, pod(labels=DB, **near(term())), "c", AFFINITY)


def a_pod_that_is_nowhere_near_does_not_make_one_the_first_no_more() -> Fact:
    """What it looks for is on d, which has no zone, so it counts as none and this one is first."""
    return Fact([*_zones(), _db("d")], pod(labels=DB, **near(term())), "a b c", AFFINITY)


def the_first_must_match_all_of_its_own_terms() -> Fact:
    terms = near(term(), term(selector=selecting(app="web")))
    return Fact(_zones(), pod(labels=DB, **terms), "", AFFINITY)


def a_pod_that_matches_one_of_several_terms_does_not_count_at_all() -> Fact:
    """A pod of another is near only if it matches every term: two pods, each for one, do not do."""
    cluster = [*_zones(), _db("a"), pod("web", on="b", labels={"app": "web"})]
    return Fact(cluster, pod(**near(term(), term(selector=selecting(app="web")))), "", AFFINITY)


def one_pod_may_match_all_terms() -> Fact:
    cluster = [*_zones(), pod("both", on="a", labels={**DB, "tier": "1"})]
    asks = near(term(), term(HOSTNAME, selecting(tier="1")))
    return Fact(cluster, pod(**asks), "a", AFFINITY)


def without_a_selector_no_pod_is_near() -> Fact:
    bare = term()
    del bare["labelSelector"]
    return Fact([*_zones(), _db("a")], pod(**near(bare)), "", AFFINITY)


def an_empty_selector_is_met_by_every_pod() -> Fact:
    return Fact([*_zones(), pod("old", on="c")], pod(**near(term(selector={}))), "c", AFFINITY)


def a_selector_may_be_made_of_expressions() -> Fact:
    selector = {"matchExpressions": [expression("app", "In", "db", "cache")]}
    return Fact([*_zones(), _db("c")], pod(**near(term(selector=selector))), "c", AFFINITY)


def a_pod_that_is_leaving_is_near() -> Fact:
    """Unlike in spreading, where it does not count any more."""
    return Fact([*_zones(), leaving(_db("c"))], pod(**near(term())), "c", AFFINITY)


def a_pod_that_has_ended_is_not() -> Fact:
    return Fact([*_zones(), ended(_db("c"))], pod(**near(term())), "", AFFINITY)


def a_wish_to_be_near_refuses_none() -> Fact:
    wish = [{"weight": 100, "podAffinityTerm": term()}]
    return Fact(_zones(), pod(affinity={"podAffinity": {PREFERRED: wish}}), "a b c d")


# --------------------------------------------------------------------------------------- namespaces


def _elsewhere() -> list[JSON]:
    spaces = [namespace("other", team="x"), namespace("third", team="y")]
    return [*_zones(), *spaces, _db("c", namespace="other")]


def the_own_namespace_is_meant() -> Fact:
    return Fact(_elsewhere(), pod(**near(term())), "", AFFINITY)


def namespaces_may_be_named() -> Fact:
    return Fact(_elsewhere(), pod(**near(term(namespaces=["other"]))), "c", AFFINITY)


def the_own_namespace_is_not_meant_then() -> Fact:
    cluster = [*_elsewhere(), pod("mine", on="a", labels=DB)]
    return Fact(cluster, pod(**near(term(namespaces=["other"]))), "c", AFFINITY)


def namespaces_may_be_selected() -> Fact:
    asks = term(namespaceSelector=selecting(team="x"))
    return Fact(_elsewhere(), pod(**near(asks)), "c", AFFINITY)


def namespaces_of_another_label_are_not() -> Fact:
    asks = term(namespaceSelector=selecting(team="y"))
    return Fact(_elsewhere(), pod(**near(asks)), "", AFFINITY)


def an_empty_selector_means_every_namespace() -> Fact:
    return Fact(_elsewhere(), pod(**near(term(namespaceSelector={}))), "c", AFFINITY)


def named_and_selected_namespaces_are_both_meant() -> Fact:
    asks = term(namespaces=["other"], namespaceSelector=selecting(team="y"))
    return Fact(_elsewhere(), pod(**near(asks)), "c", AFFINITY)


def a_namespace_has_its_name_as_a_label() -> Fact:
    asks = term(namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "other"}})
    return Fact(_elsewhere(), pod(**near(asks)), "c", AFFINITY)


# ------------------------------------------------------------------------------------ anti-affinity


def apart_means_in_another_zone() -> Fact:
    return Fact([*_zones(), _db("a")], pod(**apart(term())), "c d", ANTI)


def a_node_without_a_zone_is_apart_from_everything() -> Fact:
    return Fact([*_zones(), _db("d")], pod(**apart(term())), "a b c d")


def one_term_is_enough_to_be_kept_apart() -> Fact:
    """Unlike in affinity, each term is looked at by itself."""
    cluster = [*_zones(), _db("a"), pod("web", on="c", labels={"app": "web"})]
    return Fact(cluster, pod(**apart(term(), term(selector=selecting(app="web")))), "d", ANTI)


def a_pod_is_not_kept_apart_from_itself() -> Fact:
    return Fact(_zones(), pod(labels=DB, **apart(term())), "a b c d")


def an_anti_affinity_holds_for_those_who_come_later() -> Fact:
    keeps = pod("old", on="a", **apart(term()))
    return Fact([*_zones(), keeps], pod(labels=DB), "c d", SYMMETRIC)


def an_affinity_does_not() -> Fact:
    return Fact([*_zones(), pod("old", on="a", **near(term()))], pod(labels=DB), "a b c d")


def the_namespace_of_those_who_were_there_is_meant() -> Fact:
    keeps = pod("old", on="a", namespace="other", **apart(term()))
    return Fact([*_zones(), keeps], pod(labels=DB), "a b c d")


def those_who_were_there_may_mean_the_new_namespace() -> Fact:
    asks = term(namespaceSelector=selecting(team="x"))
    keeps = pod("old", on="a", **apart(asks))
    spaces = [namespace("other", team="x")]
    return Fact([*_zones(), *spaces, keeps], pod(labels=DB, namespace="other"), "c d", SYMMETRIC)


def a_pod_that_is_leaving_keeps_others_apart() -> Fact:
    keeps = leaving(pod("old", on="a", **apart(term())))
    return Fact([*_zones(), keeps], pod(labels=DB), "c d", SYMMETRIC)


def a_pod_that_has_ended_does_not() -> Fact:
    keeps = ended(pod("old", on="a", **apart(term())))
    return Fact([*_zones(), keeps], pod(labels=DB), "a b c d")


def a_wish_to_be_apart_refuses_none() -> Fact:
    wish = [{"weight": 100, "podAffinityTerm": term()}]
    asks = pod(affinity={"podAntiAffinity": {PREFERRED: wish}})
    return Fact([*_zones(), _db("a")], asks, "a b c d")


def a_wish_of_those_who_were_there_refuses_none() -> Fact:
    wish = [{"weight": 100, "podAffinityTerm": term()}]
    keeps = pod("old", on="a", affinity={"podAntiAffinity": {PREFERRED: wish}})
    return Fact([*_zones(), keeps], pod(labels=DB), "a b c d")


# ---------------------------------------------------------------------- matchLabelKeys, mismatch...


def pods_of_the_same_revision_are_near() -> Fact:
    """The API server writes the pod's own value into the selector when the pod is created."""
    cluster = [*_zones(), pod("x", on="a", labels={**DB, "rev": "1"})]
    cluster += [pod("y", on="c", labels={**DB, "rev": "2"})]
    asks = near(term(matchLabelKeys=["rev"]))
    return Fact(cluster, pod(labels={"rev": "2"}, **asks), "c", AFFINITY)


def a_key_that_the_pod_does_not_have_says_nothing() -> Fact:
    cluster = [*_zones(), pod("x", on="a", labels={**DB, "rev": "1"})]
    return Fact(cluster, pod(**near(term(matchLabelKeys=["rev"]))), "a b", AFFINITY)


def pods_of_another_revision_are_kept_apart() -> Fact:
    cluster = [*_zones(), pod("x", on="a", labels={**DB, "rev": "1"})]
    cluster += [pod("y", on="c", labels={**DB, "rev": "2"})]
    asks = apart(term(mismatchLabelKeys=["rev"]))
    return Fact(cluster, pod(labels={"rev": "2"}, **asks), "c d", ANTI)


def pods_without_the_label_are_of_another_revision() -> Fact:
    """A NotIn is met by an absent label."""
    cluster = [*_zones(), _db("a")]
    asks = apart(term(mismatchLabelKeys=["rev"]))
    return Fact(cluster, pod(labels={"rev": "2"}, **asks), "c d", ANTI)
