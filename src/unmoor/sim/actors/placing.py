"""Which node gets this pod? The engine's judge says where it may run, kube-scheduler's scores where
it runs best.

Only what a pod requires keeps it from a node; what it prefers counts in the score. What others have
to say is counted over all pods only for a pod that asks for it; for all others, only the nodes are
looked at on which somebody keeps pods away.

Must not: bind, or wait for anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from unmoor.engine import judge, oracle
from unmoor.engine.company import Company, company_of, counts_for
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.selection import term_of
from unmoor.engine.wish import Spread, Wish, levels_of, spread_of, wish_of
from unmoor.model import names, resources, taint
from unmoor.model.kinds import REPLICA_SETS, STATEFUL_SETS
from unmoor.model.pod import Pod
from unmoor.model.resources import PODS
from unmoor.model.scheduling import (
    SCHEDULE_ANYWAY,
    PodAffinity,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
)
from unmoor.model.selector import LabelSelector, SelectorError
from unmoor.model.snapshot import View
from unmoor.model.workload import ReplicaSet, StatefulSet
from unmoor.sim.actors import scoring
from unmoor.sim.actors.floor import Floor, Site
from unmoor.sim.actors.scoring import Score

BY_DEFAULT: tuple[tuple[str, int], ...] = ((names.HOSTNAME, 3), (names.ZONE, 5))
"""Key and maxSkew by which pods of one owner are spread where they say nothing themselves."""
FILTERS: tuple[Constraint, ...] = (
    Constraint.UNSCHEDULABLE,
    Constraint.TAINT,
    Constraint.NODE_SELECTOR,
    Constraint.NODE_AFFINITY,
    Constraint.HOST_PORT,
    Constraint.RESOURCES,
    Constraint.DISK,
    Constraint.VOLUME_LIMIT,
    Constraint.VOLUME,
    Constraint.SPREAD,
    Constraint.POD_AFFINITY,
    Constraint.POD_ANTI_AFFINITY,
)
"""What a node can refuse for, in the order of kube-scheduler's filters: the first one speaks."""


class No(msgspec.Struct, frozen=True):
    """Why there is no node: how many refuse for which reason, or what is wrong with the pod."""

    nodes: int
    reasons: dict[str, int] = {}
    problem: str = ""

    def __str__(self) -> str:
        """``0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.``"""
        if not self.nodes:
            return "no nodes available to schedule pods"
        parts = sorted(f"{count} {reason}" for reason, count in self.reasons.items())
        return f"0/{self.nodes} nodes are available: {self.problem or ', '.join(parts)}."


def musts_of(pod: Pod, view: View) -> Wish:
    """Return what a pod wants once it has given up every preference."""
    return wish_of(pod, view, levels_of(pod, has_soft_taints=True), has_soft_taints=True)


def place(wish: Wish, floor: Floor) -> str | No:
    """Return the name of the best node that takes the pod, or why none does."""
    sites = list(floor.sites.values())
    own = judge.own_refusals(wish)
    if own:
        problem = ", ".join(_problem(one) for one in own)
        return No(len(sites), problem=problem)
    company = _company(wish, floor)
    may = [
        site
        for site in sites
        if resources.fits(wish.requests, site.free)
        and not oracle.standing_refusals(wish, company, site)
    ]
    if not may:
        return No(len(sites), _reasons(wish, company, sites))
    if len(may) == 1:
        return may[0].name
    return scoring.best_of([site.name for site in may], scores_of(wish, may, floor))


def scores_of(wish: Wish, sites: Sequence[Site], floor: Floor) -> dict[Score, scoring.Scores]:
    """Return how good each of the nodes is for the pod, by each of the scores, unweighted."""
    pod = wish.pod
    mine = scoring.counted_coming(pod)
    fit, balanced = [], []
    for site in sites:
        allocatable = site.place.allocatable
        counted = resources.add(site.counted, mine)
        fit.append(scoring.least_allocated(counted, allocatable))
        balanced.append(scoring.balanced(site.requested, wish.requests, allocatable))
    found: dict[Score, scoring.Scores] = {Score.FIT: fit, Score.BALANCED: balanced}
    more: tuple[tuple[Score, Callable[[Wish, Sequence[Site], Floor], list[int]]], ...] = (
        (Score.SPREAD, _spread),
        (Score.POD_AFFINITY, _pulled),
        (Score.NODE_AFFINITY, _liked),
        (Score.TAINTS, _untainted),
    )
    return found | {what: score(wish, sites, floor) for what, score in more}


def _company(wish: Wish, floor: Floor) -> Company:
    sites: list[Site] = list(floor.sites.values())
    is_exclusive = any(need.is_exclusive for need in wish.needs)
    if not (wish.spreads or wish.near or wish.apart or is_exclusive):
        sites = [site for site in sites if site.is_guarded]
    return company_of(wish, floor.view, sites, {})


def _reasons(wish: Wish, company: Company, sites: Sequence[Site]) -> dict[str, int]:
    found: dict[str, int] = {}
    for site in sites:
        for words in said_of(oracle.standing_refusals(wish, company, site)):
            found[words] = found.get(words, 0) + 1
    return found


def said_of(refusals: Sequence[Refusal]) -> Iterator[str]:
    """What the first filter that refuses says: all that there is too little of, or its one reason.

    kube-scheduler asks no further filter about a node that one has refused.
    """
    first = min((one.constraint for one in refusals), key=FILTERS.index)
    if first is not Constraint.RESOURCES:
        yield first.said
        return
    for name in (one.subject for one in refusals if one.constraint is first):
        yield "Too many pods" if name == PODS else f"Insufficient {name}"


def _problem(one: Refusal) -> str:
    if one.constraint is Constraint.VOLUME:
        return f'persistentvolumeclaim "{one.subject}": {one.missing}'
    return str(one)


def _spread(wish: Wish, sites: Sequence[Site], floor: Floor) -> list[int]:
    pod = wish.pod
    given = pod.spec.topology_spread_constraints
    spreads = [
        spread_of(pod, one, is_hard=False)
        for one in given or _by_default(pod, floor.view)
        if one.when_unsatisfiable == SCHEDULE_ANYWAY and one.topology_key
    ]
    keys = [one.key for one in spreads]
    known = [site for site in sites if not given or all(key in site.place.labels for key in keys)]
    if not spreads or not known:
        return [0] * len(sites)
    counts = [_domains(wish, one, known, floor, keys if given else ()) for one in spreads]
    weights = [
        scoring.spread_weight(len(known if one.key == names.HOSTNAME else _values(one.key, known)))
        for one in spreads
    ]
    names_known = {site.name for site in known}
    crowds: list[int | None] = []
    for site in sites:
        if site.name not in names_known:
            crowds.append(None)
            continue
        parts = [
            (count[domain], one.max_skew, weight)
            for one, count, weight in zip(spreads, counts, weights, strict=True)
            if (domain := site.place.labels.get(one.key)) is not None
        ]
        crowds.append(scoring.crowding(parts))
    return scoring.less_is_more(crowds)


def _domains(
    wish: Wish, spread: Spread, known: Sequence[Site], floor: Floor, keys: Sequence[str]
) -> dict[str, int]:
    """Pods in each domain in which a node is that may take the pod; ``keys``: to be counted."""
    found = {domain: 0 for domain in _values(spread.key, known) if domain is not None}
    selector = spread.selection.selector
    if selector is None or selector.is_empty:
        return found
    for name, pods in floor.count(spread.selection, with_leaving=False).items():
        site = floor.sites[name]
        domain = site.place.labels.get(spread.key)
        if domain not in found or not all(key in site.place.labels for key in keys):
            continue
        if counts_for(wish, spread, site):
            found[domain] += pods
    return found


def _values(key: str, sites: Iterable[Site]) -> dict[str | None, None]:
    """The different values of a label; to have none is one of them."""
    return dict.fromkeys(site.place.labels.get(key) for site in sites)


def _by_default(pod: Pod, view: View) -> tuple[TopologySpreadConstraint, ...]:
    """As kube-scheduler spreads by itself, Services aside: pods of one owner."""
    selector = _selector_of_owner(pod, view)
    if selector is None or selector.is_empty:
        return ()
    return tuple(
        TopologySpreadConstraint(
            topology_key=key,
            max_skew=max_skew,
            when_unsatisfiable=SCHEDULE_ANYWAY,
            label_selector=selector,
        )
        for key, max_skew in BY_DEFAULT
    )


def _selector_of_owner(pod: Pod, view: View) -> LabelSelector | None:
    controller = pod.metadata.controller
    owner: ReplicaSet | StatefulSet | None = None
    if controller is not None and controller.kind == REPLICA_SETS.kind:
        owner = view.get(REPLICA_SETS, controller.name, pod.namespace)
    elif controller is not None and controller.kind == STATEFUL_SETS.kind:
        owner = view.get(STATEFUL_SETS, controller.name, pod.namespace)
    return None if owner is None else owner.spec.selector


def _pulled(wish: Wish, sites: Sequence[Site], floor: Floor) -> list[int]:
    """Preferred terms of the pod, and what the terms of those that run are worth to it."""
    pod, affinity = wish.pod, wish.pod.spec.affinity
    near = (affinity and affinity.pod_affinity) or PodAffinity()
    apart = (affinity and affinity.pod_anti_affinity) or PodAffinity()
    pulls: dict[str, Counter[str]] = {}

    def pull(site: Site, key: str, weight: int) -> None:
        domain = site.place.labels.get(key)
        if domain is not None:
            pulls.setdefault(key, Counter())[domain] += weight

    for terms, sign in ((near.preferred, 1), (apart.preferred, -1)):
        for one in terms:
            term = term_of(pod, one.pod_affinity_term, floor.view)
            for name, pods in floor.count(term.selection, with_leaving=True).items():
                pull(floor.sites[name], term.key, sign * one.weight * pods)
    for site in floor.sites.values():
        for term, weight in site.pulls:
            if term.selection.has(pod):
                pull(site, term.key, weight)
    sums = [
        sum(
            worth[site.place.labels[key]]
            for key, worth in pulls.items()
            if key in site.place.labels
        )
        for site in sites
    ]
    return scoring.between(sums)


def _liked(wish: Wish, sites: Sequence[Site], floor: Floor) -> list[int]:
    del floor
    affinity = wish.pod.spec.affinity
    node = affinity.node_affinity if affinity is not None else None
    preferred = node.preferred if node is not None else ()
    sums = [sum(one.weight for one in preferred if _is_liked(one, site)) for site in sites]
    return scoring.of_the_most(sums)


def _is_liked(one: PreferredSchedulingTerm, site: Site) -> bool:
    try:
        return one.preference.matches(site.place.labels, site.name)
    except SelectorError:
        return False


def _untainted(wish: Wish, sites: Sequence[Site], floor: Floor) -> list[int]:
    del floor
    tolerations = wish.pod.spec.tolerations
    against = [
        len(judge.taint_refusals(tolerations, site.place.taints, (taint.PREFER_NO_SCHEDULE,)))
        for site in sites
    ]
    return scoring.the_fewer_the_better(against)
