"""Bugs that somebody might write, each as a wrapper at a port or around a row of the table.

Must not: reach into unmoor. A bug that cannot be planted from outside is not planted here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from unmoor.cloud.catalogue import ec2_types
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.lifecycle.effects import Patch, Terminate, remove_finalizer
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.base import JSON, Ref
from unmoor.model.instance import CloudInstance, InstanceType, LaunchRequest
from unmoor.model.kinds import Resource
from unmoor.model.moment import Moment
from unmoor.model.observation import Answer, Asked
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.runtime.around import ApiAround
from unmoor.runtime.ports import (
    Api,
    Cloud,
    CloudError,
    DeleteOptions,
    PatchType,
    Unreachable,
)
from unmoor.runtime.reconciler import Reconciler
from unmoor.sim.mischief import Meddling
from unmoor.sim.swarm import SeedResult, run_seed

TYPES = tuple(one for one in ec2_types() if one.capacity["cpu"] <= 8_000 and one.arch == "amd64")
TYPES_BY_NAME = {one.name: one for one in TYPES}


def cloud_of(api: Api) -> Cloud:
    return SimulatedCloud(api, TYPES)


def play(seed: int, hours: float = 2.0, meddling: Meddling | None = None) -> SeedResult:
    """One seed, as ``unmoor swarm`` plays it."""
    return run_seed(seed, hours, cloud=cloud_of, types=TYPES_BY_NAME, meddling=meddling)


# Wrappers at the ports.


class CloudWrapper:
    """The cloud port, passed on as it is."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self.scheme = cloud.scheme
        self.discover = cloud.discover

    async def create(self, request: LaunchRequest) -> CloudInstance:
        return await self._cloud.create(request)

    async def get(self, provider_id: str) -> CloudInstance:
        return await self._cloud.get(provider_id)

    async def list(self, cluster: str) -> tuple[CloudInstance, ...]:
        return await self._cloud.list(cluster)

    async def terminate(self, provider_id: str) -> None:
        await self._cloud.terminate(provider_id)

    async def instance_types(self) -> tuple[InstanceType, ...]:
        return await self._cloud.instance_types()


class Blind:
    """A view that shows something else in one place."""

    def __init__(self, view: View, **instead: Callable[..., Any]) -> None:
        self._view = view
        self._instead = instead

    def __getattr__(self, name: str) -> Any:
        return self._instead[name] if name in self._instead else getattr(self._view, name)


StepFunction = Callable[[View, Any, Any, Moment], Step[Any]]


class RowBug(Meddling):
    """A bug in the step of some rows."""

    rows_concerned: tuple[str, ...] = ()

    def rows(self, rows: tuple[Reconciler, ...]) -> tuple[Reconciler, ...]:
        return tuple(
            msgspec.structs.replace(row, step=self._wrapped(row.step))
            if row.name in self.rows_concerned
            else row
            for row in rows
        )

    def _wrapped(self, step: StepFunction) -> StepFunction:
        def wrapped(view: View, key: Any, memory: Any, moment: Moment) -> Step[Any]:
            return self.step(step, view, key, memory, moment)

        return wrapped

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        raise NotImplementedError


# The bugs.


class NoUidPrecondition(Meddling):
    """Whoever bears the name now is taken for the one that was meant."""

    def api(self, api: Api) -> Api:
        class Careless(ApiAround):
            async def create(
                self, ref: Ref, body: JSON, *, subresource: str = "", dry_run: bool = False
            ) -> JSON:
                sent = {key: value for key, value in body.items() if key != "deleteOptions"}
                return await super().create(ref, sent, subresource=subresource, dry_run=dry_run)

            async def delete(self, ref: Ref, options: DeleteOptions = DeleteOptions()) -> JSON:
                return await super().delete(ref, msgspec.structs.replace(options, uid=""))

        return Careless(api)


class BudgetNotRead(Meddling):
    """Pods are deleted instead of evicted."""

    def api(self, api: Api) -> Api:
        class Hasty(ApiAround):
            async def create(
                self, ref: Ref, body: JSON, *, subresource: str = "", dry_run: bool = False
            ) -> JSON:
                if subresource != "eviction":
                    return await super().create(ref, body, subresource=subresource, dry_run=dry_run)
                return await self.delete(ref, DeleteOptions(uid=ref.uid))

        return Hasty(api)


class MethodRenamed(Meddling):
    """Commands are begun under a name that no checker knows."""

    def api(self, api: Api) -> Api:
        class Renaming(ApiAround):
            async def create(
                self, ref: Ref, body: JSON, *, subresource: str = "", dry_run: bool = False
            ) -> JSON:
                if ref.kind == "Disruption":
                    body = {**body, "spec": {**body["spec"], "method": "magic"}}
                return await super().create(ref, body, subresource=subresource, dry_run=dry_run)

        return Renaming(api)


class FinalizerRemovedFirst(RowBug):
    """The node is let go, and then the machine is to be told: nobody will."""

    rows_concerned: tuple[str, ...] = ("termination",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        taken = step(view, key, memory, moment)
        node = view.node(key)
        if node is None or not any(isinstance(one, Terminate) for one in taken.effects):
            return taken
        released = remove_finalizer(node, names.TERMINATION_FINALIZER)
        return msgspec.structs.replace(taken, effects=(released,))


class UnknownTakenForRefused(Meddling):
    """A lost answer to a launch counts as a failure, so there is a second launch."""

    def cloud(self, cloud: Cloud) -> Cloud:
        class Sure(CloudWrapper):
            async def create(self, request: LaunchRequest) -> CloudInstance:
                try:
                    return await super().create(request)
                except Unreachable as error:
                    raise CloudError("failed", str(error)) from error

        return Sure(cloud)


class AttemptNotWrittenDown(Meddling):
    """The number of the attempt is kept in memory only."""

    def api(self, api: Api) -> Api:
        class Forgetful(ApiAround):
            async def patch(
                self,
                ref: Ref,
                body: Any,
                *,
                how: PatchType = "merge",
                subresource: str = "",
                dry_run: bool = False,
            ) -> JSON:
                marks = (body.get("metadata") or {}).get("annotations") or {}
                if names.LAUNCH_ATTEMPT not in marks:
                    return await super().patch(
                        ref, body, how=how, subresource=subresource, dry_run=dry_run
                    )
                found = await self.get(ref)
                meta = found["metadata"]
                known = {**(meta.get("annotations") or {}), **marks}
                version = str(int(meta["resourceVersion"]) + 1)
                made = {**meta, "annotations": known, "resourceVersion": version}
                return {**found, "metadata": made}

        return Forgetful(api)


class TerminatingTakenForGone(RowBug):
    """A pod whose eviction was admitted is not waited for."""

    rows_concerned: tuple[str, ...] = ("termination",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        def pods_on(node: str) -> tuple[Pod, ...]:
            return tuple(pod for pod in view.pods_on(node) if not pod.is_deleting)

        blind: Any = Blind(view, pods_on=pods_on)
        return step(blind, key, memory, moment)


class ReferenceLeft(RowBug):
    """What a command has marked stays marked when the command comes to nothing."""

    rows_concerned: tuple[str, ...] = ("deprovisioning",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        taken = step(view, key, memory, moment)
        kept = tuple(one for one in taken.effects if not _lets_go(one))
        return msgspec.structs.replace(taken, effects=kept)


def _lets_go(effect: Any) -> bool:
    if not isinstance(effect, Patch) or effect.ref.kind != "Node":
        return False
    marks = (effect.body.get("metadata") or {}).get("annotations") or {}
    return names.DISRUPTION in marks and marks[names.DISRUPTION] is None


class ClusterTagIgnored(Meddling):
    """Everything in the cloud is taken for ours."""

    def cloud(self, cloud: Cloud) -> Cloud:
        class Greedy(CloudWrapper):
            async def list(self, cluster: str) -> tuple[CloudInstance, ...]:
                found = [*await super().list(cluster), *await super().list("elsewhere")]
                return tuple(msgspec.structs.replace(one, cluster=cluster) for one in found)

            async def get(self, provider_id: str) -> CloudInstance:
                found = await super().get(provider_id)
                return msgspec.structs.replace(found, cluster="swarm")

        return Greedy(cloud)


class AnyCordonRemoved(RowBug):
    """Whoever has cordoned the node, it is uncordoned with the mark."""

    rows_concerned: tuple[str, ...] = ("deprovisioning",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        taken = step(view, key, memory, moment)
        effects = tuple(
            msgspec.structs.replace(one, body={**one.body, "spec": {"unschedulable": None}})
            if isinstance(one, Patch) and _lets_go(one)
            else one
            for one in taken.effects
        )
        return msgspec.structs.replace(taken, effects=effects)


class NotReallyEmpty(RowBug):
    """A node that was empty once stays so, whatever has come to it since."""

    rows_concerned: tuple[str, ...] = ("deprovisioning", "disruption-conditions")

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        blind: Any = Blind(view, pods_on=lambda _node: ())
        return step(blind, key, memory, moment)


class RunningCommandForgotten(RowBug):
    """Whether a command is running is known to the process alone, and not asked of the API."""

    rows_concerned: tuple[str, ...] = ("deprovisioning",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        def of_memory(resource: Resource[Any]) -> list[Any]:
            found = view.sorted(resource)
            if resource.kind != "Disruption" or (memory is not None and memory.name):
                return found
            return [one for one in found if one.phase.is_final]

        blind: Any = Blind(view, sorted=of_memory)
        return step(blind, key, memory, moment)


class BoughtForgotten(RowBug):
    """A machine that has no node yet is no place, so its pods are given another at each look."""

    rows_concerned: tuple[str, ...] = ("provisioning",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        def with_nodes(resource: Resource[Any]) -> dict[Any, Any]:
            found = view.all(resource).items()
            return {at: one for at, one in found if resource.kind != "Machine" or one.node_name}

        blind: Any = Blind(view, all=with_nodes)
        return step(blind, key, memory, moment)


class BatchNeverEnds(RowBug):
    """Pods are waited for as long as there are any."""

    rows_concerned: tuple[str, ...] = ("provisioning",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        del memory
        return step(view, key, None, moment)


class LimitIgnored(RowBug):
    """A Provisioner has as many machines as pods want."""

    rows_concerned: tuple[str, ...] = ("provisioning",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        def unlimited(resource: Resource[Any]) -> list[Any]:
            found = view.sorted(resource)
            if resource.kind != "Provisioner":
                return found
            return [replaced(one, spec=replaced(one.spec, limits=None)) for one in found]

        replaced = msgspec.structs.replace
        blind: Any = Blind(view, sorted=unlimited)
        return step(blind, key, memory, moment)


class WatchTrusted(RowBug):
    """What the watches have not brought is not there: the server is never asked for the pods."""

    rows_concerned: tuple[str, ...] = ("termination", "deprovisioning")

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        def answer(asked: Asked, subject: str) -> Answer[Any] | None:
            return (
                Answer(moment, moment.mono) if asked is Asked.PODS else view.answer(asked, subject)
            )

        blind: Any = Blind(view, answer=answer)
        return step(blind, key, memory, moment)


class ClockTrusted(RowBug):
    """Whether a terminating pod is stuck is read off the wall clock alone."""

    rows_concerned: tuple[str, ...] = ("termination",)

    def step(
        self, step: StepFunction, view: View, key: Any, memory: Any, moment: Moment
    ) -> Step[Any]:
        long_ago = {pod.uid: 0.0 for pod in view.pods_on(key)}
        known = memory and msgspec.structs.replace(memory, terminating=long_ago)
        return step(view, key, known, moment)
