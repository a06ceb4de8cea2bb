"""Bugs in planning places for pods, planted as those in ``sabotage`` are.

Must not: reach into unmoor.
"""

from __future__ import annotations

from typing import Any

from tests.sim import sabotage
from unmoor.lifecycle.step import Step
from unmoor.model.kinds import Resource
from unmoor.model.moment import Moment
from unmoor.model.observation import Answer, Asked
from unmoor.model.snapshot import View


class RoomForgotten(sabotage.RowBug):
    """A pod that loses its place gets a machine, whatever room there is on other nodes."""

    rows_concerned: tuple[str, ...] = ("provisioning",)

    def step(
        self, step: sabotage.StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        def without_standing(resource: Resource[Any]) -> Any:
            found = view.all(resource)
            if resource.kind != "Node":
                return found
            return {key: node for key, node in found.items() if node.is_deleting}

        blind: Any = sabotage.Blind(view, all=without_standing)
        return step(blind, key, memory, moment)


class PromiseForgotten(sabotage.RowBug):
    """For whom a machine comes up is not remembered: the largest pods come first, ever anew."""

    rows_concerned: tuple[str, ...] = ("provisioning",)

    def step(
        self, step: sabotage.StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        def answer(asked: Asked, subject: str) -> Answer[Any] | None:
            if asked is Asked.NOMINATION:
                return Answer(moment, ())
            return view.answer(asked, subject)

        blind: Any = sabotage.Blind(view, answer=answer)
        return step(blind, key, memory, moment)
