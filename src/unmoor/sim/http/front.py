"""Which part answers a path? Discovery, schemas, reviews, or the verbs on objects.

Must not: know about certificates or tokens; whoever comes here has been let in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.server import Server
from unmoor.sim.http import answers, bodies, openapi, refusals, reviews
from unmoor.sim.http.catalog import Catalog
from unmoor.sim.http.discovery import Discovery
from unmoor.sim.http.openapi import OpenApi
from unmoor.sim.http.reviews import Review, User
from unmoor.sim.http.target import Asked, Target, asked_of, target_of
from unmoor.sim.http.verbs import Verbs

Gate = Callable[[Asked], Awaitable[None]]
After = Callable[[Asked, ApiError | None], None]
_OPENAPI = ["openapi", "v3"]


async def open_gate(_: Asked) -> None:
    """Let everything pass."""


def tell_nobody(_: Asked, _error: ApiError | None) -> None:
    """Keep it to oneself."""


class Front:
    """All paths of one server. ``gate`` is asked before each request about objects.

    ``after`` is told when a write is done, or why it was refused.
    """

    def __init__(self, server: Server, gate: Gate, after: After, *, pace: float = 1.0) -> None:
        """Answer for this server. ``pace``: seconds of the loop in one of the clients'."""
        self._server, self._gate, self._after = server, gate, after
        self._catalog = Catalog(server)
        self._discovery = Discovery(self._catalog)
        self._openapi = OpenApi(self._catalog)
        self._verbs = Verbs(server, pace=pace)

    async def answer(
        self, request: web.Request, parts: list[str], user: User
    ) -> web.StreamResponse:
        """One request, its path taken apart; raises ApiError for a refusal."""
        if parts == [""]:
            return self._read_only(request, {"paths": self._paths()})
        if parts == ["openapi", "v2"]:
            return self._old_schemas(request)
        if parts[:2] == _OPENAPI:
            return self._schemas(request, parts[2:])
        found = self._discovery.answer(parts, request.headers.get("Accept", ""))
        if found is not None:
            document, media = found
            return self._read_only(request, document, media)
        review = reviews.find(parts)
        if review is not None:
            return await self._review(request, review, user)
        target = self._target(parts)
        shut = refusals.door(target)
        if shut is not None:
            raise shut
        if target.subresource and target.served.definition is not None:
            _hold_door(target)
        asked = asked_of(target, request)
        await self._gate(asked)
        try:
            answer, name = await self._verbs.answer(request, target)
        except ApiError as error:
            self._heed(asked, error)
            raise
        self._heed(msgspec.structs.replace(asked, name=name or asked.name))
        return answer

    def _heed(self, asked: Asked, error: ApiError | None = None) -> None:
        if asked.is_write:
            self._after(asked, error)

    def _target(self, parts: list[str]) -> Target:
        if parts[0] not in {"api", "apis"}:
            raise status.no_such_page()
        try:
            return target_of(self._catalog, parts)
        except ApiError:
            expected = refusals.absent(parts)
            if expected is not None:
                raise expected from None
            raise

    def _paths(self) -> list[str]:
        found = ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]
        for group, versions in self._discovery.group_versions().items():
            found += [f"/apis/{group}"] if group else []
            found += [f"/apis/{group}/{one}" if group else f"/api/{one}" for one in versions]
        return sorted(found)

    def _read_only(
        self, request: web.Request, document: object, media: str = answers.JSON_TYPE
    ) -> web.Response:
        if request.method != "GET":
            raise status.not_allowed()
        return web.Response(body=answers.encoded(document), headers={"Content-Type": media})

    def _schemas(self, request: web.Request, rest: list[str]) -> web.Response:
        if not rest:
            return self._read_only(request, self._openapi.index())
        if request.method != "GET":
            raise status.not_allowed()
        body = self._openapi.document("/".join(rest))
        return web.Response(body=body, headers={"Content-Type": answers.JSON_TYPE})

    def _old_schemas(self, request: web.Request) -> web.Response:
        """OpenAPI v2 has no schemas here: who still asks leaves all checks to the server."""
        if request.method != "GET":
            raise status.not_allowed()
        accept = request.headers.get("Accept", "")
        is_protobuf = any(one in accept for one in openapi.V2_PROTOBUF_ASKED)
        body, media = (
            (openapi.EMPTY_V2_PROTOBUF, openapi.V2_PROTOBUF)
            if is_protobuf
            else (answers.encoded(openapi.EMPTY_V2), answers.JSON_TYPE)
        )
        return web.Response(body=body, headers={"Content-Type": media})

    async def _review(self, request: web.Request, review: Review, user: User) -> web.Response:
        if request.method != "POST":
            raise status.not_allowed()
        raw = await bodies.read(request)
        body = bodies.decoded_object(raw, bodies.media_type(request), review.kind)
        answer = reviews.answered(review, body, user, self._server.store.now())
        return answers.response(answer, code=201)


def _hold_door(target: Target) -> None:
    """Raise 404 for a door that a custom kind does not have, in words about the object."""
    served = target.served
    if target.subresource not in {name for name, _, _, _ in served.subresources()}:
        raise status.not_found(served.resource, target.name)
