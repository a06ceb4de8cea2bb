"""Objects of our kinds that cannot be read at all: somebody has to be told which field, and how.

An older definition of a kind, or a looser one, may have let in what does not fit the field's type.
Such an object stays as it was last readable, or unknown; everything else goes on.

Must not: guess what was meant.
"""

from __future__ import annotations

from typing import Any

from unmoor.lifecycle.step import Step, spoken
from unmoor.model.kinds import DISRUPTIONS, MACHINES, PROVISIONERS, Resource
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method, Reason, Verdict

TOLD: tuple[Resource[Any], ...] = (DISRUPTIONS, MACHINES, PROVISIONERS)
"""Nodes, pods and the like have authors of their own, who would not look for our events."""
TOLD_MAX = 20
"""So many are named in one look."""


def advance(view: View, key: str, memory: None, moment: Moment) -> Step[Any]:
    """Name every unreadable object; ``key`` is the same always."""
    del key, memory, moment
    verdicts = tuple(
        _told(resource, name, problem)
        for resource in TOLD
        for (_, name), problem in sorted(view.broken(resource).items())
    )[:TOLD_MAX]
    return spoken(*verdicts)


def _told(resource: Resource[Any], name: str, problem: str) -> Verdict:
    ref = resource.ref(name)
    return Verdict(
        subject=ref,
        method=Method.LIFECYCLE,
        reason=Reason.INVALID,
        message=(
            f"{ref} cannot be read: {problem}; write the field as "
            f'"kubectl explain {resource.plural} --recursive" has it, until then it is left alone'
        ),
        event="Invalid",
        is_warning=True,
    )
