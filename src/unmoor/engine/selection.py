"""Which other pods are meant: namespaces and label selectors of spreading and pod affinity.

A selector that cannot be read selects nobody; who wrote it hears so from whoever judges the pod. No
selector (None) selects nobody, an empty one everybody. ``matchLabelKeys`` and ``mismatchLabelKeys``
add the pod's own values to it; where the API server has merged them already, that changes nothing.

Must not: look for pods.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import msgspec

from unmoor.model.kinds import NAMESPACES
from unmoor.model.pod import Pod
from unmoor.model.scheduling import PodAffinityTerm, TopologySpreadConstraint
from unmoor.model.selector import (
    LabelSelector,
    LabelSelectorRequirement,
    SelectorError,
    matches,
)
from unmoor.model.snapshot import View

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_NO_MSGPACK = b"\xc1"
"""No value begins like this."""


def content_of(value: object) -> bytes:
    """Equal content, equal bytes."""
    try:
        return _encode(value)
    except OverflowError:  # An integer that no field of the API holds: slower, and right.
        plain: object = msgspec.to_builtins(value, order="deterministic")
        return _NO_MSGPACK + repr(plain).encode()


class Selection(msgspec.Struct, frozen=True, gc=False):
    """Pods with these labels in these namespaces; ``namespaces`` None means all of them."""

    namespaces: frozenset[str] | None
    selector: LabelSelector | None

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """True when a pod in ``namespace`` with these ``labels`` is meant."""
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        try:
            return matches(self.selector, labels)
        except SelectorError:
            return False

    def has(self, pod: Pod) -> bool:
        """True when this pod is meant."""
        return self.selects(pod.namespace, pod.metadata.labels)

    @property
    def content(self) -> Hashable:
        """What makes two selections the same."""
        named = self.namespaces
        return (None if named is None else tuple(sorted(named)), content_of(self.selector))


class Term(msgspec.Struct, frozen=True, gc=False):
    """Pods that are meant, and what "near" is: the same value of the node label ``key``."""

    key: str
    selection: Selection

    @property
    def content(self) -> Hashable:
        """What makes two terms the same."""
        return (self.key, self.selection.content)


def selection_of_spread(pod: Pod, one: TopologySpreadConstraint) -> Selection:
    """Return which pods a spread constraint counts: of the pod's own namespace."""
    selector = _narrowed(one.label_selector, pod, one.match_label_keys, ())
    return Selection(frozenset((pod.namespace,)), selector)


def term_of(pod: Pod, one: PodAffinityTerm, view: View) -> Term:
    """Return whom a term of the pod's affinity or anti-affinity means."""
    selector = _narrowed(one.label_selector, pod, one.match_label_keys, one.mismatch_label_keys)
    return Term(one.topology_key, Selection(_namespaces(pod, one, view), selector))


def group_of(pod: Pod, terms: Iterable[PodAffinityTerm], view: View) -> tuple[Term, ...]:
    """Return terms that one and the same pod must match."""
    return tuple(term_of(pod, one, view) for one in terms)


def _namespaces(pod: Pod, one: PodAffinityTerm, view: View) -> frozenset[str] | None:
    """The pod's own when none is named; an empty namespaceSelector means all."""
    if one.namespace_selector is None:
        return frozenset(one.namespaces) or frozenset((pod.namespace,))
    if one.namespace_selector.is_empty:
        return None
    found = set(one.namespaces)
    for namespace in view.all(NAMESPACES).values():
        try:
            if one.namespace_selector.matches(namespace.metadata.labels):
                found.add(namespace.name)
        except SelectorError:
            break
    return frozenset(found)


def _narrowed(
    selector: LabelSelector | None, pod: Pod, alike: Iterable[str], unlike: Iterable[str]
) -> LabelSelector | None:
    """A key that the pod does not have narrows nothing (API reference: matchLabelKeys)."""
    labels = pod.metadata.labels
    more = [
        LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
        for keys, operator in ((alike, "In"), (unlike, "NotIn"))
        for key in keys
        if key in labels
    ]
    if selector is None or not more:
        return selector
    return msgspec.structs.replace(selector, match_expressions=(*selector.match_expressions, *more))
