"""Is a pod promised a place where it may run, and does it get no second machine while it waits?

Whatever provisioning nominates a pod to is judged on the true state of the server, by what
kube-scheduler would refuse, preferences aside. The oracle is asked, so what is found is a mistake
in the fast engine, or in what leads to a plan or follows from it; a mistake of the oracle itself is
for others to find (tests/engine).

What unmoor may not know yet is left out: nothing is said when something that decides about places
has changed not long before the plan was made.

Must not: import policy, or what decides in lifecycle; or write anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from unmoor.engine import oracle
from unmoor.engine.refusal import Constraint
from unmoor.engine.scene import site_of_machine
from unmoor.engine.sites import Opened, Standing
from unmoor.engine.wish import Wish, levels_of
from unmoor.lifecycle.effects import Create, Nominate
from unmoor.model import names
from unmoor.model.base import JSON, Key
from unmoor.model.kinds import Resource
from unmoor.model.pod import Pod
from unmoor.runtime.story import Record
from unmoor.sim import truth as true
from unmoor.sim import vacancies
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.truth import Truth

KEPT = "promises-are-kept"
ROOMY = "a-machine-has-room-for-its-pods"
ONCE = "a-pod-gets-one-machine"
PLANNING_S = 1.0
"""So long a pass over the cluster takes at most, until what it plans is done."""

MACHINE = "machine/"

Places = Mapping[str, Sequence[Key]]
"""``node/NAME`` or ``machine/NAME`` to the pods that are to go there."""


class Promised(msgspec.Struct, frozen=True):
    """What one look has promised.

    ``made``: the names of machines that it has created. ``failed``: by name, those that it could
    not create, or does not know to be there, as it wanted them. Nobody is promised anything there,
    and yet others may have been promised their places for the sake of pods that were to go there.
    """

    who: str
    at_s: float
    places: Places
    made: frozenset[str] = frozenset()
    failed: Mapping[str, JSON] = {}


def promised_by(who: str, record: Record) -> Promised | None:
    """Return what a step has promised, None when it was nothing."""
    made: set[str] = set()
    failed: dict[str, JSON] = {}
    nominated: Places | None = None
    for outcome in record.outcomes:
        match outcome.effect:
            case Create(ref=ref) if outcome.problem is None:
                made.add(ref.name)
            case Create(ref=ref, body=body):
                failed[ref.name] = body
            case Nominate(places=planned):
                nominated = planned
            case _:
                pass
    if nominated is None:
        return None
    return Promised(who, record.moment.mono, nominated, frozenset(made), failed)


class Promises:
    """What was promised, and when anything changed that decides about places."""

    def __init__(self, truth: Truth, breach: Callable[[str, str], None]) -> None:
        """Watch the server of ``truth`` from now on; call ``breach`` with a rule, and how."""
        self._truth = truth
        self._breach = breach
        self._meant: dict[str, Sequence[Key]] = {}
        """Machines, by uid, that are not launched yet, and the pods that they were made for."""
        self._changed_at = 0.0
        self._disturbed_at = 0.0
        self._judged: tuple[Places, Mapping[str, JSON]] | None = None
        """The plan that was judged last, on the world as it still is."""
        self._judgement: list[tuple[str, str, oracle.Refusals]] = []
        truth.server.observers.append(self._observe)

    def _observe(self, _resource: Resource[Any], entry: Entry) -> None:
        if entry.obj.get("kind") in vacancies.LOOKED_AT:
            self._judged = None
        if entry.obj.get("kind") == "Machine":
            self._look_for_room(entry.obj)
        old = None if entry.old is None else _decisive(entry.old)
        new = None if entry.type == "DELETED" else _decisive(entry.obj)
        if old == new or self._is_made_by_unmoor(entry):
            return
        self._changed_at = self._truth.time_s()
        if not _is_coming_up(entry):
            self._disturbed_at = self._changed_at

    def _is_made_by_unmoor(self, entry: Entry) -> bool:
        is_new = entry.obj.get("kind") == "Machine" and entry.type == "ADDED"
        return is_new and true.uid(entry.obj) in self._truth.made

    def note(self, plan: Promised, blind_s: float) -> None:
        """Take what was promised."""
        truth = self._truth
        lately = plan.at_s - blind_s - PLANNING_S
        is_alone = not any(who != plan.who and at >= lately for who, at in truth.made.values())
        if self._changed_at < lately and is_alone:
            for pod, place, why in self._refused(plan):
                said = "; ".join(map(str, why)) or "it is not there"
                self._breach(KEPT, f"{plan.who}: pod {pod} was promised {place}: {said}")
        for place, keys in plan.places.items():
            name = place.removeprefix(MACHINE)
            if name in plan.failed:
                continue
            for body in (truth.get("Pod", pod, namespace) for namespace, pod in keys):
                if body is None:
                    continue
                if name in plan.made and is_alone:
                    self._compare(plan.who, body, place, blind_s)
                truth.promised[true.uid(body)] = (place, plan.at_s)
            made = truth.get("Machine", name) if name in plan.made else None
            if made is not None:
                self._meant[true.uid(made)] = keys
                self._look_for_room(made)

    def _refused(self, plan: Promised) -> list[tuple[str, str, oracle.Refusals]]:
        """As :func:`refused` says. The same plan, while nothing has changed, is judged once."""
        asked = (plan.places, plan.failed)
        if asked != self._judged:
            self._judgement = list(refused(self._truth, *asked))
            self._judged = asked
        return self._judgement

    def _compare(self, who: str, pod: JSON, place: str, blind_s: float) -> None:
        """With where the pod was to go before: no second machine for it, while all is quiet."""
        before, at_s = self._truth.promised.get(true.uid(pod), (place, 0.0))
        first = self._truth.get("Machine", before.removeprefix(MACHINE))
        is_there = before != place and first is not None and not true.is_deleting(first)
        is_quiet = self._disturbed_at < at_s - blind_s - PLANNING_S
        if is_there and is_quiet and self._truth.is_in_stock:
            said = f"pod {true.name(pod)} had {before} coming up and got {place}"
            self._breach(ONCE, f"{who}: {said}")

    def _look_for_room(self, machine: JSON) -> None:
        """As soon as it is known what a machine is. Nobody else can be there yet."""
        if not (machine.get("status") or {}).get("providerID"):
            return
        name = true.name(machine)
        meant = self._meant.pop(true.uid(machine), ())
        for pod, _, why in refused(self._truth, {f"{MACHINE}{name}": meant} if meant else {}):
            short = [str(one) for one in why if one.constraint is Constraint.RESOURCES]
            if short:
                self._breach(ROOMY, f"machine {name} was made for pod {pod}: {'; '.join(short)}")


def expected(truth: Truth, without: Collection[str]) -> frozenset[str]:
    """Return the machines that take one of these pods (uid), which was promised to it last."""
    waiting: dict[str, list[Key]] = {}
    for pod in truth.all("Pod"):
        place, _ = truth.promised.get(true.uid(pod), ("", 0.0))
        if true.uid(pod) in without and place.startswith(MACHINE):
            key = (pod["metadata"].get("namespace", ""), true.name(pod))
            waiting.setdefault(place, []).append(key)
    taken = {place for place, keys in waiting.items() if not list(refused(truth, {place: keys}))}
    return frozenset(place.removeprefix(MACHINE) for place in taken)


def refused(
    truth: Truth, places: Places, failed: Mapping[str, JSON] = MappingProxyType({})
) -> Iterator[tuple[str, str, oracle.Refusals]]:
    """Return whom a promised place refuses, however the others come: pod, place, and why.

    No reason: there is no such place. ``failed``: machines that count as if they were there.
    """
    where = {key: place for place, keys in places.items() for key in keys}
    bodies = (truth.get("Pod", name, namespace) for namespace, name in where)
    pods = [truth.typed(one) for one in bodies if one is not None and _still_waits(truth, one)]
    if not pods:
        return
    run = oracle.Run(vacancies.scene_now(truth, pods, instead=failed))
    run.watch(pods)
    sites: dict[str, Standing | Opened] = {site.name: site for site in run.standing}
    sites |= {site.name: site for site in run.opened}
    queue = sorted((_least(run, pod) for pod in pods), key=lambda w: oracle.order_of(w.pod, w))

    def site_of(wish: Wish) -> Standing | Opened | None:
        return sites.get(_site(truth, where[wish.pod.key]))

    is_moving = True
    while is_moving:
        left = [wish for wish in queue if _refusals(run, wish, site_of(wish)) is not None]
        is_moving = len(left) < len(queue)
        queue = left
    for wish in queue:
        yield wish.pod.name, where[wish.pod.key], _refusals(run, wish, site_of(wish)) or ()


def _least(run: oracle.Run, pod: Pod) -> Wish:
    """What it insists on."""
    return run.wish(pod, levels_of(pod, has_soft_taints=run.has_soft_taints))


def _refusals(
    run: oracle.Run, wish: Wish, site: Standing | Opened | None
) -> oracle.Refusals | None:
    """Put it there, or say why not; None when it is there."""
    if site is None:
        return ()
    company = run.company(wish)
    if isinstance(site, Standing):
        why = oracle.standing_refusals(wish, company, site)
        if not why:
            site.put(wish)
        return why or None
    found = oracle.fit(wish, company, site)
    if not isinstance(found, oracle.Fit):
        return found
    site.put(wish, found.requirements, found.types)
    return None


def _site(truth: Truth, place: str) -> str:
    """Under which name a scene has a place: that of the node, once there is one."""
    kind, _, name = place.partition("/")
    machine = truth.get("Machine", name) if kind == "machine" else None
    provider_id = ((machine or {}).get("status") or {}).get("providerID", "")
    nodes = (one for one in truth.all("Node") if one["spec"].get("providerID") == provider_id)
    node = next(nodes, None) if provider_id else None
    if node is not None:
        return true.name(node)
    is_namesake = kind == "machine" and truth.get("Node", name) is not None
    return site_of_machine(name, is_namesake=is_namesake)


def _still_waits(truth: Truth, pod: JSON) -> bool:
    node = pod["spec"].get("nodeName", "")
    return true.is_workload(pod) and not true.is_deleting(pod) and (not node or node in truth.going)


def _decisive(obj: JSON) -> Any:
    """All of an object that decides who may be where; None when it does not."""
    meta, status = obj["metadata"], obj.get("status") or {}
    match obj.get("kind"):
        case "Pod" if obj["spec"].get("nodeName"):
            is_over = status.get("phase") in true.TERMINAL
            return [obj["spec"], meta.get("labels"), true.is_deleting(obj), is_over]
        case "Node":
            return true.room_of(obj)
        case "Machine":
            said = {key: value for key, value in status.items() if key != "conditions"}
            return [said, true.is_deleting(obj)]
        case "Provisioner" | "DaemonSet":
            return [obj.get("spec"), true.is_deleting(obj)]
        case _:
            return None


def _is_coming_up(entry: Entry) -> bool:
    """A machine gets its instance, its node joins and becomes ready: all as it was to be."""
    old, new = entry.old, entry.obj
    if (
        entry.type == "DELETED"
        or true.is_deleting(new)
        or new.get("kind") not in {"Machine", "Node"}
    ):
        return False
    if new.get("kind") == "Machine":
        return old is not None
    labels = ((old or new)["metadata"].get("labels")) or {}
    return names.INITIALIZED not in labels and not new["spec"].get("unschedulable")
