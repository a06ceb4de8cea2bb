"""What other pods have to say: spreading, affinity, anti-affinity, counted over all sites.

As kube-scheduler counts (API reference: v1.TopologySpreadConstraint, v1.PodAffinityTerm), with two
additions for nodes that are not there yet. A pod on a machine that may still lie in several domains
is possible in each and certain in none: what must be few counts both, what must be many only the
certain ones. And a domain in which a node may yet be opened is there already, without pods; so a
pod never goes where it would be one too many once that node has come.

Must not: choose a domain, or a site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from unmoor.engine import judge
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.selection import Term
from unmoor.engine.sites import Opened, Standing
from unmoor.engine.volumes import claims_of
from unmoor.engine.wish import Spread, Wish, required_apart
from unmoor.model import names, taint
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.model.wording import counted, named

Site: TypeAlias = Standing | Opened
NEW_HOST = "a node to come"
"""The hostname that a machine which is not opened yet will have."""
Potential: TypeAlias = dict[str, frozenset[str]]
"""Label key to the domains in which a machine for this pod may yet be opened."""


class Count:
    """Pods by domain."""

    def __init__(self) -> None:
        """Nobody is anywhere."""
        self.certain: Counter[str] = Counter()
        self.possible: Counter[str] = Counter()
        self.domains: set[str] = set()

    def add(self, domains: frozenset[str], pods: int) -> None:
        """Count pods on a site that lies, or may lie, in these domains."""
        if len(domains) == 1:
            self.certain[next(iter(domains))] += pods
        else:
            for one in domains:
                self.possible[one] += pods

    def most(self, domain: str) -> int:
        """So many there may be."""
        return self.certain[domain] + self.possible[domain]

    @property
    def is_nobody(self) -> bool:
        """There is no such pod, and there may be none."""
        return not any(self.certain.values()) and not any(self.possible.values())


class Company(msgspec.Struct, frozen=True):
    """All that others have to say about one pod, counted once for all sites."""

    wish: Wish
    spreads: tuple[tuple[Spread, Count], ...]
    near: tuple[tuple[tuple[Term, Count], ...], ...]
    apart: tuple[tuple[str, Count], ...]
    """Topology key to where pods are that this one keeps away from, or that keep it away."""
    taken: tuple[Refusal, ...] = ()
    """Claims for one pod only, which another one has: that pod may be anywhere."""
    watched: tuple[tuple[str, Count], ...] = ()
    """Topology key to where pods are that others, who are still to be placed, are spread among, and
    of which this is one: they can be spread only if it is known where it is."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels that matter, sorted."""
        found = {spread.key for spread, _ in self.spreads}
        found |= {term.key for group in self.near for term, _ in group}
        found |= {key for key, _ in (*self.apart, *self.watched)}
        return tuple(sorted(found))

    def needs_domain(self, key: str) -> bool:
        """True when a node without the label ``key`` will not do."""
        return any(spread.key == key for spread, _ in self.spreads) or any(
            term.key == key for group in self.near for term, _ in group
        )

    def no_domain(self, key: str, words: str) -> Refusal:
        """Return the refusal of a node without the label ``key``, which :meth:`needs_domain`."""
        is_spread = any(spread.key == key for spread, _ in self.spreads)
        return Refusal(Constraint.SPREAD if is_spread else Constraint.POD_AFFINITY, key, words)

    def pins(self, key: str) -> bool:
        """True when a machine that takes the pod must lie in one known domain of ``key``."""
        if any(spread.key == key for spread, _ in self.spreads):
            return True
        return any(other == key for other, _ in self.watched) or any(
            term.key == key and _may_begin(self.wish, group)
            for group in self.near
            for term, _ in group
        )

    def rank(self, key: str, domain: str) -> tuple[int, str]:
        """The domain with the fewest pods first, as the first spread constraint counts them."""
        counts = [count for spread, count in self.spreads if spread.key == key]
        counts += [count for other, count in self.watched if other == key]
        return (counts[0].most(domain) if counts else 0, domain)

    def refusals(self, key: str, *domains: str) -> tuple[Refusal, ...]:
        """Return what speaks against putting the pod into one of these domains.

        Whatever speaks against several is one reason that names them.
        """
        found = [
            _crowded(self.wish, one, count, domains)
            for one, count in self.spreads
            if one.key == key
        ]
        for group in self.near:
            if not _may_begin(self.wish, group):
                found += [
                    _lonely(key, [one for one in domains if not count.certain[one]])
                    for term, count in group
                    if term.key == key
                ]
        found += [
            _shunned(key, [one for one in domains if count.most(one)])
            for other, count in self.apart
            if other == key
        ]
        return tuple(dict.fromkeys(one for one in found if one is not None))


def watched_by(wishes: Iterable[Wish]) -> tuple[Term, ...]:
    """Return whom these pods are spread among over more than hosts, each once, in their order."""
    found: dict[Hashable, Term] = {}
    for wish in wishes:
        for one in wish.spreads:
            if one.key != names.HOSTNAME:
                term = Term(one.key, one.selection)
                found.setdefault(term.content, term)
    return tuple(found.values())


def company_of(
    wish: Wish,
    view: View,
    sites: Sequence[Site],
    potential: Potential,
    watched: Iterable[Term] = (),
) -> Company:
    """Count what matters to this pod. ``watched``: see :func:`watched_by`."""
    return Company(
        wish,
        tuple((one, _spread_count(wish, one, sites, potential)) for one in wish.spreads),
        tuple(
            tuple((term, _near_count(group, term, sites)) for term in group) for group in wish.near
        ),
        (*_kept_from(wish, sites), *_kept_away_by(wish.pod, view, sites)),
        tuple(_taken(wish, sites)),
        tuple(
            (term.key, _near_count((term,), term, sites))
            for term in watched
            if term.selection.has(wish.pod)
        ),
    )


def site_refusals(company: Company, site: Standing) -> tuple[Refusal, ...]:
    """Return what others have against the pod on a standing node."""
    found = list(company.taken)
    for key in company.keys:
        domains = site.domains(key)
        if domains:
            found += company.refusals(key, next(iter(domains)))
        elif company.needs_domain(key):
            found.append(company.no_domain(key, "the node has no such label"))
    return tuple(found)


def _spread_count(wish: Wish, spread: Spread, sites: Iterable[Site], potential: Potential) -> Count:
    count = Count()
    keys = {spread.key, *(one.key for one in wish.spreads if one.is_hard)}
    for site in sites:
        if not all(site.domains(key) for key in keys) or not counts_for(wish, spread, site):
            continue
        domains = site.domains(spread.key)
        is_there = isinstance(site, Standing)
        count.domains |= {one for one in domains if is_there or counts_in(wish, spread, one)}
        count.add(domains, sum(spread.counts(pod) for pod in site.pods))
    count.domains |= potential.get(spread.key, frozenset())
    return count


def counts_for(wish: Wish, spread: Spread, site: Site) -> bool:
    """True when the pods of this site are counted for spreading."""
    taints = site.place.taints if isinstance(site, Standing) else site.base.taints
    if spread.honors_taints and not taint.tolerates_all(wish.tolerations, taints):
        return False
    if not spread.honors_affinity:
        return True
    if isinstance(site, Standing):
        return judge.is_wanted(wish, site.place)
    return any(site.requirements.has_intersection(way) for way in wish.asked)


def counts_in(wish: Wish, spread: Spread, domain: str) -> bool:
    """True when a machine that may lie in this domain would count there.

    Where the pod may not go because of the domain, a node is not counted, nor is one to come.
    """
    if not spread.honors_affinity or spread.key == names.HOSTNAME:
        return True
    return any(way.get(spread.key).allows(domain) for way in wish.asked)


def _crowded(wish: Wish, spread: Spread, count: Count, domains: Sequence[str]) -> Refusal | None:
    """``short``: of the domain that is nearest to taking one more."""
    least, there = min((count.certain[one] for one in count.domains), default=0), len(count.domains)
    emptiest = f"the emptiest {least}"
    if there < spread.min_domains:
        least = 0
        only = f"{counted(there, 'domain')} of minDomains {spread.min_domains}"
        emptiest = f"and with {only} the emptiest counts as 0"
    mine = spread.selection.has(wish.pod)
    over = {one: count.most(one) + mine - least - spread.max_skew for one in domains}
    full = [one for one in domains if over[one] > 0]
    if not full:
        return None
    short = min(over[one] for one in full)
    listed = named(tuple(f"{one} has {count.most(one)}" for one in full))
    words = f"{listed}, {emptiest}: one more is {short} above maxSkew {spread.max_skew}"
    return Refusal(Constraint.SPREAD, spread.key, words, short)


def _near_count(group: tuple[Term, ...], term: Term, sites: Iterable[Site]) -> Count:
    """One and the same pod must match all terms of a group (as kube-scheduler has it)."""
    count = Count()
    for site in sites:
        there = sum(all(one.selection.has(pod) for one in group) for pod in site.pods)
        count.add(site.domains(term.key), there)
    return count


def _may_begin(wish: Wish, group: tuple[tuple[Term, Count], ...]) -> bool:
    """Nobody is there whom the pod could join, and it is itself one whom it looks for."""
    return all(count.is_nobody for _, count in group) and all(
        term.selection.has(wish.pod) for term, _ in group
    )


def _kept_from(wish: Wish, sites: Sequence[Site]) -> Iterable[tuple[str, Count]]:
    for term in wish.apart:
        count = Count()
        for site in sites:
            count.add(site.domains(term.key), sum(term.selection.has(pod) for pod in site.pods))
        yield term.key, count


def _kept_away_by(pod: Pod, view: View, sites: Iterable[Site]) -> Iterable[tuple[str, Count]]:
    """Required anti-affinity is symmetric; preferred is not (T357)."""
    found: dict[str, Count] = {}
    for site in sites:
        for other in site.pods:
            for term in required_apart(other, view):
                if term.selection.has(pod):
                    found.setdefault(term.key, Count()).add(site.domains(term.key), 1)
    return sorted(found.items(), key=lambda item: item[0])


def _taken(wish: Wish, sites: Sequence[Site]) -> Iterable[Refusal]:
    for need in wish.needs:
        if need.is_exclusive and any(
            pod.namespace == wish.pod.namespace and need.claim in claims_of(pod)
            for site in sites
            for pod in site.pods
        ):
            words = "another pod has it, and it is for one pod only (ReadWriteOncePod)"
            yield Refusal(Constraint.VOLUME, need.claim, words)


def _lonely(key: str, domains: Sequence[str]) -> Refusal | None:
    words = f"no pod that it looks for is in {named(tuple(domains))}"
    return Refusal(Constraint.POD_AFFINITY, key, words) if domains else None


def _shunned(key: str, domains: Sequence[str]) -> Refusal | None:
    words = f"a pod that it does not get on with is, or may be, in {named(tuple(domains))}"
    return Refusal(Constraint.POD_ANTI_AFFINITY, key, words) if domains else None
