"""When may the same be decided again, after it turned out not to be right? (spec 3.10)

A command whose nodes were cordoned already, and which was then withdrawn, would be found again at
the next look where what was wrong with it shows only when it is looked at the second time. So the
same choice (these nodes, this method, deleted or replaced) waits for a minute, then two, four and
so on, as what has failed to be replaced does. Any other choice may be tried, with the same nodes as
well.

Must not: weigh choices (``removal``), or know why one was withdrawn (``holding``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from unmoor.model.disruption import Disruption
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.moment import rfc3339
from unmoor.model.wording import counted
from unmoor.policy import backoff
from unmoor.policy.look import Look
from unmoor.policy.removal import Refused, Removal
from unmoor.policy.verdict import Method, Reason


def about(look: Look, removal: Removal, method: Method) -> Refused | None:
    """Say why this choice is not made now, None when it may be."""
    withdrawn = _withdrawn(look, removal, method)
    cadence = look.view.settings.cadence
    again = backoff.until((ended for ended, _ in withdrawn), cadence, look.moment)
    if again is None:
        return None
    last = max(withdrawn, key=lambda one: (one[0], one[1].name))[1]
    message = (
        f"the same was withdrawn {counted(len(withdrawn), 'time')} lately, at last in {last.name}: "
        f"{last.status.message}; it is tried again at {rfc3339(again)}"
    )
    return Refused(Reason.WITHDRAWN, message)


def _withdrawn(
    look: Look, removal: Removal, method: Method
) -> Sequence[tuple[datetime, Disruption]]:
    nodes = {one.node.uid for one in removal.nodes}
    cadence = look.view.settings.cadence
    return [
        (ended, one)
        for one in look.view.sorted(DISRUPTIONS)
        if one.was_withdrawn
        and one.spec.is_observed is look.is_observing
        and one.spec.method == method
        and bool(one.spec.replacements) is removal.is_replacement
        and {node.uid for node in one.nodes} == nodes
        and (ended := one.status.finished_at) is not None
        and backoff.is_counted(ended, cadence, look.moment)
    ]
