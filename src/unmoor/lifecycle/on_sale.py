"""Has the cloud said what it sells? Else it is asked, once in a while (``policy.stock``).

Must not: use the answer.
"""

from __future__ import annotations

from unmoor.lifecycle.effects import Observe
from unmoor.model.moment import Moment
from unmoor.model.observation import Asked
from unmoor.model.snapshot import View
from unmoor.policy import stock


def asked(view: View, moment: Moment) -> tuple[Observe, ...]:
    """Return the question, when it is time for it."""
    sold, scheme = stock.types_of(view), view.identity.scheme
    is_due = sold is None or moment.mono >= stock.ask_again_at(view, sold)
    return (Observe(asked=Asked.INSTANCE_TYPES, subject=scheme),) if is_due and scheme else ()
