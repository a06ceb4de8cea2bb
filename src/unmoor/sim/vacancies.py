"""Was there room already, when a machine is made?

The oracle is asked, on the true state of the server. So what is found is a mistake in what leads to
a plan or follows from it; a mistake of the oracle itself is for others to find (tests/engine).

Must not: import policy or lifecycle, or write anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

import msgspec

from unmoor.engine import oracle
from unmoor.engine.scene import (
    ASKED_FOR,
    Doubts,
    Scene,
    Started,
    machine_of_site,
    site_of_machine,
)
from unmoor.engine.scenery import MADE_OF, scene_of
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import PODS, PROVISIONERS
from unmoor.model.pod import Pod
from unmoor.model.scheduling import SCHEDULE_ANYWAY
from unmoor.model.snapshot import View
from unmoor.sim import replaced
from unmoor.sim import truth as true
from unmoor.sim.truth import Truth

LOOKED_AT = sorted({*MADE_OF, *ASKED_FOR} - {PROVISIONERS.kind})
"""Nobody asks here what could be bought."""


def overlooked(
    truth: Truth, made: JSON, who: str, blind_s: float, skew_s: float = 0.0
) -> Iterator[str]:
    """Say where everybody without a place would have found one, had ``made`` not been made.

    What cannot be told is no place: room that was made in the last ``blind_s``, and machines of the
    same plan, or that another process has just made. Of a machine that is not launched yet, where
    the cloud may be out of something, there is the smallest that it may become. Whom a place is
    kept for that is coming up comes first.

    Nothing is said where somebody is choosy and anything of that has happened, or any of them has
    gone meanwhile; where pods must be spread over what machines to come may add, as zones; where a
    clock may be off by ``skew_s`` and a node be late. And for what a pod prefers, a machine may be
    made (spec 9.4).
    """
    bodies = truth.placeless(blind_s)
    lately = truth.time_s() - blind_s
    unsure = _unsure(truth, made, who, lately)
    is_quiet = not unsure and all(until < lately for until in truth.placeless_until.values())
    has_choosy = any(map(is_choosy, bodies))
    if not bodies or (has_choosy and not is_quiet) or any(map(_is_spread_wide, bodies)):
        return
    pods = [truth.typed(body) for body in bodies]
    late = [true.name(one) for one in truth.all("Node") if _is_late(truth, one, blind_s + skew_s)]
    found = scene_now(truth, pods, without=[true.name(made)], late=late)
    started: Iterable[Started] = found.started
    if not truth.is_in_stock:
        some = () if has_choosy else (one for one in started if one.types)
        started = map(_smallest, some)
    scene = msgspec.structs.replace(
        found,
        places=tuple(one for one in found.places if machine_of_site(one.name) not in unsure),
        started=tuple(one for one in started if machine_of_site(one.name) not in unsure),
    )
    kept = {one.name for one in scene.started}
    kept |= {one.name for one in scene.places if not one.is_initialized}
    promised = {(pod.namespace, pod.name): _promised(truth, pod) for pod in pods}
    scene = msgspec.structs.replace(
        scene, promised={key: site for key, site in promised.items() if site in kept}
    )
    plan = oracle.solve(scene, pods)
    if not plan.refused and not plan.given_up:
        places = sorted(plan.placements.items())
        said = ", ".join(f"{name} on {where}" for (_, name), where in places)
        yield f"there was room without it: {said}"


def _is_spread_wide(pod: JSON) -> bool:
    spreads = pod["spec"].get("topologySpreadConstraints") or ()
    hard = (one for one in spreads if one.get("whenUnsatisfiable") != SCHEDULE_ANYWAY)
    return any(one["topologyKey"] != names.HOSTNAME for one in hard)


def _unsure(truth: Truth, made: JSON, who: str, lately: float) -> set[str]:
    """Nodes and machines of which ``who`` may not know that there is room, or could not; or whose
    room is for the pods that a command will move.
    """
    found = {name for name, at in truth.room_at.items() if at > lately}
    for one in truth.all("Machine"):
        by, at = truth.made.get(true.uid(one), (who, 0.0))
        is_of_the_plan = by == who and true.uid(one) not in truth.planned
        is_hidden = at > lately and (by != who or is_of_the_plan)
        if one is not made and (is_hidden or replaced.is_replacement(one)):
            found.add(true.name(one))
            found |= {true.name(node) for node in _nodes_of(truth, one)}
    return found


def _nodes_of(truth: Truth, machine: JSON) -> list[JSON]:
    provider_id = (machine.get("status") or {}).get("providerID", "")
    nodes = truth.all("Node") if provider_id else ()
    return [node for node in nodes if node["spec"].get("providerID") == provider_id]


def _smallest(started: Started) -> Started:
    """It has what each of its types has at least."""
    first, *others = started.types
    least = {
        name: min([amount, *(one.allocatable.get(name, 0) for one in others)])
        for name, amount in first.allocatable.items()
    }
    return msgspec.structs.replace(
        started, types=(msgspec.structs.replace(first, allocatable=least),)
    )


def _promised(truth: Truth, pod: Pod) -> str:
    place, _ = truth.promised.get(pod.uid, ("", 0.0))
    return site_of(truth, place) if place else ""


def site_of(truth: Truth, place: str) -> str:
    """Under which name a scene has a place: that of the node, once there is one.

    ``place``: ``node/NAME`` or ``machine/NAME``.
    """
    kind, _, name = place.partition("/")
    machine = truth.get("Machine", name) if kind == "machine" else None
    provider_id = ((machine or {}).get("status") or {}).get("providerID", "")
    nodes = (one for one in truth.all("Node") if one["spec"].get("providerID") == provider_id)
    node = next(nodes, None) if provider_id else None
    if node is not None:
        return true.name(node)
    is_namesake = kind == "machine" and truth.get("Node", name) is not None
    return site_of_machine(name, is_namesake=is_namesake)


def is_choosy(pod: JSON) -> bool:
    """Where it may run depends on more than the place itself, and its room."""
    spec = pod["spec"]
    asks = ("affinity", "topologySpreadConstraints", "nodeSelector")
    volumes = spec.get("volumes") or ()
    is_stored = any({"persistentVolumeClaim", "ephemeral"} & one.keys() for one in volumes)
    return is_stored or any(spec.get(field) for field in asks)


def _is_late(truth: Truth, node: JSON, slack_s: float) -> bool:
    """It may have been unready for longer than anybody waits for it."""
    said = (node.get("status") or {}).get("conditions") or ()
    stamps = [one.get("lastTransitionTime") for one in said if one["type"] == "Ready"]
    since = [datetime.fromisoformat(stamp) for stamp in stamps if stamp]
    age_s = (truth.now() - max([true.created_at(node), *since])).total_seconds()
    was_up = (node["metadata"].get("labels") or {}).get(names.INITIALIZED) == names.TRUE
    usual = Cadence()
    limit_s = usual.unready_node_limit_s if was_up else usual.registration_limit_s
    return age_s + slack_s >= limit_s


def scene_now(
    truth: Truth,
    pods: Iterable[Pod],
    without: Iterable[str] = (),
    late: Iterable[str] = (),
    instead: Mapping[str, JSON] = MappingProxyType({}),
) -> Scene:
    """Return what is there and coming up, as it truly is; ``pods`` are to be placed anew.

    ``instead``: machines by name, as if they were like this, whether they are there or not.
    """
    there = (one for kind in LOOKED_AT for one in truth.all(kind) if not _is_among(instead, one))
    view = View.of(*map(truth.typed, there), *map(true.typed, instead.values()))
    placing = [pod.key for pod in pods if view.get(PODS, pod.name, pod.namespace) is not None]
    return scene_of(
        view, truth.types, without=tuple(without), placing=placing, doubts=Doubts(frozenset(late))
    )


def _is_among(machines: Mapping[str, JSON], obj: JSON) -> bool:
    return obj["kind"] == "Machine" and true.name(obj) in machines
