"""May a provisioner have one more machine? What its limits leave, and what would break them.

A limit is a cap on the summed capacity of one provisioner's machines, on any resource by name; a
resource without a limit is not limited. To reach a limit is allowed, to pass it is not. A limit of
zero allows only machines that have nothing of that resource. Once more is used than a limit allows,
nothing is launched, whatever it has of that resource. A machine that is not launched yet counts as
the largest that it may become: which it will be, the cloud says.

Limits that cannot be read, or are negative, allow nothing: nobody knows what was meant.

Must not: count what is used; whoever asks knows which machines are to go (spec 9.4).
"""

from __future__ import annotations

import msgspec

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.model import resources
from unmoor.model.provisioner import Provisioner
from unmoor.model.resources import Resources
from unmoor.model.validation import Findings

ON_ORDER = "until it is launched, a machine counts as the largest that it may become"
"""Why more may seem to be used than there is, and fewer machines come at a time than have room."""


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What a provisioner's limits leave.

    ``amounts`` by limited resource, in the units of ``model.resources``: negative when more is used
    than allowed. ``limits``: what they are. ``is_on_order``: machines count that are not launched
    yet. ``problem``: why the limits mean nothing, with field, value and remedy, else "".
    """

    provisioner: str
    amounts: Resources
    limits: Resources = {}
    is_on_order: bool = False
    problem: str = ""

    def refusals(self, capacity: Resources) -> tuple[Refusal, ...]:
        """Return what stands against a machine of this capacity, by resource; () allows it."""
        if self.problem:
            subject = "spec.limits.resources"
            return (Refusal(Constraint.PROVISIONER, subject, self.problem, where=self.provisioner),)
        return tuple(
            self._refusal(name, capacity.get(name, 0))
            for name in resources.exceeds(capacity, self.amounts)
        )

    def _refusal(self, name: str, amount: int) -> Refusal:
        left = self.amounts[name]
        limit = self.limits.get(name, left)  # Nothing is used, as far as is known.
        most = resources.said(name, limit)
        used, more = (resources.said(name, each, up=True) for each in (limit - left, amount))
        words = f"provisioner {self.provisioner} may have {most} (spec.limits.resources), {used} "
        words += "already in use" if left < 0 else "in use"
        if self.is_on_order:
            words += f" or on order ({ON_ORDER})"
        if left >= 0:
            words += f", this machine {more}"
        return Refusal(Constraint.LIMITS, name, words, amount - left, self.provisioner)


def left_by(provisioner: Provisioner, used: Resources) -> Left:
    """Return what the limits leave when machines with ``used`` in sum are there. Never raises."""
    findings = Findings(f"provisioner/{provisioner.name}")
    findings.amounts("spec.limits.resources", provisioner.limits)
    if findings.errors:
        problem = str(findings.errors[0])
        return Left(provisioner=provisioner.name, amounts={}, problem=problem)
    limits = resources.parse_resources(provisioner.limits)
    counted = {name: used.get(name, 0) for name in limits}
    amounts = resources.subtract(limits, counted)
    return Left(provisioner=provisioner.name, amounts=amounts, limits=limits)
