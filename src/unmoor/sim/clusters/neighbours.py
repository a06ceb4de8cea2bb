"""Which pods may be beside which? Counts of pods by domain, one watch for each rule that needs one.

All pods of an app are alike, so rules are between apps: which apps a term selects is found once.
Spreading, nearness and distance that are required are kept to; preferences are not looked at.

Must not: choose a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from unmoor.model import names, selector, taint
from unmoor.model.pod import Pod
from unmoor.model.scheduling import DO_NOT_SCHEDULE, HONOR, IGNORE, PodAffinityTerm
from unmoor.model.scheduling import TopologySpreadConstraint as Spread
from unmoor.model.selector import LabelSelector, LabelSelectorRequirement
from unmoor.model.taint import Taint
from unmoor.sim.clusters.apps import App, namespace_labels
from unmoor.sim.clusters.nodes import Site


class Over(msgspec.Struct, frozen=True):
    """The nodes that count for a constraint, and how many domains they are."""

    nodes: frozenset[str]
    domains: int


class Watch(msgspec.Struct):
    """How many pods of some apps are in each domain of a key, as far as there are any."""

    key: str
    over: Over | None = None
    skew: int = 0
    least: int = 0
    is_own: bool = False
    """The pod that is placed counts itself."""
    counts: Counter[str] = msgspec.field(default_factory=Counter)

    def note(self, site: Site, change: int) -> None:
        """One pod more or less."""
        domain = site.labels.get(self.key)
        if domain is None or (self.over is not None and site.name not in self.over.nodes):
            return
        self.counts[domain] += change
        if not self.counts[domain]:
            del self.counts[domain]

    def at(self, site: Site) -> int:
        """How many are where this site is."""
        return self.counts[site.labels.get(self.key, "")]

    def is_even(self, site: Site) -> bool:
        """True when one pod more here keeps within the skew."""
        domain = site.labels.get(self.key)
        if domain is None or self.over is None:
            return False
        is_somewhere_empty = len(self.counts) < self.over.domains
        if is_somewhere_empty or self.over.domains < self.least:
            lowest = 0
        else:
            lowest = min(self.counts.values(), default=0)
        return self.counts[domain] + self.is_own - lowest <= self.skew


class Rules(msgspec.Struct):
    """What one app asks of where its pods go."""

    spreads: list[Watch] = []
    near: list[Watch] = []
    far: list[Watch] = []
    bootstraps: bool = False
    """Its pods are near to each other: the first one may go anywhere."""


class Neighbours:
    """Every app's rules, kept up to date as pods come and go."""

    def __init__(self, apps: Sequence[App], pods: Sequence[Pod], sites: Sequence[Site]) -> None:
        """``pods``: one of each app, in their order."""
        self._apps, self._pods, self._sites = apps, pods, sites
        self._by_label: dict[tuple[str, str], list[int]] = {}
        for number, app in enumerate(apps):
            for pair in app.labels.items():
                self._by_label.setdefault(pair, []).append(number)
        self._rules = [Rules([], [], []) for _ in apps]
        self._watched_by: list[list[Watch]] = [[] for _ in apps]
        self._overs: dict[tuple[object, ...], Over] = {}
        for number in range(len(apps)):
            self._read(number)

    def admits(self, number: int, site: Site) -> bool:
        """True when one more pod of this app may go there."""
        rules = self._rules[number]
        if any(watch.at(site) for watch in rules.far):
            return False
        if not all(watch.is_even(site) for watch in rules.spreads):
            return False
        if not rules.near or all(watch.at(site) for watch in rules.near):
            return True
        is_first = not any(watch.counts.total() for watch in rules.near)
        has_keys = all(watch.key in site.labels for watch in rules.near)
        return rules.bootstraps and is_first and has_keys

    def closes_zone(self, number: int, site: Site) -> bool:
        """True when it may go nowhere in the zone of this site."""
        rules = self._rules[number]
        return any(watch.at(site) for watch in rules.far if watch.key == names.ZONE) or not all(
            watch.is_even(site) for watch in rules.spreads if watch.key == names.ZONE
        )

    def note(self, number: int, site: Site, change: int = 1) -> None:
        """A pod of this app has come to a site, or has left it."""
        for watch in self._watched_by[number]:
            watch.note(site, change)

    def _read(self, number: int) -> None:
        pod, rules = self._pods[number], self._rules[number]
        for one in pod.spec.topology_spread_constraints:
            if one.when_unsatisfiable == DO_NOT_SCHEDULE:
                self._read_spread(number, one)
        affinity = pod.spec.affinity
        if affinity is None:
            return
        if affinity.pod_affinity is not None and affinity.pod_affinity.required:
            self._read_near(number, affinity.pod_affinity.required)
        if affinity.pod_anti_affinity is not None:
            for term in affinity.pod_anti_affinity.required:
                selected = self._selected(number, term)
                rules.far.append(self._watch(Watch(term.topology_key), selected))
                # Who is selected may not come to where this app is, either.
                back = self._watch(Watch(term.topology_key), [number])
                for other in selected:
                    self._rules[other].far.append(back)

    def _read_near(self, number: int, terms: tuple[PodAffinityTerm, ...]) -> None:
        """Only a pod that all terms select counts for any of them."""
        common = set(self._selected(number, terms[0]))
        for term in terms[1:]:
            common &= set(self._selected(number, term))
        rules = self._rules[number]
        rules.bootstraps = number in common
        rules.near = [self._watch(Watch(term.topology_key), sorted(common)) for term in terms]

    def _read_spread(self, number: int, one: Spread) -> None:
        pod = self._pods[number]
        asked = _asked(one.label_selector, pod, one.match_label_keys)
        namespace = self._apps[number].namespace
        selected = [
            other
            for other in self._candidates(asked)
            if self._apps[other].namespace == namespace
            and selector.matches(asked, self._apps[other].labels)
        ]
        watch = Watch(
            one.topology_key,
            self._over(pod, one),
            skew=one.max_skew,
            least=one.min_domains or 0,
            is_own=number in selected,
        )
        self._rules[number].spreads.append(self._watch(watch, selected))

    def _over(self, pod: Pod, one: Spread) -> Over:
        """The nodes over which a constraint spreads; the same for all pods that want the same."""
        heeds = one.node_affinity_policy or HONOR, one.node_taints_policy or IGNORE
        signature = (one.topology_key, heeds, wishes_of(pod))
        found = self._overs.get(signature)
        if found is None:
            nodes = [
                site
                for site in self._sites
                if one.topology_key in site.labels
                and (heeds[0] == IGNORE or wants(pod, site))
                and (heeds[1] == IGNORE or puts_up_with(pod, site))
            ]
            found = Over(
                frozenset(site.name for site in nodes),
                len({site.labels[one.topology_key] for site in nodes}),
            )
            self._overs[signature] = found
        return found

    def _watch(self, watch: Watch, apps: Iterable[int]) -> Watch:
        for number in apps:
            self._watched_by[number].append(watch)
        return watch

    def _candidates(self, asked: LabelSelector | None) -> Iterable[int]:
        """Apps that may be selected: those with the rarest label that is asked for, or all."""
        if asked is None:
            return ()
        only = [
            (one.key, one.values[0])
            for one in asked.match_expressions
            if one.operator == selector.IN and len(one.values) == 1
        ]
        found = [self._by_label.get(pair, []) for pair in (*asked.match_labels.items(), *only)]
        if not found:
            return range(len(self._apps))
        return min(found, key=len)

    def _selected(self, number: int, term: PodAffinityTerm) -> list[int]:
        """The apps whose pods a term is about."""
        pod = self._pods[number]
        asked = _asked(term.label_selector, pod, term.match_label_keys, term.mismatch_label_keys)
        namespaces = {*term.namespaces}
        if not term.namespaces and term.namespace_selector is None:
            namespaces = {pod.namespace}
        found = []
        for other in self._candidates(asked):
            there = self._apps[other].namespace
            is_there = there in namespaces or selector.matches(
                term.namespace_selector, namespace_labels(there)
            )
            if is_there and selector.matches(asked, self._apps[other].labels):
                found.append(other)
        return found


def _asked(
    given: LabelSelector | None, pod: Pod, same: Iterable[str], other: Iterable[str] = ()
) -> LabelSelector | None:
    """The selector with what label keys add to it: the pod's own values, or any but those."""
    if given is None:
        return None
    labels = pod.metadata.labels
    more = [
        LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
        for keys, operator in ((same, selector.IN), (other, selector.NOT_IN))
        for key in keys
        if key in labels
    ]
    return msgspec.structs.replace(given, match_expressions=(*given.match_expressions, *more))


def wants(pod: Pod, site: Site) -> bool:
    """True when the pod's node selector and required node affinity are for such a node."""
    spec = pod.spec
    if any(site.labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    return required is None or required.matches(site.labels, site.name)


def wishes_of(pod: Pod) -> bytes:
    """What :func:`wants` and :func:`puts_up_with` look at, to compare with that of others."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    return msgspec.json.encode((pod.spec.node_selector, required, pod.spec.tolerations))


def puts_up_with(pod: Pod, site: Site) -> bool:
    """True when the pod tolerates the taints of the node."""
    taints = msgspec.convert(site.taints, tuple[Taint, ...])
    return taint.tolerates_all(pod.spec.tolerations, taints)
