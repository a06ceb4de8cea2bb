"""The Kubernetes port over HTTP: one session, one method for each verb, no opinions.

Nothing is tried twice here, because only the caller knows whether trying again is right. There are
two exceptions. After a 401 the request was not carried out, and credentials that have rotated are
the usual cause, so they are looked for again and the request is sent once more. And when the server
has closed an idle connection in the moment that we use it, aiohttp repeats a GET, PUT or DELETE on
a new one.

Must not: cache, decide, or let anything but ApiError and Unreachable out (cancellation apart).
"""

from __future__ import annotations

import asyncio
import os
import random as dice
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

import aiohttp
import msgspec

from unmoor import __version__
from unmoor.kube.access import Config
from unmoor.kube.answer import error_of, error_of_status, excerpt, foreign
from unmoor.kube.auth import AuthError
from unmoor.kube.codec import Malformed, ServerSaid, codec_of, decode_object
from unmoor.kube.connection import (
    UNTIMED,
    Pool,
    TooLong,
    beginning,
    hang_up,
    lines_of,
    probe_often,
    whole,
)
from unmoor.kube.credentials import credentials
from unmoor.kube.lines import LINE_LIMIT_BYTES, LineTooLong
from unmoor.kube.renewal import Proof
from unmoor.kube.request import (
    PATCH_TYPES,
    Request,
    collection,
    delete_options,
    path,
    selection,
    writing,
)
from unmoor.kube.skew import Skew
from unmoor.kube.tls import Contexts
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import KINDS, Resource
from unmoor.runtime.bucket import TokenBucket
from unmoor.runtime.ports import (
    ALL,
    Clock,
    DeleteOptions,
    Page,
    PatchType,
    PortError,
    Query,
    Unreachable,
    WatchEvent,
)

T = TypeVar("T")

SECRET_CHARS_LEAST = 8
"""A shorter one may be part of any word, and is no secret either."""
_BROKEN = (aiohttp.ClientError, TimeoutError, OSError, ssl.SSLError)
_SENSELESS = (Malformed, LineTooLong, TooLong)


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of the client.

    ``timeout_s``: for an answer, all of it; for the first word of a watch. ``answer_limit_bytes``:
    a longer one is no API server's, or a list that would not fit into our memory either.
    ``watch_s``: the server ends a watch after this time, or up to twice of it, so that a thousand
    clients do not come back in the same second.
    """

    timeout_s: float = 30.0
    answer_limit_bytes: int = 2**30
    line_limit_bytes: int = LINE_LIMIT_BYTES
    rate_per_s: float = 200.0
    burst: int = 300
    connections_max: int = 256
    watch_s: float = 300.0
    watch_grace_s: float = 30.0


class NoCredentials(Unreachable):
    """Nothing was sent, as we cannot prove who we are; it says why, and what would help."""


class KubeApi:
    """The API server that ``config`` leads to. Enter it as a context, or call ``close`` at the end.

    ``random`` spreads the ends of watches. Raises ConfigError when made with an unusable config.
    """

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock,
        random: dice.Random,
        settings: ClientSettings = ClientSettings(),
    ) -> None:
        """Check the credentials; the first request connects."""
        self._server = config.server
        self._server_name = config.tls_server_name or None
        self._proxy = config.proxy
        self._impersonation = config.impersonation.headers() if config.impersonation else []
        self._contexts = Contexts(config, clock)
        self._credentials = credentials(config, clock)
        self._clock = clock
        self._random = random
        self._settings = settings
        self._bucket = TokenBucket(settings.rate_per_s, settings.burst)
        self._session: aiohttp.ClientSession | None = None
        self.skew = Skew()

    async def __aenter__(self) -> Self:
        """Nothing to do: the first request connects."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections; requests under way fail as Unreachable."""
        await self._credentials.close()
        if self._session is not None:
            await self._session.close()
            self._session = None
            await asyncio.sleep(0)  # sockets that were hung up close in the loop's next turn

    # ----------------------------------------------------------------------------------- reading

    async def list(
        self, resource: Resource[T], query: Query = ALL, *, limit: int = 0, after: str = ""
    ) -> Page[T]:
        """One page; an object that does not decode is in ``broken``."""
        parameters = selection(query)
        if limit:
            parameters["limit"] = str(limit)
        if after:
            parameters["continue"] = after
        request = Request(
            method="GET", path=collection(resource, query.namespace), query=parameters
        )
        async with self._answered(request, total_s=self._settings.timeout_s) as (response, until):
            body = await whole(response, self._settings.answer_limit_bytes, until)
            page = codec_of(resource).page(body)
        if not page.resource_version:
            # Who believes an empty list of nobody knows when forgets everything.
            raise Unreachable(f"{request}: the list does not say as of which version it is")
        return page

    async def watch(
        self, resource: Resource[T], query: Query = ALL, *, since: str
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Changes after ``since``, until the server ends it."""
        watch_s = self._settings.watch_s * (1.0 + self._random.random())
        parameters = selection(query) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": since,
            "timeoutSeconds": str(max(int(watch_s), 1)),
        }
        request = Request(
            method="GET", path=collection(resource, query.namespace), query=parameters
        )
        codec = codec_of(resource)
        total_s = watch_s + self._settings.watch_grace_s
        try:
            async with self._answered(request, total_s=total_s) as (response, until):
                probe_often(response)
                is_ours = False
                async for line in lines_of(response, self._settings.line_limit_bytes, until):
                    if not is_ours:
                        codec.check_kind(line)
                        is_ours = True
                    yield codec.event(line)
        except ServerSaid as said:
            raise error_of_status(said.status) from None

    async def get(self, ref: Ref) -> JSON:
        """One object as it is now."""
        return await self._about(ref, Request(method="GET", path=path(ref)))

    # ----------------------------------------------------------------------------------- writing

    async def create(
        self, ref: Ref, body: JSON, *, subresource: str = "", dry_run: bool = False
    ) -> JSON:
        """POST a new object, or to a subresource of an existing one."""
        if subresource:
            where = path(ref, subresource)
        else:
            where = collection(KINDS[ref.kind], ref.namespace)
            name = body.get("metadata", {}).get("name", "")  # the server may be left to make one
            ref = msgspec.structs.replace(ref, name=name)
        return await self._about(
            ref,
            Request(
                method="POST",
                path=where,
                query=writing(dry_run=dry_run),
                body=msgspec.json.encode(body),
            ),
            subresource,
        )

    async def replace(self, ref: Ref, body: JSON, *, subresource: str = "") -> JSON:
        """PUT the whole object."""
        return await self._about(
            ref,
            Request(
                method="PUT",
                path=path(ref, subresource),
                query=writing(),
                body=msgspec.json.encode(body),
            ),
            subresource,
        )

    async def patch(
        self,
        ref: Ref,
        body: Any,
        *,
        how: PatchType = "merge",
        subresource: str = "",
        dry_run: bool = False,
    ) -> JSON:
        """PATCH; an apply takes fields over from other managers, as controllers should."""
        query = writing(dry_run=dry_run)
        if how == "apply":
            query["force"] = "true"
        return await self._about(
            ref,
            Request(
                method="PATCH",
                path=path(ref, subresource),
                query=query,
                body=msgspec.json.encode(body),
                content_type=PATCH_TYPES[how],
            ),
            subresource,
        )

    async def delete(self, ref: Ref, options: DeleteOptions = DeleteOptions()) -> JSON:
        """DELETE with preconditions."""
        return await self._about(
            ref,
            Request(
                method="DELETE",
                path=path(ref),
                body=msgspec.json.encode(delete_options(options)),
            ),
        )

    async def _about(self, ref: Ref, request: Request, subresource: str = "") -> JSON:
        found = await self._json(request)
        makes_no_object = request.method == "POST" and subresource != ""
        may_be_status = request.method == "DELETE" or makes_no_object
        if problem := foreign(found, ref, subresource, may_be_status=may_be_status):
            raise Unreachable(f"{request}: {problem}")
        return found

    async def _json(self, request: Request) -> JSON:
        async with self._answered(request, total_s=self._settings.timeout_s) as (response, until):
            return decode_object(await whole(response, self._settings.answer_limit_bytes, until))

    @asynccontextmanager
    async def _answered(
        self, request: Request, *, total_s: float
    ) -> AsyncIterator[tuple[aiohttp.ClientResponse, float]]:
        """A successful answer, its body not read yet, and until when by the loop's clock it may be.

        The answer may take ``total_s`` in all.
        """
        proof = await self._proof(request)
        response: aiohttp.ClientResponse | None = None
        try:
            response, until = await self._start(request, proof, total_s)
            if response.status == 401 and await self._renew(request, proof):  # noqa: PLR2004
                hang_up(response)
                proof = await self._proof(request)
                response, until = await self._start(request, proof, total_s)
            if not response.ok or response.status >= 300:  # noqa: PLR2004
                raise await self._refusal(response, proof)
            yield response, until
        except _SENSELESS as error:
            raise Unreachable(f"{request}: {error}") from None
        except _BROKEN as error:
            # Some texts quote what was read, and who echoes a request may echo its secret.
            said = _without(proof, _told(error).encode()).decode(errors="replace")
            raise Unreachable(f"{request}: {excerpt(said)}") from error
        finally:
            if response is not None:
                hang_up(response)

    async def _refusal(self, response: aiohttp.ClientResponse, proof: Proof) -> PortError:
        async with asyncio.timeout(self._settings.timeout_s):  # also where a watch was asked for
            body = await beginning(response)
        said, now = _without(proof, body), self._clock.now().wall
        return error_of(response.status, response.headers, said, now)

    async def _start(
        self, request: Request, proof: Proof, total_s: float
    ) -> tuple[aiohttp.ClientResponse, float]:
        wait_s = self._bucket.reserve(self._clock.now().mono)
        if wait_s:
            await self._clock.sleep(wait_s)
        headers = {"Authorization": proof.header.reveal()} if proof.header else {}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        way: dict[str, Any] = {"headers": headers}
        if self._proxy is not None:
            way = self._proxy.options(self._server, headers)
        until = asyncio.get_running_loop().time() + total_s
        sent = self._clock.now().wall
        # Whatever happens to the body, the first line must come soon.
        async with asyncio.timeout(min(self._settings.timeout_s, total_s)):
            response = await self._connected().request(
                request.method,
                self._server + request.path,
                params=request.query,
                data=request.body,
                timeout=UNTIMED,
                ssl=self._contexts.of(proof.certificate, proof.key) or True,
                server_hostname=self._server_name,
                allow_redirects=False,
                **way,
            )
        self.skew.note(sent, self._clock.now().wall, response.headers.get("Date", ""))
        return response, until

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = Pool(limit=self._settings.connections_max)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=[
                    ("Accept", "application/json"),
                    # Inside a cluster compression costs more than it saves.
                    ("Accept-Encoding", "identity"),
                    ("User-Agent", f"unmoor/{__version__}"),
                    *self._impersonation,
                ],
            )
        return self._session

    async def _proof(self, request: Request) -> Proof:
        try:
            return await self._credentials.proof()
        except AuthError as error:
            raise NoCredentials(f"{request}: {error}") from None

    async def _renew(self, request: Request, rejected: Proof) -> bool:
        try:
            return await self._credentials.renew(rejected)
        except AuthError as error:
            raise NoCredentials(f"{request}: {error}") from None


_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ServerDisconnectedError, "the connection was closed before an answer came"),
    (aiohttp.ClientPayloadError, "the connection was closed in the middle of the answer"),
    (TimeoutError, "no answer in time"),
    (ConnectionResetError, "the connection was reset"),
)
"""What people have no use for the name of."""


def _told(error: Exception) -> str:
    """What went wrong, without the memory addresses and line breaks of its own text."""
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        number = 0 if isinstance(cause, ssl.SSLError) else cause.errno or 0
        said = os.strerror(number) if number > 0 else cause.strerror or str(cause)
        return f"cannot connect to {error.host}:{error.port}: {said or type(cause).__name__}"
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return words
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _without(proof: Proof, body: bytes) -> bytes:
    secret = proof.header.reveal().rpartition(" ")[2].encode()
    return body.replace(secret, b"***") if len(secret) >= SECRET_CHARS_LEAST else body
