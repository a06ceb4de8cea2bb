"""What must never happen, checked at every write of unmoor against the true state of the server.

Each rule is plain code on raw objects, and shares nothing with what decides; but where a pod fits,
the oracle says (``vacancies``, ``promises``). A breach is noted with the rule's name, the time and
the objects concerned; whoever runs the world looks at ``breaches``.

What cannot be known is allowed for, and nothing else: a process learns of a pod a little later than
the server (``unseen_s``), and reads the time off a wall clock that may be wrong (``skew_s``).

Must not: import policy or lifecycle, or write anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from unmoor.model import names
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource
from unmoor.sim import methods, purchases, replaced, vacancies, voluntary
from unmoor.sim import truth as true
from unmoor.sim.allowances import Allowances
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.ours import not_ours
from unmoor.sim.past import Past
from unmoor.sim.truth import Truth
from unmoor.sim.witness import Act, Witness

BREACHES_KEPT = 20


class Breach(msgspec.Struct, frozen=True):
    """A rule that was broken. ``about``: the objects whose story is to be told."""

    rule: str
    at_s: float
    message: str
    about: tuple[Ref, ...] = ()

    def __str__(self) -> str:
        """``t=14.9s no-machine-ended-under-a-pod: ...``."""
        return f"t={self.at_s:.1f}s {self.rule}: {self.message}"


Rule = Callable[["Checkers", Act, Entry], Iterator[str]]


class Checkers:
    """The rules at work in one world."""

    def __init__(self, truth: Truth, witness: Witness, allowances: Allowances) -> None:
        """Watch the server of ``truth`` from now on."""
        self.truth = truth
        self.allowances = allowances
        self.breaches: list[Breach] = []
        self.hung_s: Callable[[str], float] = lambda _who: 0.0
        """For how long a process has heard nothing by now: one watch after the other may hang."""
        self.limits = purchases.Limits(truth)
        self.past = Past(truth, allowances)
        self._voluntary = voluntary.rules(self.past)
        self._witness = witness
        truth.server.observers.append(self._observe)
        witness.listen(self._heard)

    def breach(self, rule: str, message: str, *about: Ref) -> None:
        """Note that a rule was broken."""
        if len(self.breaches) < BREACHES_KEPT:
            self.breaches.append(Breach(rule, self.truth.time_s(), message, about))

    def _observe(self, _resource: Resource[Any], entry: Entry) -> None:
        act = self._witness.acting
        if act is not None:
            allowed = self.allowances
            blind_s = self.hung_s(act.who) + allowed.unseen_s
            allowed.blind_s = max(allowed.blind_s, blind_s)
            for name, rule in _RULES_OF.get(entry.obj.get("kind", ""), ()):
                self._apply(name, rule, act, entry)
            self._say("nothing-that-is-not-ours", not_ours(self.truth, act, entry), act, entry)
            for one in self._voluntary:
                self._say(one.name, one.broken(entry, act.who), act, entry)
        who = act.who if act is not None else ""
        self.past.note(entry, who)
        for one in self._voluntary:
            one.note(entry, who)
        self.truth.note(entry, who)

    def _apply(self, name: str, rule: Rule, act: Act, entry: Entry) -> None:
        self._say(name, rule(self, act, entry), act, entry)

    def _say(self, name: str, messages: Iterable[str], act: Act, entry: Entry) -> None:
        for message in messages:
            said = f"{act.who}, {act.call.verb} {act.call.ref}: {message}"
            meta = entry.obj["metadata"]
            kind = str(entry.obj.get("kind", ""))
            ref = Ref(kind, meta["name"], namespace=meta.get("namespace", ""), uid=meta["uid"])
            self.breach(name, said, ref)

    def _heard(self, act: Act) -> None:
        """An eviction that changed nothing was admitted all the same: the pod was going already."""
        if act.call.subresource == "eviction":
            pod = self.truth.get("Pod", act.call.ref.name, act.call.ref.namespace)
            sent = act.call.body.get("deleteOptions") or {}
            meant = (sent.get("preconditions") or {}).get("uid", "")
            if pod is not None and meant in {"", true.uid(pod)}:
                self.truth.admit(pod)

    # What is allowed for.

    def is_over(self, node: JSON | None) -> bool:
        """The drain of this node may have been over by force: deadline and clock allowed for."""
        if node is None or not true.is_deleting(node):
            return False
        since = true.deleted_at(node)
        lengths = []
        if self.allowances.deadline_s is not None:
            lengths.append(self.allowances.deadline_s)
        written = true.marks_of(node).get(names.DRAIN_DEADLINE, "")
        if written.endswith("s") and written[:-1].isdigit():
            lengths.append(float(written[:-1]))
        least_s, skew_s = self.allowances.deadline_least_s, self.allowances.skew_s
        gone_s = (self.truth.now() - since).total_seconds() + 1.0
        return any(gone_s >= max(one - skew_s, min(one, least_s)) for one in lengths)

    def is_stuck(self, pod: JSON, skew_s: float = 0.0) -> bool:
        """It should have been gone for long enough; ``skew_s``: as a wrong clock may see it."""
        if not true.is_deleting(pod):
            return False
        waited = self.truth.now() - true.deleted_at(pod)
        return waited.total_seconds() + skew_s + 1.0 >= self.allowances.stuck_s

    def is_unseen(self, pod: JSON) -> bool:
        """Bound so lately that a process may not know it."""
        at = self.truth.bound_at.get(true.uid(pod), 0.0)
        return self.truth.time_s() - at < self.allowances.unseen_s

    def may_be_left(self, node: JSON, pod: JSON) -> bool:
        """Its machine may end although the pod is there (001:28, R1, drain deadline)."""
        if not true.is_workload(pod) or self.is_stuck(pod):
            return True
        if self.is_unseen(pod) or self.is_over(node):
            return True
        rounds = self.truth.rounds[true.name(node), true.owner_of(pod)]
        is_returning = bool(true.owner_of(pod)) and rounds > self.allowances.rounds
        is_asked = true.uid(pod) in self.truth.admitted or true.is_deleting(pod)
        return is_returning and is_asked


# The rules. Each gets the act, and what it has written: ``old`` is what stood there before.


def _pod_leaves_by_eviction(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """A pod that unmoor removes leaves by an admitted eviction, or at a drain's deadline."""
    pod = entry.old or entry.obj
    if act.call.subresource == "eviction":
        self.truth.admit(pod)
        return
    node = self.past.node(pod["spec"].get("nodeName", ""))
    has_deadline = self.allowances.deadline_s is not None or (
        node is not None and names.DRAIN_DEADLINE in true.marks_of(node)
    )
    if true.is_deleting(pod) and has_deadline:
        return
    if not self.is_over(node):
        yield "the pod was removed past the Eviction API, and no deadline is over"


def _ended_machine_is_drained(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """No machine is told to go under a pod that was not evicted first and waited for."""
    del act
    if entry.old is None or true.is_going(entry.old) or not entry.obj["spec"].get("terminate"):
        return
    node = self.truth.get("Node", true.name(entry.obj))
    if node is None:
        return
    for pod in self.truth.pods_on(true.name(node)):
        if not self.may_be_left(node, pod):
            yield f"pod {pod['metadata']['namespace']}/{true.name(pod)} still runs on it"


def _launched_once(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """One Machine, one instance; each under a token that was written down before."""
    del act
    if entry.type != "ADDED":
        return
    token = entry.obj["spec"].get("token", "")
    if token not in self.truth.attempts:
        yield f"token {token} was never written to a Machine"
    machine = token.rpartition("-")[0]
    others = [
        true.name(one)
        for one in self.truth.all("Instance")
        if one["spec"].get("token", "").rpartition("-")[0] == machine
        and one is not entry.obj
        and not true.is_going(one)
    ]
    if others:
        yield f"the Machine of token {token} has an instance already: {', '.join(others)}"


def _finalizer_stays(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """A finalizer of ours goes when the machine was told to go, or is gone."""
    del act
    old, new = entry.old, entry.obj
    if old is None or names.TERMINATION_FINALIZER not in true.finalizers(old):
        return
    if entry.type != "DELETED" and names.TERMINATION_FINALIZER in true.finalizers(new):
        return
    holder = old["spec"] if old["kind"] == "Node" else old.get("status") or {}
    instance = self.truth.instance_of(holder.get("providerID", ""))
    if instance is not None and not true.is_going(instance):
        yield f"its instance {true.name(instance)} runs and was not told to go"


def _cordon_of_a_person_stays(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """R27."""
    del act
    old, new = entry.old, entry.obj
    if old is None or entry.type == "DELETED" or not old["spec"].get("unschedulable"):
        return
    by = self.truth.cordoned_by.get(true.uid(old), "")
    if not new["spec"].get("unschedulable") and by == "a person":
        yield "the cordon was a person's"


def _node_goes_for_a_reason(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """Unmoor deletes a node with its machine, or for a command, whose method may want it empty."""
    del act
    old = entry.old
    if old is None or true.is_deleting(old) or not _is_gone(entry):
        return
    machines = self.truth.machines_of(old["spec"].get("providerID", ""))
    if not machines or any(true.is_deleting(one) for one in machines):
        return
    instance = self.truth.instance_of(old["spec"].get("providerID", ""))
    if instance is None or true.is_going(instance):
        return
    asking = self.past.asking(old)
    if not asking:
        yield "nobody has asked for the node's deletion"
    # Where a person has taken one away and another was begun, either may be carried out.
    missing = [list(replaced.not_up(self.truth, command)) for command in asking]
    if all(missing):
        yield from (words for one in missing[:1] for words in one)
    if any(methods.takes_pods(one) for one in asking):
        return
    for pod in self.truth.pods_on(true.name(old)):
        # A node may be called empty too soon by a wrong clock: its drain waits for the pod.
        is_stuck = self.is_stuck(pod, self.allowances.skew_s)
        if true.is_workload(pod) and not is_stuck and not self.is_unseen(pod):
            yield f"it is not empty: pod {pod['metadata']['namespace']}/{true.name(pod)}"


def _is_gone(entry: Entry) -> bool:
    return entry.type == "DELETED" or true.is_deleting(entry.obj)


def _machine_goes_for_a_reason(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """Unmoor deletes a Machine when its node goes, its instance is gone, or none came to be."""
    del act
    old = entry.old
    if old is None or true.is_deleting(old) or not _is_gone(entry):
        return
    status = old.get("status") or {}
    provider_id = status.get("providerID", "")
    nodes = [one for one in self.truth.all("Node") if one["spec"].get("providerID") == provider_id]
    if not provider_id or any(true.is_deleting(node) for node in nodes):
        return
    instance = self.truth.instance_of(provider_id)
    if instance is None or true.is_going(instance):
        return
    if replaced.taken_back(self.truth, old):
        served = [one for one in replaced.serving(self.truth, old) if not self.is_unseen(one)]
        yield from (f"pod {true.name(pod)} is on its node" for pod in served)
        return
    known = [one["type"] for one in status.get("conditions") or () if one["status"] == "True"]
    if "MachineRegistered" in known and true.name(instance) not in self.truth.going:
        yield "its node stays and its instance runs"


def _machine_is_needed(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """No more machines are made than there are pods that none on its way takes, or as a command
    has asked for.
    """
    if entry.type == "ADDED" and replaced.is_replacement(entry.obj):
        yield from replaced.made(self.truth, entry.obj, self.allowances.blind_s)
    elif entry.type == "ADDED":
        yield from purchases.needless(self.truth, entry.obj, act.who, self.allowances.blind_s)


def _machine_is_for_want_of_room(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """No machine is made while everybody would find a place without it."""
    blind_s, skew_s = self.allowances.blind_s, self.allowances.skew_s
    if entry.type == "ADDED" and not replaced.is_replacement(entry.obj):
        yield from vacancies.overlooked(self.truth, entry.obj, act.who, blind_s, skew_s)


def _limits_hold(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """No Provisioner has more than it may, when a machine is made, and when it is known what."""
    if entry.type == "ADDED":
        yield from self.limits.made(entry.obj, act.who, self.allowances.blind_s)
    elif entry.old is not None:
        yield from self.limits.changed(entry.old, entry.obj)


def _one_command(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """One voluntary command at a time; one that another process has just begun may be unknown."""
    for other in self.truth.all("Disruption") if entry.type == "ADDED" else ():
        is_news = self.truth.is_news(other, act.who, self.allowances.blind_s)
        if true.uid(other) != true.uid(entry.obj) and true.is_active(other) and not is_news:
            yield f"{true.name(other)} is not over yet"


def _asked_for(self: Checkers, act: Act, entry: Entry) -> Iterator[str]:
    """A command takes only nodes whose Provisioner lets them go by its method (R6)."""
    del act
    if entry.type != "ADDED":
        return
    method = methods.method_of(entry.obj)
    row = methods.METHODS.get(method)
    if row is None:
        yield f'when a node may go by "{method}" is not known: give it a row in sim/methods.py'
        return
    for named in entry.obj["spec"].get("nodes") or ():
        node = self.truth.get("Node", named["name"])
        if node is None or true.uid(node) != named["uid"]:
            continue
        provisioner = self.truth.provisioner_of(node)
        if provisioner is None or not row.asks(provisioner):
            yield f"no Provisioner lets node {named['name']} go by {method}"


_RULES_OF: dict[str, tuple[tuple[str, Rule], ...]] = {
    "Pod": (("a-pod-leaves-by-eviction", _pod_leaves_by_eviction),),
    "Instance": (
        ("no-machine-ended-under-a-pod", _ended_machine_is_drained),
        ("a-machine-is-launched-once", _launched_once),
    ),
    "Node": (
        ("the-finalizer-holds", _finalizer_stays),
        ("a-cordon-of-a-person-stays", _cordon_of_a_person_stays),
        ("a-node-goes-for-a-reason", _node_goes_for_a_reason),
    ),
    "Machine": (
        ("the-finalizer-holds", _finalizer_stays),
        ("a-machine-goes-for-a-reason", _machine_goes_for_a_reason),
        ("a-machine-is-made-for-a-pod", _machine_is_needed),
        ("a-machine-is-made-for-want-of-room", _machine_is_for_want_of_room),
        ("limits-hold", _limits_hold),
    ),
    "Disruption": (
        ("one-command-at-a-time", _one_command),
        ("a-command-is-asked-for", _asked_for),
    ),
}
"""Besides these, "nothing-that-is-not-ours" is asked of every write."""
