"""What DaemonSets ask of a node: each puts one pod on every node that its pods may run on.

The newest live pod of a DaemonSet says what the next one will ask, because admission may have added
to what the template says (LimitRange defaults, tolerations). Its node affinity is the template's:
the DaemonSet controller ties each pod to its node by one of its own.

A DaemonSet that cannot be read (a quantity, a selector) counts as nothing; others are not affected.

Must not: look at room; DaemonSet pods are reserved for, whoever else wants to run there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from unmoor.engine.held import Held, held_by
from unmoor.engine.requests import requests_of, used_by
from unmoor.engine.ways import ways_of
from unmoor.model import names, resources, taint
from unmoor.model.base import Key
from unmoor.model.kinds import DAEMON_SETS
from unmoor.model.node_selector import NodeSelector
from unmoor.model.pod import Pod, PodSpec
from unmoor.model.quantity import QuantityError
from unmoor.model.requirement import Requirements
from unmoor.model.resources import Resources
from unmoor.model.selector import SelectorError
from unmoor.model.snapshot import View
from unmoor.model.taint import Taint, Toleration
from unmoor.model.workload import DAEMON_TOLERATIONS, DaemonSet

_NEVER = datetime.min.replace(tzinfo=UTC)


class Daemon(msgspec.Struct, frozen=True):
    """What one DaemonSet asks of a node, and of which nodes.

    ``selector`` and ``affinity`` judge nodes that are there; ``ways``, one of which must suit, say
    the same of a node to come. ``asking`` is what the requests were read from. ``holds``: what its
    pod has on its node for itself alone.
    """

    uid: str
    asking: tuple[object, ...]
    requests: Resources
    tolerations: tuple[Toleration, ...]
    selector: dict[str, str]
    affinity: NodeSelector | None
    ways: tuple[Requirements, ...]
    holds: tuple[Held, ...] = ()

    def is_for(self, name: str, labels: Mapping[str, str]) -> bool:
        """True when a node of this name and exactly these labels gets a pod, taints aside."""
        for key, value in self.selector.items():
            if labels.get(key) != value:
                return False
        try:
            return self.affinity is None or self.affinity.matches(labels, name)
        except SelectorError:
            return False

    def may_be_for(self, requirements: Requirements) -> bool:
        """True when a node that satisfies ``requirements`` may get a pod, taints aside.

        Well-known labels that the requirements do not name may still get any value (spec 9.4).
        """
        known = names.WELL_KNOWN_LABELS
        return any(requirements.compatible(way, undefined=known) for way in self.ways)


class Daemons:
    """What each DaemonSet asks, from one view to the next. Dropping it costs time only.

    An exception leaves it half done: it is not to be used again.
    """

    def __init__(self, view: View) -> None:
        """Look at everything."""
        self.all: tuple[Daemon, ...]
        """By namespace and name; those that are going ask nothing."""
        self._look(view)

    def _look(self, view: View) -> None:
        self._owners = view.sorted(DAEMON_SETS)
        self._newest = {one.uid: _newest(view.pods_of(one.uid)) for one in self._owners}
        self._conclude()

    def _conclude(self) -> None:
        found = (_daemon(one, self._newest[one.uid]) for one in self._owners)
        self.all = tuple(one for one in found if one is not None)

    def follow(self, last: View, view: View, left: Iterable[Pod], come: Iterable[Pod]) -> None:
        """Go by ``view`` from now on, having gone by ``last``.

        ``left``, ``come``: all pods that may have changed, as they were and as they are.
        """
        owners = view.changed_since(last, DAEMON_SETS)
        if owners is None or owners:
            self._look(view)
            return
        before = dict(self._newest)
        for pod in left:
            for uid in self._owners_of(pod):
                if self._newest[uid] is pod:
                    self._newest[uid] = _newest(view.pods_of(uid))
        for pod in come:
            for uid in self._owners_of(pod):
                newest = self._newest[uid]
                if _is_live(pod) and (newest is None or _age(pod) > _age(newest)):
                    self._newest[uid] = pod
        if any(self._newest[uid] is not pod for uid, pod in before.items()):
            self._conclude()

    def _owners_of(self, pod: Pod) -> list[str]:
        references = pod.metadata.owner_references
        return [one.uid for one in references if one.uid in self._newest]


def _newest(pods: tuple[Pod, ...]) -> Pod | None:
    """The live pod that was made last; of several, the last by name."""
    newest, made = None, _NEVER
    for pod in pods:
        if not _is_live(pod):
            continue
        created = pod.metadata.creation_timestamp or _NEVER
        if created >= made:  # They come by name.
            newest, made = pod, created
    return newest


def _is_live(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is None and not pod.is_terminal


def _age(pod: Pod) -> tuple[datetime, Key]:
    return (pod.metadata.creation_timestamp or _NEVER, pod.key)


def _daemon(owner: DaemonSet, newest: Pod | None) -> Daemon | None:
    if owner.is_deleting:
        return None
    template = owner.spec.template.spec
    spec = template if newest is None else newest.spec
    node_affinity = template.affinity.node_affinity if template.affinity is not None else None
    affinity = node_affinity.required if node_affinity is not None else None
    terms = affinity.node_selector_terms if affinity is not None else None
    try:
        requests = requests_of(Pod(spec=spec))
    except QuantityError:
        return None
    return Daemon(
        uid=owner.uid,
        asking=_asking(spec),
        requests=requests,
        tolerations=(*spec.tolerations, *DAEMON_TOLERATIONS),
        selector=spec.node_selector,
        affinity=affinity,
        ways=ways_of(spec.node_selector, terms, None, ())[0],
        holds=held_by(Pod(spec=spec)),
    )


def asked_of(
    daemons: Iterable[Daemon], requirements: Requirements, taints: tuple[Taint, ...]
) -> tuple[dict[str, int], tuple[Held, ...]]:
    """Return what DaemonSets will ask of a node that is to come, and what they will hold there."""
    mine = [
        one
        for one in daemons
        if taint.tolerates_all(one.tolerations, taints) and one.may_be_for(requirements)
    ]
    return resources.total(one.requests for one in mine), _all_held(mine)


def meant_for(
    daemons: Iterable[Daemon], name: str, labels: Mapping[str, str], taints: tuple[Taint, ...]
) -> tuple[Daemon, ...]:
    """Return those that have a pod on such a node."""
    return tuple(
        one
        for one in daemons
        if taint.tolerates_all(one.tolerations, taints) and one.is_for(name, labels)
    )


def reserved_for(daemons: Iterable[Daemon], pods: Iterable[Pod]) -> dict[str, int]:
    """Return what DaemonSets will ask of their node beside what their ``pods`` there already have.

    Counted for each DaemonSet by itself: a pod of one that is larger than it should be makes no
    room for another. So it is never less than the difference of the sums (spec 9.4). A pod whose
    quantities cannot be read has all that it should.
    """
    there: dict[str, list[Pod]] = {}
    for pod in pods:
        for uid in daemon_sets_of(pod):
            there.setdefault(uid, []).append(pod)
    asked = (_still_to_come(one, there.get(one.uid, [])) for one in daemons)
    missing = [one for one in asked if one]
    if not missing:  # As on nearly every node.
        return {}
    return {key: amount for key, amount in resources.total(missing).items() if amount > 0}


def held_for(daemons: Iterable[Daemon], pods: Iterable[Pod]) -> tuple[Held, ...]:
    """Return what those hold that have no pod among ``pods``, those of their node, yet."""
    holding = [one for one in daemons if one.holds]
    if not holding:  # As on nearly every node.
        return ()
    there = {uid for pod in pods for uid in daemon_sets_of(pod)}
    return _all_held(one for one in holding if one.uid not in there)


def _all_held(daemons: Iterable[Daemon]) -> tuple[Held, ...]:
    return tuple(held for one in daemons for held in one.holds)


def daemon_sets_of(pod: Pod) -> list[str]:
    """Return the uids of the DaemonSets that a pod is of: one, if any, normally."""
    kind = DAEMON_SETS.kind
    return [one.uid for one in pod.metadata.owner_references if one.kind == kind and one.controller]


def _still_to_come(daemon: Daemon, pods: list[Pod]) -> Resources:
    if not pods:
        return daemon.requests
    if _asking(pods[0].spec) == daemon.asking:  # As nearly always: nothing has to be added up.
        return {}
    try:
        has = resources.total(used_by(pod) for pod in pods)
    except QuantityError:
        return {}
    left = resources.subtract(daemon.requests, has)
    return {name: max(amount, 0) for name, amount in left.items()}


def _asking(spec: PodSpec) -> tuple[object, ...]:
    """All that the requests of a pod are made of."""
    return (spec.containers, spec.init_containers, spec.overhead, spec.resources)
