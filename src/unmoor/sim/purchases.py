"""Is each machine that unmoor makes needed, and within its Provisioner's limits?

Plain code on the server's objects, like all that checks: what unmoor may not know yet, since a
watch hangs or another instance has just acted, is left out of what is held against it.

Must not: import engine, policy or lifecycle, or know where a pod fits (``promises`` does).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from unmoor.model import names, resources
from unmoor.model.base import JSON
from unmoor.model.resources import Resources
from unmoor.sim import promises, replaced
from unmoor.sim import truth as true
from unmoor.sim.truth import Truth


def needless(truth: Truth, made: JSON, who: str, blind_s: float) -> Iterator[str]:
    """Say when more machines are made than pods are, or were lately, without a place to go to.

    A pod has one when a machine that is on its way takes it, and ``who`` must know. It cannot be
    told of choosy pods: as many of them have one as there are machines that take nobody else.
    """
    lately = truth.time_s() - blind_s
    without = truth.without_place(blind_s)
    taken = promises.expected(truth, without)
    same_plan, going_there, coming = 0, 0, []
    for one in truth.all("Machine"):
        is_coming = not true.is_deleting(one) and not (one.get("status") or {}).get("nodeName")
        if one is made or true.uid(one) not in truth.made or not is_coming:
            continue
        if replaced.is_replacement(one) and true.name(one) not in taken:
            continue  # It is for others.
        by, at = truth.made[true.uid(one)]
        if by == who and at > lately and true.uid(one) not in truth.planned:
            same_plan += 1
        elif (by == who or at <= lately) and true.name(one) in taken:
            going_there += taken[true.name(one)]
            coming.append(true.name(one))
    if going_there + same_plan + 1 > len(without):
        pods = ", ".join(without) or "none"
        said = f"pods without a place: {pods}; machines on their way: {', '.join(coming) or 'none'}"
        yield f"{said}, for {going_there} of them; made with it: {same_plan}"


class Reckoning(msgspec.Struct, frozen=True):
    """A machine was made: which machines (uid) its Provisioner had then, itself among them, which
    nodes (uid) without a machine, and what it may have.
    """

    provisioner: str
    limits: JSON
    machines: frozenset[str]
    nodes: frozenset[str]

    def breaches(self, has: Resources) -> Iterator[str]:
        """Say which limit they pass. ``has``: what they have in sum."""
        for name in resources.exceeds(has, resources.parse_resources(self.limits)):
            said = f"{resources.render(has)[name]} of {name}, and its limit is {self.limits[name]}"
            yield f"Provisioner {self.provisioner} would have {said}"


class Limits:
    """Does a Provisioner have more than it may? Asked when a machine is made, and once more when it
    is known what it, or one that was reckoned with, has become.

    A machine has what its status says, or its node; before it is launched, what the largest type
    has that it may become. So however the cloud chooses, what those have that were reckoned with
    can only become less. A node whose Machine is gone is its Provisioner's all the same (spec 9.4).
    """

    def __init__(self, truth: Truth) -> None:
        """Nothing was made yet."""
        self._truth = truth
        self._types = {one.name: one for one in truth.types}
        self._reckonings: dict[str, Reckoning] = {}
        """By the uid of the machine that was made last of them."""

    def made(self, machine: JSON, who: str, blind_s: float) -> Iterator[str]:
        """Say when a machine is made although its Provisioner has as much as it may have.

        One that a person has written counts once it is launched: there may be no such machine.
        """
        truth, owner = self._truth, _provisioner_of(machine)
        provisioner = truth.get("Provisioner", owner)
        limits = ((provisioner or {}).get("spec", {}).get("limits") or {}).get("resources") or {}
        if not limits:
            return
        reckoned = {true.uid(machine)}
        going = replaced.making_way(truth, machine)
        for one in truth.all("Machine"):
            provider_id = (one.get("status") or {}).get("providerID", "")
            by, at = truth.made.get(true.uid(one), ("", truth.time_s()))
            is_unseen = by != who and at > truth.time_s() - blind_s
            if _provisioner_of(one) != owner or (is_unseen and not _is_older(truth, one, blind_s)):
                continue
            if (not provider_id and true.uid(one) not in truth.made) or provider_id in going:
                continue
            if not true.is_deleting(one) and not _is_leaving(truth, provider_id):
                reckoned.add(true.uid(one))
        nodes = (true.uid(one) for one in _alone(truth, owner, blind_s))
        reckoning = Reckoning(owner, limits, frozenset(reckoned), frozenset(nodes))
        self._reckonings[true.uid(machine)] = reckoning
        yield from reckoning.breaches(self._sum(reckoning))

    def changed(self, old: JSON, machine: JSON) -> Iterator[str]:
        """Say when it turns out to be more than was reckoned with; those that go now, included."""
        if self._has(old) == self._has(machine):
            return
        there = {true.uid(one) for one in self._truth.all("Machine")}
        self._reckonings = {uid: one for uid, one in self._reckonings.items() if uid in there}
        concerned = (o for o in self._reckonings.values() if true.uid(machine) in o.machines)
        said = (words for one in concerned for words in one.breaches(self._sum(one)))
        yield from dict.fromkeys(said)

    def _sum(self, reckoning: Reckoning) -> Resources:
        """Of all that are there. An instance counts once."""
        found: list[Resources] = []
        seen: set[str] = set()
        for one in self._truth.all("Machine"):
            provider_id = (one.get("status") or {}).get("providerID", "")
            if true.uid(one) in reckoning.machines and provider_id not in seen:
                seen |= {provider_id} - {""}
                found.append(self._has(one))
        for node in self._truth.all("Node") if reckoning.nodes else ():
            if true.uid(node) in reckoning.nodes and node["spec"]["providerID"] not in seen:
                seen.add(node["spec"]["providerID"])
                found.append(resources.parse_resources(node["status"].get("capacity") or {}))
        return resources.total(found)

    def _has(self, machine: JSON) -> Resources:
        status = machine.get("status") or {}
        provider_id = status.get("providerID", "")
        if provider_id:
            nodes = _nodes_of(self._truth, provider_id)
            told = (status, *(node.get("status") or {} for node in nodes))
            has: JSON = next((one["capacity"] for one in told if one.get("capacity")), {})
            return resources.parse_resources(has)
        labels = machine["metadata"].get("labels") or {}
        chosen = labels.get(names.INSTANCE_TYPE, "")
        wanted = [
            name
            for one in machine["spec"].get("requirements") or ()
            if (one["key"], one["operator"]) == (names.INSTANCE_TYPE, "In")
            for name in one.get("values") or ()
        ]
        known = (self._types.get(name) for name in ([chosen] if chosen else wanted))
        return resources.largest(*(one.capacity for one in known if one is not None))


def _alone(truth: Truth, owner: str, blind_s: float) -> Iterator[JSON]:
    """Nodes of a Provisioner that stay and have no Machine, as everybody should know by now."""
    lately = truth.time_s() - blind_s
    for node in truth.all("Node"):
        provider_id = node["spec"].get("providerID", "")
        if not provider_id or _provisioner_of(node) != owner or true.is_deleting(node):
            continue
        changed = (truth.room_at.get(true.name(node), 0.0), truth.orphaned_at.get(provider_id, 0.0))
        if not truth.machines_of(provider_id) and max(changed) <= lately:
            yield node


def _is_older(truth: Truth, machine: JSON, age_s: float) -> bool:
    return (truth.now() - true.created_at(machine)).total_seconds() > age_s


def _is_leaving(truth: Truth, provider_id: str) -> bool:
    return any(true.is_deleting(node) for node in _nodes_of(truth, provider_id))


def _nodes_of(truth: Truth, provider_id: str) -> list[JSON]:
    nodes = truth.all("Node") if provider_id else ()
    return [node for node in nodes if node["spec"].get("providerID") == provider_id]


def _provisioner_of(obj: JSON) -> str:
    labels = obj["metadata"].get("labels") or {}
    return str(labels.get(names.PROVISIONER_NAME, ""))
