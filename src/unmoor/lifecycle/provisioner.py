"""Is a provisioner in order? A bad one is reported, with field, value and remedy; others go on.

Must not: write to it: the object is a person's, and another controller may read it, too.
"""

from __future__ import annotations

from typing import Any

from unmoor.lifecycle.step import Step, spoken
from unmoor.model.kinds import ref_of
from unmoor.model.moment import Moment
from unmoor.model.provisioner import Provisioner, validate
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method, Reason, Verdict

TOLD_MAX = 10
"""So many errors of one provisioner are told; the last line says how many more there are."""


def advance(view: View, key: str, memory: None, moment: Moment) -> Step[Any]:
    """Report what is wrong with the provisioner called ``key``."""
    del memory, moment
    provisioner = view.provisioner(key)
    if provisioner is None or provisioner.is_deleting:
        return Step()
    errors = validate(provisioner)
    verdicts = tuple(
        _told(provisioner, str(error), {"field": error.field, "value": error.value})
        for error in errors[:TOLD_MAX]
    )
    if len(errors) > TOLD_MAX:
        more = (
            f"provisioner/{key}: {len(errors) - TOLD_MAX} more fields are wrong; mend these first"
        )
        verdicts += (_told(provisioner, more, {}),)
    return spoken(*verdicts)


def _told(provisioner: Provisioner, message: str, evidence: dict[str, Any]) -> Verdict:
    return Verdict(
        subject=ref_of(provisioner),
        method=Method.LIFECYCLE,
        reason=Reason.PROVISIONER_INVALID,
        message=message,
        evidence=evidence,
        event="Invalid",
        is_warning=True,
    )
