"""What is not counted on when machines are planned, for pods that wait or that are to be moved?

Nodes that have been silent for long, offerings that were sold out or did not come up, and
provisioners that make no machine for now.

Must not: plan.
"""

from __future__ import annotations

from collections.abc import Mapping

from unmoor.engine.limits import left_by
from unmoor.engine.scene import Doubts, Hold
from unmoor.lifecycle import refusals
from unmoor.lifecycle.launch import shortened
from unmoor.lifecycle.refusals import Refused
from unmoor.model import resources
from unmoor.model.kinds import PROVISIONERS
from unmoor.model.moment import Moment
from unmoor.model.provisioner import Provisioner
from unmoor.model.quantity import QuantityError
from unmoor.model.snapshot import View
from unmoor.policy import no_shows, readiness, stock


def doubts(view: View, refused: Mapping[str, Refused], moment: Moment) -> Doubts:
    """Return what is not counted on now. ``refused``: whose machines the server has refused."""
    late, out = readiness.late_nodes(view, moment), stock.sold_out(view, moment)
    holds = _holds(view, refused, late, moment)
    return Doubts(late, no_shows.avoided(view, moment), out, holds)


def _holds(
    view: View, refused: Mapping[str, Refused], late: frozenset[str], moment: Moment
) -> dict[str, Hold]:
    """Why provisioners make no machine now, so that pods go to another one.

    Where a limit is exceeded, or nodes do not become ready, nothing is tried. Where the cloud had
    no capacity, one machine at a time is: what it has named is left alone for a while anyway.
    """
    found = {}
    for one in view.sorted(PROVISIONERS):
        if shortage := stock.shortage_of(view, one, moment):
            said = shortened(shortage.message)
            words = f"the cloud had no capacity for its last machine: {said}"
            found[one.name] = Hold(f"{words}; one is tried at a time", is_on_trial=True)
    for name, last in refused.items():
        found[name] = Hold(refusals.words_of(last), is_on_trial=moment.mono >= last.until)
    for one in view.sorted(PROVISIONERS):
        if words := _over_limit(one):
            found[one.name] = Hold(words)
    for name, pause in readiness.pauses(view, late, moment).items():
        found[name] = Hold(f"it pauses: {pause}")
    return found


def _over_limit(provisioner: Provisioner) -> str:
    """The plan has counted for itself; what is reported may know of machines that it does not."""
    if not provisioner.limits:
        return ""
    try:
        used = resources.parse_resources(provisioner.status.resources)
    except QuantityError:
        return ""
    return "; ".join(map(str, left_by(provisioner, used).refusals({})))
