"""What a scheduler knows of the nodes: who is on each, and what those who are there ask of others.

The nodes are as kube-scheduler sees them: their own labels, taints and allocatable, and all pods
that are bound and not finished. A node is looked at anew only when something about it has changed,
and pods are counted by namespace and labels, so that one more pod costs little in a large cluster.

Must not: judge, or remember what the cluster does not say; dropping it costs time only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from unmoor.engine.places import volume_room_of
from unmoor.engine.scene import Place
from unmoor.engine.selection import Selection, Term, content_of, term_of
from unmoor.engine.sites import Standing
from unmoor.engine.wish import Wish
from unmoor.model import resources
from unmoor.model.kinds import CSI_NODES, NODES
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.quantity import QuantityError
from unmoor.model.resources import Resources
from unmoor.model.scheduling import PodAffinity
from unmoor.model.snapshot import View
from unmoor.sim.actors.scoring import HARD_AFFINITY_WEIGHT, counted_there

CLASSES_MOST = 4_000
"""With more classes than this, twice as many as there were lead to a new look at everything."""
_Class: TypeAlias = tuple[str, bytes, bool]
"""Pods that nobody can tell apart by selecting: namespace, labels, and whether they are leaving."""


class Site(Standing):
    """A node, and what its pods ask of others."""

    def __init__(self, place: Place, view: View) -> None:
        """Start with the pods that are there."""
        super().__init__(place, view)
        self.counted: Resources = resources.total(_counted(pod) for pod in place.pods)
        self.pulls: list[tuple[Term, int]] = []
        self.is_guarded = False
        for pod in place.pods:
            self._hear(pod, view)

    @property
    def requested(self) -> dict[str, int]:
        """What the pods on it ask for."""
        return resources.subtract(self.place.allocatable, self.free)

    def take(self, wish: Wish, view: View) -> None:
        """Have a pod here that is bound, or as good as bound."""
        self.put(wish)
        self.counted = resources.add(self.counted, _counted(wish.pod))
        self._hear(wish.pod, view)

    def _hear(self, pod: Pod, view: View) -> None:
        """Whom it wants near, or not, and how much; some are kept away whatever they say."""
        affinity = pod.spec.affinity
        if affinity is None:
            return
        near = affinity.pod_affinity or PodAffinity()
        apart = affinity.pod_anti_affinity or PodAffinity()
        self.is_guarded = self.is_guarded or bool(apart.required)
        wanted = [(one, HARD_AFFINITY_WEIGHT) for one in near.required]
        wanted += [(one.pod_affinity_term, one.weight) for one in near.preferred]
        wanted += [(one.pod_affinity_term, -one.weight) for one in apart.preferred]
        self.pulls += [(term_of(pod, one, view), weight) for one, weight in wanted]


class Floor:
    """All nodes, by name, kept up to date with the changes that it is told of."""

    def __init__(self, view: View) -> None:
        """Look at everything at the first refresh."""
        self.view = view
        self.sites: dict[str, Site] = {}
        self._stale: set[str] = set()
        self._is_stale = True
        self._where: dict[_Class, Counter[str]] = {}
        self._labels: list[tuple[_Class, dict[str, str]]] = []
        self._selected: dict[object, tuple[int, list[_Class]]] = {}
        self._classes_most = CLASSES_MOST

    def forget(self, node: str) -> None:
        """Something about this node, or about a pod on it, has changed."""
        self._stale.add(node)

    def forget_all(self) -> None:
        """Something has changed that concerns every node."""
        self._is_stale = True

    def refresh(self, assumed: Iterable[tuple[str, Wish]]) -> None:
        """Look anew at what has changed. ``assumed``: bound, which the view does not show yet."""
        if self._is_stale or len(self._labels) > self._classes_most:
            self._begin()
        if not self._stale:
            return
        stale, self._stale = self._stale, set()
        for name in sorted(stale):
            old = self.sites.pop(name, None)
            for pod in old.pods if old is not None else ():
                self._count(pod, name, -1)
            node = self.view.node(name)
            if node is not None:
                site = self.sites[name] = Site(self._place(node), self.view)
                for pod in site.pods:
                    self._count(pod, name, 1)
        for name, wish in assumed:
            if name in stale and name in self.sites:
                self.take(name, wish)
        self.sites = dict(sorted(self.sites.items()))

    def _begin(self) -> None:
        self._classes_most = max(CLASSES_MOST, 2 * sum(map(bool, self._where.values())))
        self.sites, self._where, self._labels, self._selected = {}, {}, [], {}
        self._stale, self._is_stale = {name for _, name in self.view.all(NODES)}, False

    def take(self, name: str, wish: Wish) -> None:
        """Count a pod on a node of which the view does not know yet."""
        self.sites[name].take(wish, self.view)
        self._count(wish.pod, name, 1)

    def count(self, selection: Selection, *, with_leaving: bool) -> Counter[str]:
        """Return how many of the selected pods are on each node."""
        found: Counter[str] = Counter()
        for one in self._classes(selection):
            if with_leaving or not one[2]:
                found.update(self._where.get(one, ()))
        return found

    def _classes(self, selection: Selection) -> list[_Class]:
        seen, found = self._selected.get(selection.content, (0, []))
        for one, labels in self._labels[seen:]:
            if selection.selects(one[0], labels):
                found.append(one)
        self._selected[selection.content] = (len(self._labels), found)
        return found

    def _count(self, pod: Pod, name: str, pods: int) -> None:
        one = (pod.namespace, content_of(pod.metadata.labels), pod.is_deleting)
        there = self._where.get(one)
        if there is None:
            there = self._where[one] = Counter()
            self._labels.append((one, pod.metadata.labels))
        there[name] += pods
        if not there[name]:
            del there[name]

    def _place(self, node: Node) -> Place:
        pods = self.view.pods_on(node.name)
        try:
            allocatable: Resources = resources.parse_resources(node.status.allocatable)
        except QuantityError:
            allocatable = {}
        return Place(
            name=node.name,
            labels=node.metadata.labels,
            taints=node.spec.taints,
            is_cordoned=node.is_cordoned,
            allocatable=allocatable,
            pods=tuple(pod for pod in pods if not pod.is_terminal),
            volume_room=volume_room_of(self.view.get(CSI_NODES, node.name)),
        )


def _counted(pod: Pod) -> Resources:
    try:
        return counted_there(pod)
    except QuantityError:
        return {resources.PODS: 1}
