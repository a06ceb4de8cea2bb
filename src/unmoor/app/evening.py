"""The evening of a rehearsal: workloads shrink, and what consolidation makes of it.

A Deployment says in the annotation ``sim.unmoor.dev/evening-replicas`` how many pods it needs then.

Must not: wait, or print.
"""

from __future__ import annotations

import msgspec

from unmoor.app import manifests
from unmoor.model.base import Ref
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.money import rounded_usd, usd_per_h
from unmoor.model.snapshot import View
from unmoor.model.wording import counted

REPLICAS = "sim.unmoor.dev/evening-replicas"


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """What consolidation has done: commands that ended as they were meant, and what they moved."""

    commands: int = 0
    usd_per_h: float = 0.0
    moved_pods: int = 0

    def __str__(self) -> str:
        """``consolidation: 2 commands save 0.5 USD/h and moved 6 pods``."""
        verb = "saves" if self.commands == 1 else "save"
        what = f"{verb} {usd_per_h(self.usd_per_h)} and moved {counted(self.moved_pods, 'pod')}"
        return f"consolidation: {counted(self.commands, 'command')} {what}"


def wanted(objects: manifests.Objects) -> tuple[tuple[Ref, int], ...]:
    """Return which workloads shrink or grow, and to how many pods; what is no number is nothing."""
    found = []
    for ref, body in objects:
        given = str((body["metadata"].get("annotations") or {}).get(REPLICAS, ""))
        if ref.kind == "Deployment" and given.isdecimal():
            found.append((ref, int(given)))
    return tuple(found)


def is_to_save(command: Disruption) -> bool:
    """True for a command that was decided on for what it saves."""
    return bool(command.spec.saving_per_hour)


def saved(view: View) -> Saved:
    """Return what those have done that succeeded."""
    over = [one for one in view.sorted(DISRUPTIONS) if one.phase is DisruptionPhase.SUCCEEDED]
    done = [one for one in over if is_to_save(one)]
    return Saved(
        commands=len(done),
        usd_per_h=rounded_usd(sum(float(one.spec.saving_per_hour) for one in done)),
        moved_pods=sum(one.spec.moved_pods for one in done),
    )
