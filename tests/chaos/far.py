"""unmoor's client, informer and store at the far end of a bad way to an API server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any, TypeAlias

import msgspec

from tests.chaos.gateway import Gateway
from tests.chaos.troubles import Fate
from tests.chaos.wire import Wire
from unmoor.kube.access import Config
from unmoor.kube.auth import Secret, Token
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import CONFIG_MAPS, NODES, PODS, Resource
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.informer import Informer
from unmoor.runtime.ports import Api, Query
from unmoor.runtime.store import Store

Kinds: TypeAlias = tuple[Resource[Any], ...]
FOLLOWED: Kinds = (NODES, PODS, CONFIG_MAPS)
NAMESPACE = "default"
QUERIES = {"Pod": Query(namespace=NAMESPACE), "ConfigMap": Query(namespace=NAMESPACE)}
IMPATIENT = ClientSettings(
    timeout_s=0.6,
    watch_s=4.0,
    watch_grace_s=1.0,
    rate_per_s=1e4,
    answer_limit_bytes=2**21,
    line_limit_bytes=2**21,
)
HASTY = Cadence(watch_retry_s=0.01, watch_retry_most_s=0.2, watch_silence_s=0.6)
PATIENT = msgspec.structs.replace(IMPATIENT, timeout_s=20.0)
UNHURRIED = msgspec.structs.replace(HASTY, watch_silence_s=5.0)
CALM_S = 30.0
"""How long after the last trouble the store may differ from the server. It takes a second or two;
the rest is for a crowded machine."""

BROKEN_GREETING = "Error on transport creation for incoming connection"
"""What asyncio calls a TLS handshake that breaks off, at the gateway's end."""
END_S = 30.0
"""How long something may take to notice that all is over, on a crowded machine too."""


Seen: TypeAlias = dict[str, dict[str, str]]


class Way:
    """Where a server is, and how to be let in."""

    def __init__(self, port: int, authority: str, token: str) -> None:
        self.port, self.authority, self.token = port, authority, token


class Far:
    """One process, as far as it reads and writes."""

    def __init__(self, api: KubeApi, wire: Wire, gateway: Gateway, kinds: Kinds) -> None:
        self.api, self.wire, self.gateway, self._kinds = api, wire, gateway, kinds
        self._cadence = HASTY
        self.store = Store()
        self.clock = SystemClock()
        self.problems: list[str] = []
        self.changed = asyncio.Event()
        self.store.subscribe(lambda _kind, _old, _new: self.changed.set())
        self.informer = Informer(
            api,
            self.store,
            self.clock,
            jitter=Random(1).random,
            report=lambda resource, problem: self.problems.append(f"{resource.plural}: {problem}"),
            cadence=lambda: self._cadence,
        )

    def be_patient(self) -> None:
        """No trouble is to come: what takes long from now on does so on a crowded machine."""
        self.api._settings = PATIENT
        self._cadence = UNHURRIED

    async def until(self, is_so: Callable[[], bool], within_s: float = CALM_S) -> None:
        """Wait for the store to be so; it is looked at after each change."""
        async with asyncio.timeout(within_s):
            while not is_so():
                self.changed.clear()
                await self.changed.wait()

    async def until_equal(self, wanted: Seen) -> None:
        """Wait for the store to be equal to the server, and say what is not."""
        try:
            await self.until(
                lambda: all(wanted[kind] == held for kind, held in self.seen().items())
            )
        except TimeoutError:
            seen = self.seen()
            odd = {
                kind: (held, wanted[kind]) for kind, held in seen.items() if held != wanted[kind]
            }
            told = "\n".join(self.problems[-20:])
            raise AssertionError(f"not equal after {CALM_S:g} s of calm: {odd}\n{told}") from None

    def seen(self) -> Seen:
        """Uid and version of every object in the store, by kind and name."""
        return {
            kind.kind: {
                "/".join(key): f"{obj.uid} {obj.metadata.resource_version}"
                for key, obj in self.store.all(kind).items()
            }
            for kind in self._kinds
        }


async def there(api: Api) -> Seen:
    """The same, as the server says."""
    found: Seen = {}
    for kind in FOLLOWED:
        page = await api.list(kind, QUERIES.get(kind.kind, Query()))
        assert page.broken == ()
        found[kind.kind] = {
            "/".join(obj.key): f"{obj.uid} {obj.metadata.resource_version}" for obj in page.items
        }
    return found


@contextlib.asynccontextmanager
async def far_from(way: Way, fate: Fate, kinds: Kinds = FOLLOWED) -> AsyncIterator[Far]:
    """A process far from a server, which follows it until the end."""
    async with (
        Gateway(way.port, way.authority, fate) as gateway,
        Wire(gateway.port, fate.on_connection, gateway.impostor) as wire,
    ):
        config = Config(
            server=f"https://127.0.0.1:{wire.port}",
            auth=Token(Secret(way.token)),
            authority=gateway.authority,
        )
        api = KubeApi(config, clock=SystemClock(), random=Random(1), settings=IMPATIENT)
        async with api:
            far = Far(api, wire, gateway, kinds)
            following = asyncio.create_task(far.informer.run(kinds, QUERIES))
            try:
                yield far
            finally:
                following.cancel()
                (ended,) = await asyncio.gather(following, return_exceptions=True)
            assert isinstance(ended, asyncio.CancelledError), ended
            connector = api._session.connector if api._session is not None else None
            assert connector is None or not connector._acquired, "a request has not let go"


@contextlib.asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """No task goes on for long, and no exception is unheard."""
    loop = asyncio.get_running_loop()
    before = asyncio.all_tasks()
    unheard: list[dict[str, Any]] = []

    def hear(_: object, context: dict[str, Any]) -> None:
        if context["message"] != BROKEN_GREETING:
            unheard.append(context)

    loop.set_exception_handler(hear)
    try:
        yield
        left = asyncio.all_tasks() - before
        if left:
            _, left = await asyncio.wait(left, timeout=END_S)
        gc.collect()
    finally:
        loop.set_exception_handler(None)
    assert left == set()
    assert unheard == [], unheard
