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
from unmoor.engine.scene import ASKED_FOR, Doubts, Scene
from unmoor.engine.scenery import MADE_OF, scene_of
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import PODS, PROVISIONERS
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.sim import truth as true
from unmoor.sim.truth import Truth

LOOKED_AT = sorted({*MADE_OF, *ASKED_FOR} - {PROVISIONERS.kind})
"""Nobody asks here what could be bought."""


def overlooked(truth: Truth, made: JSON, blind_s: float, skew_s: float = 0.0) -> Iterator[str]:
    """Say where everybody without a place would have found one, had ``made`` not been made.

    Nothing is said when it cannot be told: unmoor may not know yet of room that was made in the
    last ``blind_s``, and its clock may be off by ``skew_s``; of several machines of one plan, only
    the first is looked at; and for what a pod prefers, a machine may be made (spec 9.4).
    Machines that are not launched yet count only in a cloud that is out of nothing.
    """
    lately = truth.time_s() - blind_s
    made_lately = [one for one, (_, at) in truth.made.items() if at > lately]
    if truth.room_at > lately or any(one != true.uid(made) for one in made_lately):
        return
    pods = [truth.typed(body) for body in truth.placeless(blind_s)]
    late = [true.name(one) for one in truth.all("Node") if _is_late(truth, one, blind_s + skew_s)]
    found = scene_now(truth, pods, without=[true.name(made)], late=late)
    started = found.started if truth.is_in_stock else ()
    plan = oracle.solve(msgspec.structs.replace(found, started=started), pods)
    if pods and not plan.refused and not plan.given_up:
        places = sorted(plan.placements.items())
        said = ", ".join(f"{name} on {where}" for (_, name), where in places)
        yield f"there was room without it: {said}"


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
