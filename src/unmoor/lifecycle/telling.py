"""How often is the same thing said? Not at each look: a drain that waits looks every second.

The recorder drops what was said a moment ago, whoever says it; here it is not even handed over.
What is remembered is droppable: without it an event is offered once more, and dropped there.

Must not: decide what is worth saying.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from unmoor.lifecycle.effects import AnyEffect, Publish
from unmoor.model.cadence import Cadence
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.policy.consolidation import UNCONSOLIDATABLE

TOLD_MAX = 200
"""Events remembered for one key; beyond that the oldest are offered again."""


def once(
    view: View, effects: Iterable[AnyEffect], told: Mapping[Publish, float], moment: Moment
) -> tuple[tuple[AnyEffect, ...], dict[Publish, float]]:
    """Leave out events that were offered within ``cadence.eventDedupe``.

    ``told``: when each was last offered, on the monotonic clock. Returns the rest, and ``told``
    brought up to date.
    """
    repeat_s = view.settings.cadence.event_dedupe_s
    recent = {one: at for one, at in told.items() if moment.mono < at + repeat_s}
    kept: list[AnyEffect] = []
    for effect in effects:
        if isinstance(effect, Publish):
            if effect in recent:
                continue
            recent[effect] = moment.mono
        kept.append(effect)
    if len(recent) > TOLD_MAX:
        recent = dict(sorted(recent.items(), key=lambda item: -item[1])[:TOLD_MAX])
    return tuple(kept), recent


def repeat_s(event: Publish, cadence: Cadence) -> float:
    """Return after how long the same event is said again."""
    if event.reason == UNCONSOLIDATABLE:  # R10: nothing changes for most nodes, for long
        return cadence.unconsolidatable_dedupe_s
    return cadence.event_dedupe_s
