"""What the engine promises on the nodes of a cluster, as a trial; where kube-scheduler differs.

More is compared than where pods end: of each pod, when its turn comes, which nodes would take it.
kube-scheduler must take it wherever the oracle, who judges the engine, would, and nowhere else but
where a rule of ours is stricter (tests/facts/exceptions.py).

Nodes that are there are promised; machines to come are in ``engine_machines``. A node on its way up
is shown to kube-scheduler without the taints that pass, every other one exactly as it is. Pods of
DaemonSets that are still to come do come, after all that was promised, and must find the room kept
for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from tests.e2e import hollow
from tests.e2e.vouching import Outcome, Promise, Trial
from tests.facts import reading
from tests.facts.exceptions import Rule
from unmoor.engine import company, judge, oracle, solving
from unmoor.engine.plan import Plan
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.scene import Place, Scene
from unmoor.engine.scenery import scene_of
from unmoor.engine.sites import Standing
from unmoor.engine.wish import Wish, levels_of, wish_of
from unmoor.model import resources
from unmoor.model.base import JSON, Key
from unmoor.model.kinds import PODS
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.sim.clusters import daemons

Objects: TypeAlias = Sequence[JSON]
UNCLAIMED = ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule")
GOING_BY_THEMSELVES = frozenset(
    (
        UNCLAIMED,
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/unreachable", "NoSchedule"),
    )
)
"""Taints that Kubernetes takes away when a node is ready: key and effect."""


def as_it_is(objects: Objects) -> Objects:
    """The engine overlooks nothing."""
    return objects


@dataclass(frozen=True)
class Turn:
    """A pod when its turn comes. ``takes``: the nodes that the oracle would put it on.

    ``excused``: those that it would not, for a rule of ours.
    """

    promise: Promise
    takes: frozenset[str]
    excused: dict[str, Rule] = field(default_factory=dict)


def asked(
    objects: Objects, overlooking: Callable[[Objects], Objects] = as_it_is
) -> tuple[Trial, list[Turn]]:
    """Ask the engine where the waiting pods go; answer as a trial, and pod by pod.

    ``overlooking``: what the engine is shown in place of the cluster, to see whether a mistake of
    its own would be found. kube-scheduler always gets the cluster.
    """
    view = reading.view_of(overlooking(objects))
    scene = _standing_only(scene_of(view, ()))
    waiting = {pod.key: pod for pod in view.sorted(PODS) if _is_waiting(pod)}
    plan = solving.solve(scene, waiting.values())
    bodies = {
        (one["metadata"]["namespace"], one["metadata"]["name"]): one
        for one in objects
        if one["kind"] == PODS.kind
    }
    turns = list(_turns(scene, waiting, bodies, plan))
    to_come = [
        Turn(promise, frozenset((promise.node or "",)))
        for promise in daemons_to_come(objects, scene.view, scene.places)
    ]
    turns[len(plan.placements) : len(plan.placements)] = to_come
    return Trial(list(shown(objects)), [turn.promise for turn in turns]), turns


def differences(turns: Iterable[Turn], outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Everything in which kube-scheduler does not agree, in words."""
    found = {one.pod: one for one in outcomes}
    for turn in turns:
        outcome = found[hollow.key(turn.promise.pod)]
        if not outcome.is_kept:
            yield str(outcome)
        if turn.promise.excuse is not None:
            continue  # another one with an excuse may have come before it, and been bound
        if too_much := sorted(turn.takes - outcome.fits):
            yield f"{outcome.pod}: we take {too_much}, it does not: {outcome.message}"
        if too_little := sorted(outcome.fits - turn.takes - turn.excused.keys()):
            yield f"{outcome.pod}: it takes {too_little}, we do not, and no rule says why"


# --------------------------------------------------------------------------------- what is promised


def _is_waiting(pod: Pod) -> bool:
    return not pod.node_name and not pod.is_terminal and not pod.is_deleting


def _standing_only(scene: Scene) -> Scene:
    places = tuple(place for place in scene.places if place.is_node)
    return msgspec.structs.replace(scene, places=places, started=(), templates=())


def _turns(
    scene: Scene, waiting: Mapping[Key, Pod], bodies: Mapping[Key, JSON], plan: Plan
) -> Iterator[Turn]:
    """Promised pods in their order, then those that fit nowhere."""
    sites = [Standing(place, scene.view) for place in scene.places]
    for key in (*plan.placements, *plan.refused):
        node = plan.placements.get(key)
        wish = _plainest(waiting[key], scene.view)
        against = dict(_against(wish, sites, scene.view))
        takes = frozenset(name for name, refusals in against.items() if not refusals)
        rules = {site.name: _rule(wish, site, against[site.name]) for site in sites}
        excused = {name: rule for name, rule in rules.items() if rule is not None}
        excuse = next(iter(excused.values()), None) if node is None else None
        yield Turn(Promise(bodies[key], node, excuse), takes, excused)
        for site in sites:
            if site.name == node:
                site.put(wish)


def _plainest(pod: Pod, view: View) -> Wish:
    """What a pod wants when it has given up whatever it only prefers."""
    return wish_of(pod, view, levels_of(pod, has_soft_taints=True), has_soft_taints=True)


def _against(
    wish: Wish, sites: Sequence[Standing], view: View
) -> Iterator[tuple[str, tuple[Refusal, ...]]]:
    others = company.company_of(wish, view, sites, {})
    own = judge.own_refusals(wish)
    for site in sites:
        yield site.name, (*own, *oracle.standing_refusals(wish, others, site))


def _rule(wish: Wish, site: Standing, refusals: tuple[Refusal, ...]) -> Rule | None:
    """The rule by which we refuse, when nothing else speaks against it."""
    if {one.constraint for one in refusals} != {Constraint.RESOURCES}:
        return None
    if any(amount < 0 for amount in site.free.values()):
        return Rule.OVERCOMMITTED
    all_of_it = resources.add(site.free, site.place.reserved)
    return None if judge.room_refusals(wish.requests, all_of_it) else Rule.DAEMONS


def daemons_to_come(objects: Objects, view: View, places: Iterable[Place]) -> Iterator[Promise]:
    """Pods of DaemonSets that are still to come, wherever there is room for them at first."""
    owners = [one for one in objects if one["kind"] == "DaemonSet"]
    there = {hollow.key(one) for one in objects if one["kind"] == PODS.kind}
    for place in places:
        is_full = any(amount < 0 for amount in Standing(place, view).free.values())
        for _, body in (daemons.pod_on(owner, place.name) for owner in owners):
            pod = reading.read_pod(body)
            wish = _plainest(pod, view)
            if (
                hollow.key(body) not in there
                and not is_full
                and not judge.node_refusals(wish, place)
            ):
                spec = {word: body["spec"][word] for word in body["spec"] if word != "nodeName"}
                yield Promise({**body, "spec": spec}, place.name)


# -------------------------------------------------------------------------------------- the cluster


def shown(objects: Objects, gone: Collection[str] = ()) -> Iterator[JSON]:
    """The cluster without what waits and without these nodes, the others as they will be.

    From the API's objects alone: what the engine makes of a node is what is to be judged.
    """
    nodes = {_name(one) for one in objects if one["kind"] == "Node" and not _is_unclaimed(one)}
    nodes -= {*gone}
    starting = {
        one["status"]["providerID"]: one["spec"].get("startupTaints", [])
        for one in objects
        if one["kind"] == "Machine" and one.get("status", {}).get("providerID")
    }
    for body in objects:
        match body["kind"]:
            case "Node":
                if _name(body) in nodes:
                    mine = starting.get(body["spec"].get("providerID", ""), [])
                    yield _as_it_will_be(body, mine)
            case "Pod":
                if body["spec"].get("nodeName") in nodes:
                    yield body
            case "ReplicaSet" | "StatefulSet":
                pass  # kube-scheduler has whoever comes from them on the nodes that it likes best
            case _:
                yield body


def _is_unclaimed(node: JSON) -> bool:
    """Its cloud has not said yet which machine it is: nothing is promised on it (spec 2.1)."""
    taints = map(_identity, node["spec"].get("taints", []))
    return not node["spec"].get("providerID") and UNCLAIMED in taints


def _name(body: JSON) -> str:
    name: str = body["metadata"]["name"]
    return name


def _as_it_will_be(node: JSON, starting: Sequence[JSON]) -> JSON:
    """As it is, but for taints that go before anybody comes.

    ``starting``: those that its Machine says it starts with; once it is initialized they stay.
    """
    is_up = node["metadata"]["labels"].get("karpenter.sh/initialized") == "true"
    taints = node["spec"].get("taints", [])
    passing = {*GOING_BY_THEMSELVES, *([] if is_up else map(_identity, starting))}
    left = [one for one in taints if _identity(one) not in passing]
    return node if left == taints else {**node, "spec": {**node["spec"], "taints": left}}


def _identity(taint: JSON) -> tuple[str, str]:
    return taint["key"], taint["effect"]
