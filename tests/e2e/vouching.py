"""Would the real kube-scheduler do what was promised?

A trial is a cluster of hollow nodes and promises. The cluster is made first, its pods already
bound. Then a kube-scheduler is started for it alone: before the first pod asks, it has seen all of
the cluster and nothing of any other. Promised pods come one by one, in their order, each when it is
known what became of the one before. Pods of which was said that they fit nowhere come last, when
nothing changes any more, and one refusal is enough.

Nobody provides or binds volumes here: a pod that has waited for its node to be chosen first counts
as bound when kube-scheduler has written down what it chose.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from tests.controlplane import Component, ControlPlane
from tests.e2e import hollow
from tests.e2e.extender import FLAGS, PROFILE, Promises
from tests.e2e.hollow import HollowCluster
from tests.e2e.rest import Rest
from tests.e2e.seen import Seen
from unmoor.model.base import JSON

SCHEDULER: Final = "kube-scheduler"
NOT_ADMITTING: Final = (
    "ServiceAccount",  # nobody makes the accounts
    "TaintNodesByCondition",  # nobody would take the taint of a new node away
    "StorageObjectInUseProtection",  # nor the finalizers of claims
    "Priority",  # there are no classes to look priorities up in
    "RuntimeClass",  # nor any that would say the overhead
)


class Promise(NamedTuple):
    """A pod and its node, or None where it fits nowhere.

    ``excuse``: the rule of ours, stricter than kube-scheduler's, for which it fits nowhere.
    """

    pod: JSON
    node: str | None = None
    excuse: str | None = None


class Trial(NamedTuple):
    """A cluster, bound pods included, and what is promised to pods that come to it."""

    objects: Sequence[JSON]
    order: Sequence[Promise]


@dataclass(frozen=True)
class Outcome:
    """What became of a promise. ``fits``: the nodes that kube-scheduler itself would have taken."""

    pod: str
    promised: str | None
    excuse: str | None
    bound: str | None
    fits: frozenset[str]
    message: str

    @property
    def is_kept(self) -> bool:
        """It is where it was promised, or nowhere as said."""
        return self.bound == self.promised or (self.promised is None and self.excuse is not None)

    def __str__(self) -> str:
        """``default/web: promised a; nowhere: 0/2 nodes are available: ...``."""
        where = f"bound to {self.bound}" if self.bound else f"nowhere: {self.message}"
        return f"{self.pod}: promised {self.promised or 'nowhere'}; {where}"


def control_plane(directory: Path) -> ControlPlane:
    """An API server for trials; each brings a kube-scheduler of its own."""
    extra: dict[Component, Sequence[str]] = {
        "kube-apiserver": [f"--disable-admission-plugins={','.join(NOT_ADMITTING)}"],
        "kube-scheduler": [f"--config={_configuration(directory)}", *FLAGS],
    }
    return ControlPlane(directory=directory, components=(), extra_args=extra)


def _configuration(directory: Path) -> Path:
    return directory / "promises.json"


@contextlib.asynccontextmanager
async def opened(plane: ControlPlane) -> AsyncIterator[Court]:
    """A court on a plane of :func:`control_plane`."""
    async with Promises() as promises, Rest(plane) as rest:
        configuration = promises.configuration(plane.kubeconfig)
        _configuration(plane.directory).write_text(json.dumps(configuration))
        yield Court(plane, rest, promises, HollowCluster(rest))


@dataclass(frozen=True)
class Court:
    """Where trials are held, one at a time."""

    plane: ControlPlane
    rest: Rest
    promises: Promises
    cluster: HollowCluster

    async def hear(self, trial: Trial) -> list[Outcome]:
        """Return what became of each promise, in the order in which they were asked."""
        self.promises.promise(
            {hollow.key(one.pod): one.node for one in trial.order if one.node is not None}
        )
        async with self.session(trial.objects, [one.pod for one in trial.order]) as seen:
            return await self._asked(trial, seen)

    @contextlib.asynccontextmanager
    async def session(self, objects: Sequence[JSON], coming: Sequence[JSON]) -> AsyncIterator[Seen]:
        """A cluster with a kube-scheduler of its own, until the end of the block."""
        try:
            await self.cluster.furnish(objects, coming)
            await asyncio.to_thread(self.plane.start_component, SCHEDULER)
            try:
                async with self._watching() as seen:
                    yield seen
            except ExceptionGroup as group:  # of the trial and its watches
                raise group.exceptions[0] from None
            finally:
                await asyncio.to_thread(self.plane.stop_component, SCHEDULER)
        finally:
            await self.cluster.clear()

    async def come(self, pod: JSON) -> str:
        """Create a pod that asks for a place, and return its uid."""
        asks = {word: pod[word] for word in pod if word != "status"}
        asks["spec"] = {**pod["spec"], "schedulerName": PROFILE}
        made = await self.cluster.create(asks)
        uid: str = made["metadata"]["uid"]
        return uid

    async def _asked(self, trial: Trial, seen: Seen) -> list[Outcome]:
        placed = [one for one in trial.order if one.node is not None]
        nowhere = [one for one in trial.order if one.node is None]
        found = [await self._outcome(one, await self.come(one.pod), seen) for one in placed]
        # A pod with an excuse may be bound after all, and then in the way of the others.
        for is_excused in (False, True):
            rest = [one for one in nowhere if (one.excuse is not None) is is_excused]
            made = await asyncio.gather(*(self.come(one.pod) for one in rest))
            found += [await self._outcome(*both, seen) for both in zip(rest, made, strict=True)]
        return found

    async def _outcome(self, promise: Promise, uid: str, seen: Seen) -> Outcome:
        settled = await seen.settled(uid)
        return Outcome(
            pod=hollow.key(promise.pod),
            promised=promise.node,
            excuse=promise.excuse,
            bound=settled.node,
            fits=frozenset(self.promises.fits.get(uid, ())),
            message=settled.message,
        )

    @contextlib.asynccontextmanager
    async def _watching(self) -> AsyncIterator[Seen]:
        seen = Seen(self.promises)
        since = (await self.rest.get("/api/v1/pods?limit=1"))["metadata"]["resourceVersion"]
        async with asyncio.TaskGroup() as watches:
            tasks = [
                watches.create_task(seen.follow(self.rest.watch(path, since)))
                for path in (
                    f"/api/v1/pods?fieldSelector=spec.schedulerName={PROFILE}",
                    "/api/v1/persistentvolumeclaims",
                    "/api/v1/persistentvolumes",
                )
            ]
            try:
                yield seen
            finally:
                for task in tasks:
                    task.cancel()
