"""May this pod run on that node, now? And if not: what refuses it, and by how much.

Plain Python, one question per function, in the order in which a person would look: is the node
open, does the pod put up with its taints, does it want such a node, can its volumes be reached
there, can they be attached, is there room. Every reason is given, not only the first, because "no"
has to be explained. Whoever places pods in bulk must agree with this file.

What pods on the same node hold (host ports) is judged in ``held``, other pods elsewhere (spreading,
affinity) in ``company``.

Must not: choose between nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.scene import Place, Started, Template
from unmoor.engine.volumes import Need
from unmoor.engine.wish import Wish
from unmoor.model import names, resources, taint
from unmoor.model.node import Node
from unmoor.model.node_selector import FIELD_NAME, NodeSelectorTerm
from unmoor.model.pod import Pod
from unmoor.model.resources import Resources
from unmoor.model.selector import SelectorError
from unmoor.model.taint import Taint, Toleration
from unmoor.model.wording import joined

EVERY_EFFECT = (*taint.KEEPS_OUT, taint.PREFER_NO_SCHEDULE)
"""A taint that says "rather not" keeps a pod away until the pod gives up that preference."""
_CORDON = Taint(key=names.UNSCHEDULABLE, effect=taint.NO_SCHEDULE)


def placement_refusals(pod: Pod, node: Node) -> tuple[Refusal, ...]:
    """Return the reasons that no amount of room would change (a DaemonSet asks only for these)."""
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    there = Place(
        name=node.name,
        labels=node.metadata.labels,
        taints=node.spec.taints,
        is_cordoned=node.is_cordoned,
    )
    return (
        *_closed(pod.spec.tolerations, there),
        *_taints(pod.spec.tolerations, there, taint.KEEPS_OUT),
        *_selector(pod.spec.node_selector, there),
        *_affinity(None if required is None else required.node_selector_terms, there),
    )


def node_refusals(wish: Wish, place: Place) -> tuple[Refusal, ...]:
    """Return what the node itself has against the pod, however empty it is."""
    return tuple(one for rule in NODE_RULES for one in rule.refusals(wish, place))


def base_refusals(wish: Wish, base: Template | Started) -> tuple[Refusal, ...]:
    """Return what a machine to come has against the pod, whatever its type and requirements."""
    return tuple(one for rule in NODE_RULES for one in rule.ahead(wish, base))


def is_wanted(wish: Wish, place: Place) -> bool:
    """True when the pod asks for such a node, preferences aside: it counts for spreading."""
    return not any((*_selector(wish.pod.spec.node_selector, place), *_affinity(wish.terms, place)))


def room_refusals(requests: Resources, free: Resources) -> tuple[Refusal, ...]:
    """Return the reasons that more room would remove, sorted by resource."""
    return tuple(
        Refusal(Constraint.RESOURCES, name, f"{resources.said(name, short, up=True)} short", short)
        for name, short in sorted(resources.lacking(requests, free).items())
    )


def attach_refusals(
    needs: Iterable[Need], attached: Mapping[str, AbstractSet[str]], room: Mapping[str, int]
) -> tuple[Refusal, ...]:
    """Return the drivers that cannot attach so many volumes; the same volume counts once."""
    wanted: dict[str, set[str]] = {}
    for need in needs:
        if need.driver in room:
            wanted.setdefault(need.driver, set()).add(need.handle)
    found = []
    for driver, handles in sorted(wanted.items()):
        there = attached.get(driver, set())
        # Kubernetes looks only when there is something new to attach.
        over = len(there | handles) - room[driver]
        if over > 0 and handles - there:
            words = f"takes {room[driver]} volumes, {over} too many"
            found.append(Refusal(Constraint.VOLUME_LIMIT, driver, words, over))
    return tuple(found)


def own_refusals(wish: Wish) -> tuple[Refusal, ...]:
    """Return what keeps the pod from running anywhere at all."""
    broken = tuple(
        Refusal(Constraint.VOLUME, need.claim, need.problem) for need in wish.needs if need.problem
    )
    return (*wish.problems, *broken)


def taint_refusals(
    tolerations: tuple[Toleration, ...],
    taints: Iterable[Taint],
    effects: tuple[str, ...] = EVERY_EFFECT,
) -> tuple[Refusal, ...]:
    """Return a refusal for each taint that the pod does not put up with."""
    return tuple(
        Refusal(Constraint.TAINT, one.identity_text, f"no toleration for {one}")
        for one in taints
        if not taint.tolerates_all(tolerations, (one,), effects=effects)
    )


def _closed(tolerations: tuple[Toleration, ...], place: Place) -> Iterable[Refusal]:
    if place.is_cordoned and not taint.tolerates_all(tolerations, (_CORDON,)):
        yield Refusal(Constraint.UNSCHEDULABLE, place.name, "the node is cordoned")


def _taints(
    tolerations: tuple[Toleration, ...], place: Place, effects: tuple[str, ...]
) -> tuple[Refusal, ...]:
    """The cordon's own taint says nothing new about a cordoned node."""
    counted = [
        one for one in place.taints if not (place.is_cordoned and taint.is_same(one, _CORDON))
    ]
    return taint_refusals(tolerations, counted, effects)


def _selector(wanted: Mapping[str, str], place: Place) -> Iterable[Refusal]:
    for key, value in sorted(wanted.items()):
        found = place.labels.get(key)
        if found != value:
            has = "no such label" if found is None else f"has {found}"
            yield Refusal(Constraint.NODE_SELECTOR, key, f"wants {value}, {has}")


def _affinity(terms: tuple[NodeSelectorTerm, ...] | None, place: Place) -> Iterable[Refusal]:
    """A selector that cannot be evaluated matches no node."""
    if terms is None:
        return
    missing = _unmatched(terms, place)
    if missing is not None:
        wanted = f"wants {missing or 'no node at all'}"
        yield Refusal(Constraint.NODE_AFFINITY, place.name, wanted)


def _reach(needs: Iterable[Need], place: Place) -> Iterable[Refusal]:
    for need in needs:
        for terms in need.where:
            missing = _unmatched(terms, place)
            if missing is not None:
                yield Refusal(Constraint.VOLUME, need.claim, f"can be reached from {missing}")


def _unmatched(terms: tuple[NodeSelectorTerm, ...], place: Place) -> str | None:
    """What none of the terms found on the node, None when one matches."""
    problem = ""
    for term in terms:
        try:
            if term.matches(place.labels, place.name):
                return None
        except SelectorError as error:
            problem = problem or str(error)
    wanted = (
        joined(str(one) for one in (*term.match_expressions, *term.match_fields)) for term in terms
    )
    return problem or joined(wanted, " or ")


# ------------------------------------------------------------------------------- the node by itself


def _nothing(*looked_at: object) -> tuple[()]:
    del looked_at
    return ()


class NodeRule(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a node decides by itself, however full it is and whoever is there.

    ``refusals`` is the rule. The other fields say what it looks at: pods that ask the same get the
    same answer from nodes that show the same, so that the fast engine asks once for all of them.
    ``asks``: of the wish. ``shows``: of the place, labels and name aside. ``labels``: keys of the
    node's labels, FIELD_NAME for its name. ``ahead``: the rule for a machine to come, beyond its
    requirements.
    """

    refusals: Callable[[Wish, Place], Iterable[Refusal]]
    asks: Callable[[Wish], object]
    shows: Callable[[Place], Hashable] = _nothing
    labels: Callable[[Wish], Iterable[str]] = _nothing
    ahead: Callable[[Wish, Template | Started], Iterable[Refusal]] = _nothing


def _wanted(wish: Wish) -> tuple[tuple[NodeSelectorTerm, ...], ...]:
    """What is required and what is preferred, each in the form of what is required."""
    terms = () if wish.terms is None else (wish.terms,)
    return terms if wish.preference is None else (*terms, (wish.preference,))


def _looked_at(terms: Iterable[tuple[NodeSelectorTerm, ...]]) -> Iterator[str]:
    for term in (one for alternatives in terms for one in alternatives):
        yield from (one.key for one in term.match_expressions)
        if term.match_fields:
            yield FIELD_NAME


NODE_RULES: tuple[NodeRule, ...] = (
    NodeRule(
        refusals=lambda wish, place: _closed(wish.tolerations, place),
        asks=lambda wish: wish.tolerations,
        shows=lambda place: place.is_cordoned,
    ),
    NodeRule(
        refusals=lambda wish, place: _taints(wish.tolerations, place, EVERY_EFFECT),
        asks=lambda wish: wish.tolerations,
        shows=lambda place: place.taints,
        ahead=lambda wish, base: taint_refusals(wish.tolerations, base.taints),
    ),
    NodeRule(
        refusals=lambda wish, place: _selector(wish.pod.spec.node_selector, place),
        asks=lambda wish: wish.pod.spec.node_selector,
        labels=lambda wish: wish.pod.spec.node_selector,
    ),
    NodeRule(
        refusals=lambda wish, place: (
            one for terms in _wanted(wish) for one in _affinity(terms, place)
        ),
        asks=lambda wish: (wish.terms, wish.preference),
        labels=lambda wish: _looked_at(_wanted(wish)),
    ),
    NodeRule(
        refusals=lambda wish, place: _reach(wish.needs, place),
        asks=lambda wish: [need.where for need in wish.needs],
        labels=lambda wish: _looked_at(where for need in wish.needs for where in need.where),
    ),
)
"""Every such rule, in the order in which a person would look."""


def asked_of_a_node(wish: Wish) -> list[object]:
    """Return all of a wish that decides what nodes have against it."""
    return [rule.asks(wish) for rule in NODE_RULES]


def labels_looked_at(wish: Wish) -> set[str]:
    """Return the keys of the labels that decide it, FIELD_NAME among them for the node's name."""
    return {key for rule in NODE_RULES for key in rule.labels(wish)}


def shown_by(place: Place) -> Hashable:
    """Return all of a place that decides what it has against pods, labels and name aside."""
    return tuple(rule.shows(place) for rule in NODE_RULES)
