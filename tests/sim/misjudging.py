"""Bugs that somebody might write in judging which nodes may go; planted like those of ``sabotage``.

Must not: reach into unmoor.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tests.sim.misreplacing import EffectsBug, phase_of
from tests.sim.sabotage import Blind, CloudWrapper, RowBug, StepFunction
from unmoor.lifecycle.effects import AnyEffect, Patch
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import Resource
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.runtime.ports import Cloud
from unmoor.sim.mischief import Meddling


class _SightBug(RowBug):
    """The loop sees something else."""

    rows_concerned: tuple[str, ...] = ("deprovisioning",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        blind: Any = Blind(view, **self.instead(view))
        return step(blind, key, memory, moment)

    def instead(self, view: View) -> dict[str, Any]:
        raise NotImplementedError


def _without(obj: Any, annotation: str) -> Any:
    marks = {k: v for k, v in obj.metadata.annotations.items() if k != annotation}
    metadata = msgspec.structs.replace(obj.metadata, annotations=marks)
    return msgspec.structs.replace(obj, metadata=metadata)


class DoNotEvictIgnored(_SightBug):
    """A pod that is to stay is a pod like any other."""

    def instead(self, view: View) -> dict[str, Any]:
        def pods_on(node: str) -> tuple[Pod, ...]:
            return tuple(_without(pod, names.DO_NOT_EVICT) for pod in view.pods_on(node))

        return {"pods_on": pods_on}


class ExhaustedBudgetIgnored(_SightBug):
    """Whether a pod may be evicted is found out when its node is gone for good."""

    def instead(self, view: View) -> dict[str, Any]:
        del view
        return {"budgets_in": lambda _namespace: ()}


class ProtectedNodeIgnored(_SightBug):
    """Nodes that are to be left alone are not."""

    def instead(self, view: View) -> dict[str, Any]:
        def node(name: str) -> Node | None:
            found = view.node(name)
            return None if found is None else _without(found, names.DO_NOT_DISRUPT)

        def in_order(resource: Resource[Any]) -> list[Any]:
            found = view.sorted(resource)
            if resource.kind != "Node":
                return found
            return [_without(one, names.DO_NOT_DISRUPT) for one in found]

        return {"node": node, "sorted": in_order}


class NodeBudgetIgnored(_SightBug):
    """As many nodes of a Provisioner go as can."""

    def instead(self, view: View) -> dict[str, Any]:
        def provisioner(name: str) -> Any:
            found = view.provisioner(name)
            return None if found is None else _without(found, names.BUDGETS)

        return {"provisioner": provisioner}


class NodeBudgetSpentTwice(_SightBug):
    """Nodes that are going already use up no budget."""

    def instead(self, view: View) -> dict[str, Any]:
        def in_all(resource: Resource[Any]) -> Any:
            found = view.all(resource)
            if resource.kind != "Node":
                return found
            replaced = msgspec.structs.replace
            return {
                key: replaced(one, metadata=replaced(one.metadata, deletion_timestamp=None))
                for key, one in found.items()
                if one.is_ready and not one.disruption
            }

        return {"all": in_all}


class MovedAgain(_SightBug):
    """Who was moved a moment ago is moved again by a replacement."""

    def instead(self, view: View) -> dict[str, Any]:
        settings = msgspec.structs.replace(view.settings, moved_workload_respect_s=0.0)
        return {"settings": settings}


class PricesReversed(Meddling):
    """The dear machines are taken for the cheap ones."""

    def cloud(self, cloud: Cloud) -> Cloud:
        class Confused(CloudWrapper):
            async def instance_types(self) -> tuple[InstanceType, ...]:
                return tuple(map(_reversed, await super().instance_types()))

        return Confused(cloud)


def _reversed(kind: InstanceType) -> InstanceType:
    replaced = msgspec.structs.replace
    offerings = tuple(
        replaced(one, price_usd_per_h=1.0 / one.price_usd_per_h) if one.price_usd_per_h else one
        for one in kind.offerings
    )
    return replaced(kind, offerings=offerings)


class ValidatedAsBefore(_SightBug):
    """The last look at a command is a look at the same old picture of its nodes."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Pod, ...]] = {}

    def instead(self, view: View) -> dict[str, Any]:
        def pods_on(node: str) -> tuple[Pod, ...]:
            found = view.node(node)
            if found is None or not found.disruption:
                self._seen[node] = view.pods_on(node)
            return self._seen.get(node, ())

        return {"pods_on": pods_on}


class CordonLeft(EffectsBug):
    """What a command has cordoned stays cordoned when the command comes to nothing."""

    def changed(self, view: View, effect: AnyEffect) -> AnyEffect | None:
        del view
        if not isinstance(effect, Patch) or effect.ref.kind != "Node":
            return effect
        body = {key: value for key, value in effect.body.items() if key != "spec"}
        is_cordon = (effect.body.get("spec") or {}).get("unschedulable") is True
        return effect if is_cordon else msgspec.structs.replace(effect, body=body)


class TakenForDone(RowBug):
    """After a restart, a command that is past its last look is taken for one that is over."""

    rows_concerned: tuple[str, ...] = ("deprovisioning",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        taken = step(view, key, memory, moment)
        if memory is not None:
            return taken
        return msgspec.structs.replace(taken, effects=tuple(map(_done, taken.effects)))


def _done(effect: AnyEffect) -> AnyEffect:
    if not isinstance(effect, Patch) or phase_of(effect) != "Deleting":
        return effect
    status = effect.body["status"] | {"phase": "Succeeded"}
    return msgspec.structs.replace(effect, body={"status": status})
