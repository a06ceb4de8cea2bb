"""One unmoor process, assembled: informers, leader, loop, recorder around one store.

``app`` runs it against a real cluster and ``sim`` in virtual time, with the same rows.

Must not: choose adapters. Whoever assembles a process hands the ports in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from unmoor.model import kinds, names, settings
from unmoor.model.kinds import Resource
from unmoor.model.settings import Settings
from unmoor.model.snapshot import Identity
from unmoor.runtime.informer import Informer, Report, ignore
from unmoor.runtime.interpreter import Interpreter
from unmoor.runtime.leader import LEASE, LEASE_OF_OBSERVERS, Leader, LeaseTimes
from unmoor.runtime.loop import Loop
from unmoor.runtime.ports import Api, Clock, Cloud, Executor, Query, Recorder
from unmoor.runtime.reconciler import Reconciler
from unmoor.runtime.store import Store
from unmoor.runtime.story import Observer, Story

WATCHED: tuple[Resource[Any], ...] = (
    kinds.NODES,
    kinds.PODS,
    kinds.MACHINES,
    kinds.PROVISIONERS,
    kinds.NODE_TEMPLATES,
    kinds.BUDGETS,
    kinds.DISRUPTIONS,
    kinds.CONFIG_MAPS,
    kinds.REPLICA_SETS,
    kinds.STATEFUL_SETS,
    kinds.DAEMON_SETS,
    kinds.JOBS,
    kinds.ATTACHMENTS,
    kinds.CLAIMS,
    kinds.VOLUMES,
    kinds.STORAGE_CLASSES,
    kinds.CSI_NODES,
    kinds.NAMESPACES,
    kinds.LEASES,
)
"""What the controller follows. Everything else it needs, it asks for."""


OnLeadership = Callable[[bool], None]
"""Called with whether we act: once every kind has been listed, and whenever that changes."""


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """The outside of one process. ``jitter`` gives numbers from 0 to 1, seeded in simulations."""

    api: Api
    clock: Clock
    executor: Executor
    recorder: Recorder
    cloud: Cloud | None = None
    jitter: Callable[[], float]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How one process differs from another. ``cluster`` overrides the settings' name.

    ``is_observing``: it touches nothing, and holds a lease of its own beside one that acts.
    """

    identity: str = "unmoor"
    namespace: str = settings.NAMESPACE
    settings_name: str = settings.CONFIG_MAP_NAME
    cluster: str = ""
    lease: LeaseTimes | None = LeaseTimes()
    """None: act without a lease, for one-shot commands and single-process rehearsals."""
    watched: tuple[Resource[Any], ...] = WATCHED
    settings: Settings = Settings()
    is_observing: bool = False


class Controller:
    """A process that can be run once. ``is_ready``: synced, whether leading or not."""

    def __init__(
        self,
        ports: Ports,
        options: Options,
        *,
        observers: Sequence[Observer] = (),
        report: Report | None = None,
        on_leadership: OnLeadership | None = None,
        on_lease_problem: Callable[[str], None] | None = None,
    ) -> None:
        """Assemble; nothing is asked of the ports yet.

        ``report`` hears what informers meet and which settings are refused, ``on_lease_problem``
        what keeps us from the lease.
        """
        self.ports = ports
        self.options = options
        scheme = ports.cloud.scheme if ports.cloud is not None else ""
        cluster = options.cluster or options.settings.aws.cluster_name
        self.store = Store(options.settings, Identity(cluster, scheme, options.is_observing))
        self.story = Story()
        self.leader: Leader | None = None
        if options.lease is not None:
            self.leader = Leader(
                ports.api,
                ports.clock,
                identity=options.identity,
                namespace=options.namespace,
                name=LEASE_OF_OBSERVERS if options.is_observing else LEASE,
                times=options.lease,
            )
        self._report = report or ignore
        self._on_leadership = on_leadership or _say_nothing
        self._on_lease_problem = on_lease_problem or _say_nothing
        self.informer = Informer(
            ports.api,
            self.store,
            ports.clock,
            jitter=ports.jitter,
            report=self._report,
            cadence=lambda: self.store.settings.cadence,
        )
        self.loop = Loop(
            self.store,
            Interpreter(
                ports.api, self.store, ports.clock, cloud=ports.cloud, recorder=ports.recorder
            ),
            ports.clock,
            executor=ports.executor,
            observers=(self.story, *observers),
            may_act=self.leader.may_act if self.leader is not None else lambda: True,
        )

    @property
    def is_ready(self) -> bool:
        """Every kind has been listed."""
        return self.informer.is_synced

    async def run(self, reconcilers: Sequence[Reconciler]) -> None:
        """Run until cancelled; a clean stop gives the lease up."""
        self.store.subscribe(self._configure)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.informer.run(self.options.watched, self._queries()))
                await self.informer.wait_synced()
                # Whoever cannot see the cluster must not keep the lease from those who can.
                self._on_leadership(self.leader is None)
                if self.leader is not None:
                    tasks.create_task(self.leader.run(self._lead, self._on_lease_problem))
                await self.loop.run(reconcilers)
        finally:
            if self.leader is not None:
                await self.leader.release()

    def _queries(self) -> Mapping[str, Query]:
        """Config maps and leases only where ours are: the rest is none of our business."""
        return {
            "ConfigMap": Query(
                namespace=self.options.namespace,
                fields=f"metadata.name={self.options.settings_name}",
            ),
            "Lease": Query(namespace=names.NODE_LEASES),
        }

    def _lead(self, is_leading: bool) -> None:  # noqa: FBT001 - a state, not an option
        self._on_leadership(is_leading)
        if is_leading:
            self.loop.lead()

    def _configure(self, kind: str, _old: Any | None, new: Any | None) -> None:
        """Settings are live (spec 1.5); a bad value keeps the last good one.

        So does a map that is gone: whoever re-creates it should not get other settings meanwhile.
        """
        if kind != "ConfigMap" or new is None:
            return
        if new.key != (self.options.namespace, self.options.settings_name):
            return
        read, errors = settings.read(new.data, self.store.settings, name=new.name)
        for error in errors:
            self._report(kinds.CONFIG_MAPS, str(error))
        if read == self.store.settings:
            return
        if not self.options.cluster and read.aws.cluster_name:
            known = self.store.identity
            self.store.identity = msgspec.structs.replace(known, cluster=read.aws.cluster_name)
        self.store.configure(read)
        self.loop.wake_all()


def _say_nothing(_what: bool | str) -> None:  # noqa: FBT001 - as above
    """Tell nobody."""
