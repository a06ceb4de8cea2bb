"""Is this a moment to make nodes go at all? Not while the cluster has other troubles.

| brake | why |
|---|---|
| many nodes are not ready | fewer nodes do not help (``unmoor.notReadyShareMost``) |
| pods that a command moved have no place | the last plan was wrong; the next one would be, too |
| commands fail one after the other | a person looks first (``unmoor.failedCommandsMost``) |
| unmoor has just started | what it sees may not be all there is (``unmoor.quietAfterStart``) |

A command that runs is carried on: it has cordoned its nodes already. What a person deletes, or the
cloud takes, goes as ever.

Must not: know any method.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.model.kinds import DISRUPTIONS, NODES
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.model.wording import counted, named
from unmoor.policy import settling

NOT_READY_LEAST = 3
"""So many nodes may be not ready in any cluster, however small."""


def why(view: View, since: float, moment: Moment) -> tuple[str, ...]:
    """Say why no node is made to go now, () when nothing is in the way.

    ``since``: when this unmoor first looked, on the monotonic clock.
    """
    found = (_quiet(view, since, moment), _not_ready(view), _homeless(view, moment), _failing(view))
    return tuple(words for some in found for words in some)


def _quiet(view: View, since: float, moment: Moment) -> Iterator[str]:
    left_s = since + view.settings.quiet_after_start_s - moment.mono
    if left_s > 0:
        yield f"unmoor has just started, and looks on for another {left_s:.0f} s"


def _not_ready(view: View) -> Iterator[str]:
    """Nodes on their way out, or up, are no trouble."""
    up = [one for one in view.sorted(NODES) if not one.is_deleting and one.is_initialized]
    silent = tuple(one.name for one in up if not one.is_ready)
    most = view.settings.not_ready_share_most
    if len(silent) > NOT_READY_LEAST and len(silent) > most * len(up):
        yield (
            f"{len(silent)} of {counted(len(up), 'node')} are not ready ({named(silent)}), more "
            f"than unmoor.notReadyShareMost ({most:g}) allows"
        )


def _failing(view: View) -> Iterator[str]:
    """It lasts until a person has taken one of them out of the ledger, or a command succeeds."""
    most = view.settings.failed_commands_most
    begun = [one for one in view.sorted(DISRUPTIONS) if not one.spec.is_observed]
    over = [one for one in begun if one.status.finished_at is not None]
    over.sort(key=lambda one: one.order)
    last = over[-most:] if most else []
    if most and len(last) == most and all(one.has_failed for one in last):
        yield (
            f"the last {counted(most, 'command')} failed, at last {last[-1].name}: "
            f"{last[-1].status.message}; once that is mended, kubectl delete disruption "
            f"{last[-1].name} (unmoor.failedCommandsMost)"
        )


def _homeless(view: View, moment: Moment) -> Iterator[str]:
    """As long as R3 waits for moved pods, so long their having no place counts afterwards."""
    limit_s = view.settings.cadence.moved_pods_limit_s
    for command in view.sorted(DISRUPTIONS):
        if not moment.is_recent(command.status.finished_at, limit_s):
            continue
        if not settling.has_moved(view, command):
            continue
        for one in settling.unsettled(view, command.spec.moved):
            if one.unplaceable:
                yield (
                    f"pod {one.unplaceable}, moved by {command.name}, has no place: make room for "
                    f"it, or wait until {limit_s:g} s after that command"
                )
                return
