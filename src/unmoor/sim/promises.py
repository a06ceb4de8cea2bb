"""Is a pod promised a place where it may run, and does it get no second machine while it waits?

Whatever provisioning nominates a pod to is judged on the true state of the server, by what
kube-scheduler would refuse, preferences aside. The oracle is asked, so what is found is a mistake
in the fast engine, or in what leads to a plan or follows from it; a mistake of the oracle itself is
for others to find (tests/engine).

What unmoor may not know yet is left out: nothing is said of a pod and a place when something that
decides about these two has changed not long before the plan was made (``news``).

Must not: import policy, or what decides in lifecycle; or write anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from types import MappingProxyType
from typing import Any

import msgspec

from unmoor.engine import oracle
from unmoor.engine.refusal import Constraint, Refusals
from unmoor.engine.sites import Opened, Standing
from unmoor.engine.wish import Wish, levels_of, wish_of
from unmoor.lifecycle.effects import Create, Nominate
from unmoor.model import names
from unmoor.model.base import JSON, Key
from unmoor.model.kinds import Resource
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.runtime.story import Record
from unmoor.sim import replaced, vacancies
from unmoor.sim import truth as true
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.news import OF_COMPANY, News
from unmoor.sim.past import phase_of
from unmoor.sim.truth import Truth

KEPT = "promises-are-kept"
ROOMY = "a-machine-has-room-for-its-pods"
ONCE = "a-pod-gets-one-machine"
PLANNING_S = 1.0
"""So long a pass over the cluster takes at most, until what it plans is done."""

MACHINE = "machine/"
PERSON = "a person"

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
        self._meant: dict[str, tuple[Sequence[Key], float]] = {}
        """Machines, by uid, that are not launched yet, the pods that they were made for, and since
        when nothing may be known to whoever has made them."""
        self._made_for: dict[str, frozenset[str]] = {}
        """The same of every machine, launched or not: pods by uid."""
        self._news = News(truth)
        self._judged: tuple[Places, Mapping[str, JSON]] | None = None
        """The plan that was judged last, on the world as it still is."""
        self._judgement: list[Refused] = []
        self._looked: dict[str, float] = {}
        """When each command, by name, was no longer one whose nodes are called back (R58)."""
        truth.server.observers.append(self._observe)

    def _observe(self, _resource: Resource[Any], entry: Entry) -> None:
        if entry.obj.get("kind") in vacancies.LOOKED_AT:
            self._judged = None
        if entry.obj.get("kind") == "Machine":
            self._look_for_room(entry.obj)
        if entry.obj.get("kind") == "Disruption":
            self._note_command(entry)
        self._news.observe(entry)

    def _note_command(self, entry: Entry) -> None:
        is_undecided = entry.type != "DELETED" and phase_of(entry.obj) == "Pending"
        if is_undecided:
            self._looked.pop(true.name(entry.obj), None)
        else:
            self._looked.setdefault(true.name(entry.obj), self._truth.time_s())

    def note(self, plan: Promised, blind_s: float) -> None:
        """Take what was promised."""
        truth = self._truth
        lately = plan.at_s - blind_s - PLANNING_S
        for one in self._broken(plan, lately):
            said = "; ".join(map(str, one.why)) or "it is not there"
            self._breach(KEPT, f"{plan.who}: pod {one.name} was promised {one.place}: {said}")
        bodies = {key: truth.get("Pod", key[1], key[0]) for key in chain(*plan.places.values())}
        for place, keys in plan.places.items():
            if place.removeprefix(MACHINE) in plan.made:
                for body in filter(None, map(bodies.get, keys)):
                    self._compare(plan, body, place, lately)
        for place, keys in plan.places.items():
            name = place.removeprefix(MACHINE)
            if name in plan.failed:
                continue
            known = filter(None, map(bodies.get, keys))
            uids = [true.uid(body) for body in known if _still_waits(truth, body)]
            truth.promised.update(dict.fromkeys(uids, (place, plan.at_s)))
            truth.planned |= {true.uid(one) for one in (truth.get("Machine", name),) if one}
            made = truth.get("Machine", name) if name in plan.made else None
            if made is not None:
                self._meant[true.uid(made)] = (keys, lately)
                self._made_for[true.uid(made)] = frozenset(uids)
                self._look_for_room(made)

    def _broken(self, plan: Promised, lately: float) -> Iterator[Refused]:
        """Whom a place refuses for what was known.

        A pod that looks at others may also miss one that was refused for what was not; and where
        they are to be even, a machine that another process has just made is one more place.
        """
        made = self._truth.made.values()
        is_alone = not any(who != plan.who and at >= lately for who, at in made)
        left = self._refused(plan)
        known = [self._known(one, lately) for one in left]
        is_sure = is_alone and None not in known
        for one, why in zip(left, known, strict=True):
            if why is not None and (is_sure or not why or why - OF_COMPANY):
                yield one

    def _known(self, one: Refused, lately: float) -> frozenset[Constraint] | None:
        """For which reasons whoever may know nothing since ``lately`` knew that it is refused.

        None: for none of them. No reason: it was known that there is no such place.
        """
        if not one.why:
            return frozenset() if self._news.of_place(one.place) < lately else None
        news = self._news
        is_open = self._is_called_back(one.place, lately)
        known = (
            r
            for r in one.why
            if not (is_open and r.constraint is Constraint.UNSCHEDULABLE)
            and news.of_refusal(r, one.place, one.wish) < lately
        )
        return frozenset(reason.constraint for reason in known) or None

    def _is_called_back(self, place: str, lately: float) -> bool:
        """A command has cordoned the node, and lets it go for whoever is to run there (R58)."""
        node = self._truth.get("Node", place.removeprefix("node/"))
        if node is None or self._truth.cordoned_by.get(true.uid(node), PERSON) == PERSON:
            return False
        command = true.marks_of(node).get(names.DISRUPTION, "")
        return bool(command) and self._looked.get(command, inf) >= lately

    def _refused(self, plan: Promised) -> list[Refused]:
        """As :func:`refused` says. The same plan, while nothing has changed, is judged once."""
        asked = (plan.places, plan.failed)
        if asked != self._judged:
            self._judgement = list(refused(self._truth, *asked))
            self._judged = asked
        return self._judgement

    def _compare(self, plan: Promised, pod: JSON, place: str, lately: float) -> None:
        """With where the pod was to go before: no second machine while that one would take it.

        A pod that was bound since, and whose node goes, has none to come back to.
        """
        truth, who = self._truth, plan.who
        before, promised_at = truth.promised.get(true.uid(pod), (place, 0.0))
        if truth.bound_at.get(true.uid(pod), -inf) > promised_at:
            return
        name = before.removeprefix(MACHINE)
        first = truth.get("Machine", name)
        if before == place or first is None or true.is_deleting(first) or name in plan.made:
            return  # It is gone, even though another has its name.
        if replaced.is_replacement(first):
            return  # Others have come before it.
        maker, made_at = truth.made.get(true.uid(first), (who, 0.0))
        if maker != who and made_at >= lately:
            return  # It may not know of that one.
        if truth.bound_at.get(true.uid(pod), -inf) > made_at:
            return  # It has had another place since, and loses that; others come first now.
        if true.uid(first) in truth.risen and self._is_taken(plan, pod, before):
            return
        if self._is_known(first, pod, lately) and self._takes(first, pod, before):
            self._breach(
                ONCE, f"{who}: pod {true.name(pod)} had {before} coming up and got {place}"
            )

    def _is_taken(self, plan: Promised, pod: JSON, before: str) -> bool:
        """The machine is up, and others are to run there now, beside whom there is no room.

        It was kept for its pods while it came up. Who cannot leave a node for long is one of many.
        """
        truth = self._truth
        others = plan.places.get(f"node/{vacancies.site_of(truth, before)}", ())
        key = (pod["metadata"].get("namespace", ""), true.name(pod))
        together = {before: [*(one for one in others if one != key), key]}
        return bool(others) and any(one.name == true.name(pod) for one in refused(truth, together))

    def _is_known(self, machine: JSON, pod: JSON, lately: float) -> bool:
        """Whether the machine takes this pod is known to whoever may know nothing since ``lately``.

        What the cloud is out of may keep a machine from a zone, and so from pods that look at zones
        and at each other; all others may go there, whatever it becomes.
        """
        if self._news.of_place(f"{MACHINE}{true.name(machine)}") >= lately:
            return False
        if not vacancies.is_choosy(pod):
            return True
        is_launched = bool((machine.get("status") or {}).get("providerID"))
        is_sure = is_launched or self._truth.is_in_stock
        return is_sure and self._news.of_company(_insisting(self._truth, pod)) < lately

    def _takes(self, machine: JSON, pod: JSON, place: str) -> bool:
        """Whom it was made for comes first; a later pod goes there when all have room together."""
        truth = self._truth
        mine = self._made_for.get(true.uid(machine), frozenset())
        is_first = true.uid(pod) in mine
        meant = [
            (one["metadata"].get("namespace", ""), true.name(one))
            for one in truth.all("Pod")
            if truth.promised.get(true.uid(one), ("", 0.0))[0] == place
            and (true.uid(one) in mine or not is_first)
        ]
        left = [one.name for one in refused(truth, {place: meant})]
        return true.name(pod) not in left if is_first else not left

    def _look_for_room(self, machine: JSON) -> None:
        """As soon as it is known what a machine is. Nobody else can be there yet, unless a
        DaemonSet has come that nobody knew of, or the answer of the cloud came after the node.
        """
        if not (machine.get("status") or {}).get("providerID"):
            return
        name = true.name(machine)
        meant, lately = self._meant.pop(true.uid(machine), ((), 0.0))
        node = vacancies.site_of(self._truth, f"{MACHINE}{name}")
        is_sure = meant and self._news.of_daemons <= lately and not self._truth.pods_on(node)
        for one in refused(self._truth, {f"{MACHINE}{name}": meant} if is_sure else {}):
            short = [str(why) for why in one.why if why.constraint is Constraint.RESOURCES]
            if short:
                said = f"machine {name} was made for pod {one.name}: {'; '.join(short)}"
                self._breach(ROOMY, said)


def expected(truth: Truth, without: Collection[str]) -> dict[str, int]:
    """Return the machines that take pods of these (uid), which were promised to them last: how many
    at least. Of choosy ones it can be told of one, where all of them would be taken.
    """
    waiting: dict[str, list[JSON]] = {}
    for pod in truth.all("Pod"):
        place, _ = truth.promised.get(true.uid(pod), ("", 0.0))
        if true.uid(pod) in without and place.startswith(MACHINE):
            waiting.setdefault(place, []).append(pod)
    found = {}
    for place, pods in waiting.items():
        keys = [(pod["metadata"].get("namespace", ""), true.name(pod)) for pod in pods]
        left = {one.name for one in refused(truth, {place: keys})}
        plain = [one for one in pods if not vacancies.is_choosy(one) and true.name(one) not in left]
        if plain or not left:
            found[place.removeprefix(MACHINE)] = max(len(plain), 1)
    return found


class Refused(msgspec.Struct, frozen=True):
    """A pod, by what it insists on, the place that refuses it, and why.

    No reason: there is no such place.
    """

    wish: Wish
    place: str
    why: Refusals

    @property
    def name(self) -> str:
        """That of the pod."""
        return self.wish.pod.name


def refused(
    truth: Truth, places: Places, failed: Mapping[str, JSON] = MappingProxyType({})
) -> Iterator[Refused]:
    """Return whom a promised place refuses, however the others come.

    ``failed``: machines that count as if they were there.
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
        return sites.get(vacancies.site_of(truth, where[wish.pod.key]))

    is_moving = True
    while is_moving:
        left = [wish for wish in queue if _refusals(run, wish, site_of(wish)) is not None]
        is_moving = len(left) < len(queue)
        queue = left
    for wish in queue:
        yield Refused(wish, where[wish.pod.key], _refusals(run, wish, site_of(wish)) or ())


def _insisting(truth: Truth, pod: JSON) -> Wish:
    """What a pod insists on, wherever it may go."""
    found: Pod = truth.typed(pod)
    return wish_of(found, View.of(), levels_of(found))


def _least(run: oracle.Run, pod: Pod) -> Wish:
    """What it insists on."""
    return run.wish(pod, levels_of(pod, has_soft_taints=run.has_soft_taints))


def _refusals(run: oracle.Run, wish: Wish, site: Standing | Opened | None) -> Refusals | None:
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


def _still_waits(truth: Truth, pod: JSON) -> bool:
    node = pod["spec"].get("nodeName", "")
    return true.is_workload(pod) and not true.is_deleting(pod) and (not node or node in truth.going)
