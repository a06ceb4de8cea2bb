"""One ``unmoor run``, assembled: ports, controller, servers, log, metrics, systemd.

Must not: decide. What is wired here is decided in ``lifecycle`` and run by ``runtime``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Literal

import msgspec
import structlog

from unmoor import __version__
from unmoor.app.cluster import check_served, connected
from unmoor.app.collecting import settle
from unmoor.app.logs import LogObserver
from unmoor.app.metered import MeteredCloud
from unmoor.app.metrics import Metrics
from unmoor.app.price_books import Offer
from unmoor.app.web import Answers, Bound, serving
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.host.systemd import Notifier
from unmoor.model import kinds, settings
from unmoor.model.kinds import Resource
from unmoor.model.settings import Settings
from unmoor.policy.ownership import about_our_name
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.controller import Controller, OnLeadership, Options, Ports
from unmoor.runtime.executor import ThreadExecutor
from unmoor.runtime.leader import LEASE, LEASE_OF_OBSERVERS, LeaseTimes
from unmoor.runtime.ports import Api, ApiError, Clock, Cloud
from unmoor.runtime.reconciler import Reconciler
from unmoor.runtime.reconcilers import OBSERVING, RECONCILERS
from unmoor.runtime.recorder import EventRecorder

NEEDED: tuple[Resource[Any], ...] = (
    kinds.PROVISIONERS,
    kinds.NODE_TEMPLATES,
    kinds.MACHINES,
    kinds.DISRUPTIONS,
)
"""What ``unmoor crds`` prints and no API server has by itself."""

log = structlog.get_logger()


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a person chose on the command line of ``unmoor run``.

    ``observe``: decide and record, and touch nothing. ``offer``: what a simulated cloud sells, and
    ``about_prices`` what is odd about its prices.
    """

    kubeconfig: str = ""
    context: str = ""
    cloud: Literal["none", "simulated"] = "none"
    cluster_name: str = ""
    namespace: str = settings.NAMESPACE
    settings_name: str = settings.CONFIG_MAP_NAME
    identity: str = "unmoor"
    has_lease: bool = True
    observe: bool = False
    address: str = "0.0.0.0"  # noqa: S104 - a kubelet and a Prometheus ask from outside
    metrics_port: int = 8000
    health_port: int = 8081
    offer: Offer | None = None
    about_prices: str = ""


async def run(options: RunOptions, on_bound: Callable[[Bound], None]) -> None:
    """Run until cancelled. ``on_bound`` hears which ports are served."""
    clock, notifier = SystemClock(), Notifier()
    metrics, written = Metrics(clock), LogObserver(clock)
    async with connected(options.kubeconfig, options.context, clock) as api:
        api.skew.tell = written.clock_problem
        await check_served(api, _needed(options))
        read = await _settings(api, options)
        recorder = EventRecorder(api, clock, instance=options.identity)
        controller = Controller(
            Ports(
                api=api,
                clock=clock,
                executor=ThreadExecutor(),
                recorder=recorder,
                cloud=_cloud(options, api, metrics, clock),
                jitter=Random().random,
            ),
            Options(
                identity=options.identity,
                namespace=options.namespace,
                settings_name=options.settings_name,
                cluster=options.cluster_name,
                lease=_lease(read) if options.has_lease else None,
                settings=read,
                is_observing=options.observe,
            ),
            observers=(written, metrics),
            report=written.report,
            on_leadership=_announcer(notifier),
            on_lease_problem=written.lease_problem,
        )
        written.story, written.view = controller.story, controller.store
        _greet(options, controller)
        scrapes = ThreadExecutor("unmoor-metrics")
        answers = Answers(lambda: _not_ready(controller), lambda: metrics.scrape(scrapes))
        async with serving(
            answers,
            address=options.address,
            metrics_port=options.metrics_port,
            health_port=options.health_port,
        ) as bound:
            on_bound(bound)
            rows = OBSERVING if options.observe else RECONCILERS
            await _work(controller, recorder, notifier, rows)


async def _work(
    controller: Controller,
    recorder: EventRecorder,
    notifier: Notifier,
    rows: Sequence[Reconciler],
) -> None:
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(recorder.run())
            tasks.create_task(notifier.keep_alive(controller.ports.clock))
            tasks.create_task(settle(controller.informer))
            tasks.create_task(_doubt_our_name(controller))
            await controller.run(rows)
    finally:
        notifier.stopping()
        log.info("stopped")


def _announcer(notifier: Notifier) -> OnLeadership:
    """Say when we are ready, and whenever we begin or cease to act."""
    is_ready = False

    def announce(is_acting: bool) -> None:  # noqa: FBT001 - a state, not an option
        nonlocal is_ready
        if not is_ready:
            is_ready = True
            log.info("ready")
            notifier.ready()
        message = "acting" if is_acting else "waiting for the lease"
        log.info(message)
        notifier.status(message)

    return announce


def _greet(options: RunOptions, controller: Controller) -> None:
    cluster = controller.store.identity.cluster
    log.info(
        "starting",
        version=__version__,
        cluster=cluster,
        cloud=options.cloud,
        prices=options.offer.prices if options.offer is not None else "none",
        identity=options.identity,
        lease=f"{options.namespace}/{_lease_name(options)}" if options.has_lease else "none",
    )
    if options.observe:
        log.warning("observes only: no node, pod or machine is touched", remedy="omit --observe")
    if not cluster:
        log.warning(
            "no cluster name, so no machine is ours",
            remedy="give --cluster-name, or set aws.clusterName in the settings",
        )
    if options.cloud == "none":
        log.warning(
            "no cloud provider, so no machine is ours", remedy="start with --cloud simulated"
        )
    if options.about_prices:
        log.warning("some prices count for nothing", problem=options.about_prices)


async def _doubt_our_name(controller: Controller) -> None:
    """Say once, when every kind has been listed, that our name is perhaps not what was meant."""
    await controller.informer.wait_synced()
    if problem := about_our_name(controller.store):
        log.warning(
            "our cluster name is on no machine",
            problem=problem,
            remedy="check --cluster-name, or aws.clusterName in the settings",
        )


def _not_ready(controller: Controller) -> str:
    return "" if controller.is_ready else "waiting for the first list of every kind"


def _needed(options: RunOptions) -> tuple[Resource[Any], ...]:
    return (*NEEDED, kinds.INSTANCES) if options.cloud == "simulated" else NEEDED


def _cloud(options: RunOptions, api: Api, metrics: Metrics, clock: Clock) -> Cloud | None:
    if options.cloud == "none":
        return None
    types = options.offer.types if options.offer is not None else ()
    return MeteredCloud(SimulatedCloud(api, types), metrics, clock)


def _lease_name(options: RunOptions) -> str:
    return LEASE_OF_OBSERVERS if options.observe else LEASE


def _lease(read: Settings) -> LeaseTimes:
    cadence = read.cadence
    return LeaseTimes(
        duration_s=cadence.lease_duration_s,
        renew_deadline_s=cadence.lease_renew_limit_s,
        retry_s=cadence.lease_retry_s,
    )


async def _settings(api: Api, options: RunOptions) -> Settings:
    """The settings as they are at the start; the controller follows them from then on.

    It says what cannot be used, too.
    """
    ref = kinds.CONFIG_MAPS.ref(options.settings_name, options.namespace)
    try:
        body = await api.get(ref)
    except ApiError as error:
        if not error.is_absence_of(ref):
            raise
        log.info("no settings, defaults apply", configmap=f"{ref.namespace}/{ref.name}")
        return Settings()
    read, _ = settings.read(body.get("data") or {})
    return read
