"""Bugs that somebody might write about replacements; planted like those of ``sabotage``."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.sim.sabotage import RowBug, StepFunction
from unmoor.lifecycle import replacements
from unmoor.lifecycle.effects import AnyEffect, Delete, Patch
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View


class EffectsBug(RowBug):
    """What the loop does is changed on its way out."""

    rows_concerned: tuple[str, ...] = ("deprovisioning",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        taken = step(view, key, memory, moment)
        changed = (self.changed(view, effect) for effect in taken.effects)
        return msgspec.structs.replace(taken, effects=tuple(e for e in changed if e is not None))

    def changed(self, view: View, effect: AnyEffect) -> AnyEffect | None:
        raise NotImplementedError


class ReplacementNotAwaited(EffectsBug):
    """The nodes go at once, and what is to replace them may come or not."""

    def changed(self, view: View, effect: AnyEffect) -> AnyEffect | None:
        del view
        if isinstance(effect, Patch) and phase_of(effect) == "Launching":
            status = effect.body["status"] | {"phase": "Deleting"}
            return msgspec.structs.replace(effect, body={"status": status})
        return effect


class ReplacementLeft(EffectsBug):
    """What was made for a command is nobody's business when the command is over."""

    def changed(self, view: View, effect: AnyEffect) -> AnyEffect | None:
        del view
        is_release = isinstance(effect, Patch) and names.REPLACEMENT_FOR in str(effect.body)
        is_end = isinstance(effect, Delete) and effect.ref.kind == "Machine"
        return None if is_release or is_end else effect


class ReplacementMadeForEach(EffectsBug):
    """One that is gone again is made once more, as if nobody had seen it."""

    def changed(self, view: View, effect: AnyEffect) -> AnyEffect | None:
        command = view.disruption(effect.ref.name) if isinstance(effect, Patch) else None
        if command is None or not command.status.launched or phase_of(effect) != "Cancelled":
            return effect
        gone = [one for one in command.spec.replacements if view.machine(one.name) is None]
        return next(iter(replacements.create(view, command, tuple(gone)).effects), effect)


def phase_of(effect: AnyEffect) -> str:
    assert isinstance(effect, Patch)
    return str((effect.body.get("status") or {}).get("phase", ""))
