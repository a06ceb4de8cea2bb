"""Pods that move are kept off nodes that are to go soon, by a PreferNoSchedule taint of ours.

While a command runs, the nodes that would go next bear it; for a while after it as well, since the
next command may want the same ones. Then it is removed. It keeps no pod from running: who finds no
place elsewhere goes there. Whose taint it is says the taint itself, so a restart finds its own.

A person who removes it has the last word: the node is left without for a while.

At the end of a command it is counted where the pods that it moved have landed.

Must not: choose the nodes (``policy.steering``), or hold a command up.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import msgspec

from unmoor.lifecycle.effects import Fact, Patch, patch_as_seen
from unmoor.lifecycle.step import Step
from unmoor.model import taint
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.moment import Moment, earliest
from unmoor.model.node import Node
from unmoor.model.snapshot import View
from unmoor.policy import landing, steering
from unmoor.policy.landing import Expected

WRITES_MAX = 50
"""So many taints are written in one look; the rest in the next."""
EARLY = frozenset({DisruptionPhase.PENDING, DisruptionPhase.LAUNCHING})
"""Phases in which the pods of a command are still where they were."""


class Memory(msgspec.Struct, frozen=True):
    """Droppable. ``command``: for which it is known who is to go soon (``wanted``, uids by name);
    when it was over (``over_at``); ``seen``: who bore the taint at the last look, and ``lifted``,
    from whom it is being removed; until when a node is left without (``respected``); and what is
    ``expected`` of a running command.
    """

    command: str = ""
    wanted: Mapping[str, str] = {}
    over_at: float | None = None
    seen: tuple[str, ...] = ()
    lifted: tuple[str, ...] = ()
    respected: Mapping[str, float] = {}
    expected: Expected | None = None


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Have the taint on those nodes that are to go soon, and on no other; ``key`` is the same."""
    del key
    if view.identity.is_observing:
        return Step(memory=memory)
    known = memory or Memory()
    running = next((one for one in view.sorted(DISRUPTIONS) if one.is_running), None)
    marked = steering.marked(view)
    known = _respecting(view, known, marked, moment)
    known, facts = _counted(view, known, running)
    known = _planned(view, known, running, moment)
    wanted = _wanted(view, known, moment)
    bearing = {node.uid for node in marked}
    superfluous = [n for n in marked if n.uid not in wanted and not n.is_deleting]
    missing = [node for uid, node in wanted.items() if uid not in bearing and _may_be_marked(node)]
    effects = [*map(_lift, superfluous), *map(_mark, missing)][:WRITES_MAX]
    lifted = {one.ref.uid for one in effects[: len(superfluous)]}
    known = msgspec.structs.replace(
        known,
        # Who is out of it stays out until the next command: the taint does not come and go.
        wanted={node.name: uid for uid, node in wanted.items()} if known.command else {},
        seen=tuple(sorted(bearing)),
        lifted=tuple(sorted(lifted | bearing.intersection(known.lifted))),
    )
    # A pause, say, is written elsewhere than on the node.
    poll = moment.after(view.settings.cadence.deprovisioning_poll_s)
    until = min(poll, _linger_until(view, known)) if marked else None
    if len(superfluous) + len(missing) > WRITES_MAX:
        until = earliest(until, moment.after(view.settings.cadence.deprovisioning_again_s))
    gauge = Fact("nodes_going_soon", value=float(len(bearing)))
    return Step(effects=tuple(effects), memory=known, wake_at=until, facts=(*facts, gauge))


def _linger_until(view: View, known: Memory) -> float:
    """When nobody bears it any more, unless there is another command."""
    over_at = inf if known.over_at is None else known.over_at
    return over_at + view.settings.cadence.steering_linger_s


def _respecting(view: View, known: Memory, marked: tuple[Node, ...], moment: Moment) -> Memory:
    """Who bore it, does no more, and not by our doing, was taken from us by a person."""
    bearing = {node.uid for node in marked}
    ours = {*bearing, *known.lifted}
    until = moment.after(view.settings.cadence.uncordon_respect_s)
    respected = {uid: end for uid, end in known.respected.items() if moment.mono < end}
    respected |= {uid: until for uid in known.seen if uid not in ours}
    return msgspec.structs.replace(known, respected=respected)


def _planned(view: View, known: Memory, running: Disruption | None, moment: Moment) -> Memory:
    """Find out once for each command who is to go soon after it."""
    if running is None:
        over_at = moment.mono if known.over_at is None else known.over_at
        return msgspec.structs.replace(known, command="", over_at=over_at)
    if running.name == known.command:
        return known
    nodes = steering.soon(view, running, moment) if _is_on(view) else ()
    return msgspec.structs.replace(
        known, command=running.name, wanted={node.name: node.uid for node in nodes}, over_at=None
    )


def _is_on(view: View) -> bool:
    return view.settings.steering


def _wanted(view: View, known: Memory, moment: Moment) -> dict[str, Node]:
    """Who is to bear it now, by uid."""
    if not _is_on(view):
        return {}
    if moment.mono >= _linger_until(view, known):
        return {}
    if known.command:
        found = ((view.node(name), uid) for name, uid in known.wanted.items())
        nodes = [node for node, uid in found if node is not None and node.uid == uid]
    else:
        nodes = list(steering.marked(view))
    return {
        node.uid: node
        for node in nodes
        if node.uid not in known.respected and steering.is_still(view, node, moment)
    }


def _may_be_marked(node: Node) -> bool:
    """A person may have set the same taint with another value: it stays theirs."""
    return not taint.has(node.spec.taints, taint.GOING_SOON)


def _counted(
    view: View, known: Memory, running: Disruption | None
) -> tuple[Memory, tuple[Fact, ...]]:
    """Compare what has come of a command with what was expected of it, once it is over."""
    before = known.expected
    facts: tuple[Fact, ...] = ()
    if before is not None and (running is None or running.name != before.command):
        ended = view.disruption(before.command)
        if ended is not None and ended.phase is DisruptionPhase.SUCCEEDED:
            facts = tuple(
                Fact("moved_pods_landed_total", {"where": str(where)}, float(many))
                for where, many in landing.landed(view, before).items()
            )
        before = None
    if before is None and running is not None and running.phase in EARLY:
        before = landing.expected(view, running)
    return msgspec.structs.replace(known, expected=before), facts


def _mark(node: Node) -> Patch:
    return _write(node, (*node.spec.taints, taint.GOING_SOON), "it is to go soon")


def _lift(node: Node) -> Patch:
    kept = tuple(one for one in node.spec.taints if not taint.is_going_soon(one))
    return _write(node, kept, "it is not to go soon any more")


def _write(node: Node, taints: tuple[taint.Taint, ...], why: str) -> Patch:
    body: dict[str, Any] = {"spec": {"taints": msgspec.to_builtins(taints) or None}}
    return patch_as_seen(node, body, why=why)
