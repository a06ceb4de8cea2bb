"""``/healthz``, ``/readyz`` and ``/metrics``: what a kubelet and a Prometheus ask.

Healthy means that the loop answers; the answer itself is the proof. Ready means that every kind has
been listed, whether this instance leads or waits for the lease.

Must not: know what is measured or what ready means; both are handed in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus

import msgspec
from aiohttp import web

TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"


class Answers(msgspec.Struct, frozen=True):
    """Where the answers come from. ``not_ready``: what is waited for, "" when ready."""

    not_ready: Callable[[], str]
    metrics: Callable[[], Awaitable[bytes]]


class Bound(msgspec.Struct, frozen=True):
    """The ports that were taken: what 0 has become."""

    metrics_port: int
    health_port: int


class PortTaken(Exception):
    """A port cannot be listened on."""


@asynccontextmanager
async def serving(
    answers: Answers, *, address: str, metrics_port: int, health_port: int
) -> AsyncIterator[Bound]:
    """Answer on both ports, or on one if they are the same, until left."""
    metrics = [web.get("/metrics", _metrics(answers))]
    health = [web.get("/healthz", _health), web.get("/readyz", _ready(answers))]
    async with AsyncExitStack() as stack:
        if metrics_port == health_port != 0:
            both = await stack.enter_async_context(
                _listening([*metrics, *health], address, metrics_port, "--metrics-port")
            )
            yield Bound(both, both)
            return
        yield Bound(
            await stack.enter_async_context(
                _listening(metrics, address, metrics_port, "--metrics-port")
            ),
            await stack.enter_async_context(
                _listening(health, address, health_port, "--health-port")
            ),
        )


@asynccontextmanager
async def _listening(
    routes: list[web.RouteDef], address: str, port: int, option: str
) -> AsyncIterator[int]:
    application = web.Application()
    application.add_routes(routes)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, address, port).start()
        except OSError as error:
            raise PortTaken(
                f"{option}: {address}:{port} cannot be listened on: {error.strerror}; "
                "choose another, or 0 for a free one"
            ) from None
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _metrics(answers: Answers) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=await answers.metrics(), headers={"Content-Type": TEXT_FORMAT})

    return answer


async def _health(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")


def _ready(answers: Answers) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        waiting = answers.not_ready()
        if waiting:
            return web.Response(text=f"{waiting}\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
        return web.Response(text="ok\n")

    return answer
