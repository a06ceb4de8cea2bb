"""When may what has failed be tried again? Later after each failure, up to a limit.

The failures are commands in the ledger, so a restart forgets none. Those that are long over do not
count.

Must not: know what has failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from unmoor.model.cadence import Cadence
from unmoor.model.moment import Moment, doubled_s, later


def is_counted(ended: datetime | None, cadence: Cadence, moment: Moment) -> bool:
    """True for a failure that is not long over."""
    return moment.is_recent(ended, 2 * cadence.replacement_backoff_most_s)


def until(counted: Iterable[datetime], cadence: Cadence, moment: Moment) -> datetime | None:
    """Return when it may be tried again after failures that count; None: it may be now."""
    times = sorted(counted)
    if not times:
        return None
    most_s = cadence.replacement_backoff_most_s
    waits_s = doubled_s(cadence.replacement_backoff_s, len(times) - 1, most_s)
    return later(times[-1], waits_s) if moment.is_recent(times[-1], waits_s) else None
