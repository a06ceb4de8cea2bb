"""What a pod wants, worked out once: of its node, of other pods, and how much of it is a must.

A preference counts as a must until it is given up (001:68, spec 9.3). A pod that finds no place
gives up one at a time, in a fixed order: preferred pod affinity, then preferred pod anti-affinity,
each the heaviest first; preferred node affinity, of which only the heaviest counts at a time; soft
spreading in the order written; last, it puts up with taints that say "rather not".

Whatever means nothing (a selector that cannot be read, an absurd number of terms) becomes a problem
that names it; nothing here raises.

Must not: know places. Whom it would meet there is for ``company`` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from unmoor.engine import integers, volumes
from unmoor.engine.held import Held, held_by
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.requests import Requests, requests_of
from unmoor.engine.selection import Selection, Term, group_of, selection_of_spread, term_of
from unmoor.engine.volumes import Need
from unmoor.engine.ways import ways_of
from unmoor.model import scheduling, taint
from unmoor.model.node_selector import NodeSelectorTerm
from unmoor.model.pod import Pod, PodSpec
from unmoor.model.quantity import QuantityError
from unmoor.model.requirement import Requirements
from unmoor.model.resources import Resources
from unmoor.model.scheduling import Affinity, NodeAffinity, PodAffinity, TopologySpreadConstraint
from unmoor.model.snapshot import View
from unmoor.model.taint import Toleration
from unmoor.model.wording import joined

TERMS_MAX = 64
"""Node selector terms, pod affinity terms and spread constraints of one pod, of each kind."""
OF_SIZE = ("containers", "init_containers", "overhead", "resources")
"""Fields of a pod's spec that are its size: pods that differ in nothing else share an outline."""
_NO_SIZE = {name: getattr(PodSpec(), name) for name in OF_SIZE}
_EVERYTHING = Toleration(operator=taint.EXISTS, effect=taint.PREFER_NO_SCHEDULE)


class Spread(msgspec.Struct, frozen=True, gc=False):
    """One topology spread constraint that counts.

    ``honors_affinity`` and ``honors_taints``: whether nodes that the pod could not use anyway are
    left out of the count.
    """

    key: str
    selection: Selection
    max_skew: int
    min_domains: int
    is_hard: bool
    honors_affinity: bool
    honors_taints: bool

    def counts(self, pod: Pod) -> bool:
        """True when a pod that has a place is counted; one that is on its way out is not.

        An empty selector selects everything everywhere in Kubernetes, but here nothing.
        """
        selector = self.selection.selector
        is_empty = selector is None or selector.is_empty
        return not is_empty and not pod.is_deleting and self.selection.has(pod)


class Wish(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """All that a pod wants, at one level of giving up.

    ``ways``: the alternatives, each in full, that a node to come may satisfy. For a node that is
    there: ``terms`` of its required node affinity, one of which must match, None when it has none;
    ``preference``, the preferred node affinity term that counts. ``no_way``: why no node to come
    can suit, where there are no ``ways``. ``musts``: the ways without the preference; ``asked``:
    those without volumes either, as kube-scheduler counts nodes for spreading. ``near``: groups of
    terms; of each group, one pod must match all terms together. ``apart``: pods to keep away from.
    ``given_up``: what no longer counts, in words.
    """

    pod: Pod
    level: int
    requests: Resources
    tolerations: tuple[Toleration, ...]
    ways: tuple[Requirements, ...] = ()
    no_way: tuple[Refusal, ...] = ()
    musts: tuple[Requirements, ...] = ()
    asked: tuple[Requirements, ...] = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    preference: NodeSelectorTerm | None = None
    spreads: tuple[Spread, ...] = ()
    near: tuple[tuple[Term, ...], ...] = ()
    apart: tuple[Term, ...] = ()
    held: tuple[Held, ...] = ()
    needs: tuple[Need, ...] = ()
    problems: tuple[Refusal, ...] = ()
    given_up: tuple[str, ...] = ()


def wish_of(pod: Pod, view: View, level: int = 0, *, has_soft_taints: bool = False) -> Wish:
    """Return what ``pod`` wants once it has given up ``level`` preferences.

    At ``levels_of(pod)`` only what is required is left. ``has_soft_taints``: some place or template
    has a PreferNoSchedule taint, so that there is one more thing to give up.
    """
    return with_size(outline_of(pod, view, level, has_soft_taints=has_soft_taints), pod)


def with_size(outline: Wish, pod: Pod, known: Requests | None = None) -> Wish:
    """Return the same for ``pod``: all that its containers, and its resources as a whole, add.

    Pods that differ in nothing else share an outline. ``known``: what pods were found to ask.
    """
    problems = (*outline.problems, *integers.excess_of_containers(pod))
    try:
        requests: Resources = requests_of(pod) if known is None else known.of(pod)
    except QuantityError as error:
        requests = {}
        problems = (*problems, Refusal(Constraint.INVALID, "resources", str(error)))
    return msgspec.structs.replace(
        outline, pod=pod, requests=requests, held=held_by(pod), problems=problems
    )


def outline_of(pod: Pod, view: View, level: int = 0, *, has_soft_taints: bool = False) -> Wish:
    """Return what a pod wants, whatever its size: it asks for nothing and holds nothing.

    Nothing that is asked here sees its containers, lest others be taken to want what they say.
    """
    pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **_NO_SIZE))
    steps = _steps(pod, has_soft_taints=has_soft_taints)
    given_up = steps[: min(level, len(steps))]
    kept = steps[len(given_up) :]
    affinity = pod.spec.affinity or Affinity()
    node = affinity.node_affinity or NodeAffinity()
    spreads, problems = _spreads(pod, kept)
    near, apart = _terms(pod, view, affinity, kept)
    problems += _keyless((*near, apart))
    terms = None if node.required is None else node.required.node_selector_terms
    preferred = [one.index for one in kept if one.kind == _NODE]
    preference = node.preferred[preferred[0]].preference if preferred else None
    needs = volumes.needs_of(pod, view)
    selector = pod.spec.node_selector
    ways, no_way = ways_of(selector, terms, preference, needs)
    soft = any(one.kind == _SOFT_TAINT for one in given_up)
    problems += _excess(pod, affinity, terms)
    return Wish(
        pod=pod,
        level=level,
        requests={},
        tolerations=(*pod.spec.tolerations, _EVERYTHING) if soft else pod.spec.tolerations,
        ways=ways,
        no_way=no_way,
        musts=ways if preference is None else ways_of(selector, terms, None, needs)[0],
        asked=ways_of(selector, terms, None, ())[0],
        terms=terms,
        preference=preference,
        spreads=spreads,
        near=near,
        apart=apart,
        needs=needs,
        problems=(*_gates(pod), *_devices(pod), *integers.excess_of(pod, affinity), *problems),
        given_up=tuple(one.words for one in given_up),
    )


def levels_of(pod: Pod, *, has_soft_taints: bool = False) -> int:
    """Return how many preferences a pod can give up, one after the other."""
    return len(_steps(pod, has_soft_taints=has_soft_taints))


_NEAR, _APART, _NODE, _SPREAD, _SOFT_TAINT = "near", "apart", "node", "spread", "taint"


class _Step(msgspec.Struct, frozen=True):
    """One preference: which list it is in, where, and how to call it."""

    kind: str
    index: int
    words: str


def _steps(pod: Pod, *, has_soft_taints: bool) -> tuple[_Step, ...]:
    """Every preference of the pod, in the order in which they are given up."""
    affinity = pod.spec.affinity or Affinity()
    found: list[_Step] = []
    for kind, terms, called in (
        (_NEAR, affinity.pod_affinity, "preferred pod affinity"),
        (_APART, affinity.pod_anti_affinity, "preferred pod anti-affinity"),
    ):
        preferred = terms.preferred if terms is not None else ()
        for index in _heaviest_first([one.weight for one in preferred]):
            key = preferred[index].pod_affinity_term.topology_key
            found.append(_Step(kind, index, f"{called} on {key}"))
    node = affinity.node_affinity or NodeAffinity()
    for index in _heaviest_first([one.weight for one in node.preferred]):
        wanted = node.preferred[index].preference
        listed = joined(str(one) for one in wanted.match_expressions)
        found.append(_Step(_NODE, index, f"preferred node affinity {listed}"))
    for index, spread in enumerate(pod.spec.topology_spread_constraints):
        if spread.when_unsatisfiable == scheduling.SCHEDULE_ANYWAY:
            found.append(_Step(_SPREAD, index, f"spreading over {spread.topology_key}"))
    if has_soft_taints:
        found.append(_Step(_SOFT_TAINT, 0, "keeping off nodes with PreferNoSchedule taints"))
    return tuple(found)


def _heaviest_first(weights: list[int]) -> list[int]:
    return sorted(range(len(weights)), key=lambda index: (-weights[index], index))


def _spreads(pod: Pod, kept: Iterable[_Step]) -> tuple[tuple[Spread, ...], list[Refusal]]:
    soft = {one.index for one in kept if one.kind == _SPREAD}
    found, problems = [], []
    for index, one in enumerate(pod.spec.topology_spread_constraints):
        is_hard = one.when_unsatisfiable != scheduling.SCHEDULE_ANYWAY
        if not is_hard and index not in soft:
            continue
        if one.max_skew < 1 or not one.topology_key:
            field, wrong = (
                ("maxSkew", f"it is {one.max_skew}: use at least 1")
                if one.topology_key
                else ("topologyKey", "there is none: name a label")
            )
            field = f"spec.topologySpreadConstraints[{index}].{field}"
            problems.append(Refusal(Constraint.INVALID, field, wrong))
            continue
        found.append(spread_of(pod, one, is_hard=is_hard))
    return tuple(found), problems


def spread_of(pod: Pod, one: TopologySpreadConstraint, *, is_hard: bool) -> Spread:
    """Return a spread constraint of ``pod`` as it counts."""
    return Spread(
        key=one.topology_key,
        selection=selection_of_spread(pod, one),
        max_skew=one.max_skew,
        min_domains=max(one.min_domains or 1, 1),
        is_hard=is_hard,
        honors_affinity=one.node_affinity_policy != scheduling.IGNORE,
        honors_taints=one.node_taints_policy == scheduling.HONOR,
    )


def _terms(
    pod: Pod, view: View, affinity: Affinity, kept: tuple[_Step, ...]
) -> tuple[tuple[tuple[Term, ...], ...], tuple[Term, ...]]:
    near = affinity.pod_affinity or PodAffinity()
    apart = affinity.pod_anti_affinity or PodAffinity()
    required = [near.required] if near.required else []
    kept_near = sorted(one.index for one in kept if one.kind == _NEAR)
    kept_apart = sorted(one.index for one in kept if one.kind == _APART)
    groups = (*required, *((near.preferred[index].pod_affinity_term,) for index in kept_near))
    away = (*apart.required, *(apart.preferred[index].pod_affinity_term for index in kept_apart))
    return (
        tuple(group_of(pod, one, view) for one in groups),
        tuple(term_of(pod, one, view) for one in away),
    )


def _keyless(groups: Iterable[tuple[Term, ...]]) -> Iterator[Refusal]:
    """The API server lets no such term in."""
    if any(not term.key for group in groups for term in group):
        words = "a pod affinity term has no topologyKey: name a label"
        yield Refusal(Constraint.INVALID, "spec.affinity", words)


def required_apart(pod: Pod, view: View) -> tuple[Term, ...]:
    """Return whom a running pod keeps away: its required anti-affinity, which is symmetric."""
    affinity = pod.spec.affinity
    apart = affinity.pod_anti_affinity if affinity is not None else None
    return () if apart is None else tuple(term_of(pod, one, view) for one in apart.required)


def _gates(pod: Pod) -> Iterator[Refusal]:
    for gate in pod.spec.scheduling_gates:
        words = "the pod is not to be scheduled yet"
        yield Refusal(Constraint.GATE, gate.name, words)


def _devices(pod: Pod) -> Iterator[Refusal]:
    for claim in pod.spec.resource_claims:
        words = (
            "spec.resourceClaims are not counted, so no node can be promised; "
            "ask for the devices as a resource"
        )
        yield Refusal(Constraint.DEVICE, claim.name, words)


def _excess(
    pod: Pod, affinity: Affinity, terms: tuple[NodeSelectorTerm, ...] | None
) -> Iterator[Refusal]:
    near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    counts = {
        "required node affinity terms": len(terms or ()),
        "pod affinity terms": len((*near.required, *near.preferred)) if near else 0,
        "pod anti-affinity terms": len((*apart.required, *apart.preferred)) if apart else 0,
        "topologySpreadConstraints": len(pod.spec.topology_spread_constraints),
    }
    for what, count in counts.items():
        if count > TERMS_MAX:
            words = f"the pod has {count} {what}, more than {TERMS_MAX}: use fewer"
            yield Refusal(Constraint.INVALID, what, words)
