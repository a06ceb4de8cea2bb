"""What happens on each method? The request is read, the server is asked, the answer is shaped.

Must not: know about sockets, or refuse what the server would take.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from unmoor.model.base import JSON
from unmoor.model.selector import SelectorError
from unmoor.runtime.ports import PatchType
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.server import Listing, Server
from unmoor.sim.apiserver.terms import Terms
from unmoor.sim.http import answers, bodies, events, parameters, watching
from unmoor.sim.http.answers import Shaper
from unmoor.sim.http.negotiation import Form, form_of
from unmoor.sim.http.target import Target, agent_of

_WHAT = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
_POSTED = ("eviction", "binding")


class Verbs:
    """Every method on objects and collections."""

    def __init__(self, server: Server, *, pace: float = 1.0) -> None:
        """Answer for this server. ``pace``: seconds of the loop in one of the clients'."""
        self._server, self._wall, self._pace = server, server.store.wall, pace

    async def answer(self, request: web.Request, target: Target) -> tuple[web.StreamResponse, str]:
        """One request, and the name of its object; raises ApiError for a refusal."""
        form = form_of(request.headers.get("Accept", ""), request.query)
        match request.method:
            case "GET":
                return await self._read(request, target, form), target.name
            case "POST" | "PUT" | "PATCH":
                return await self._write(request, target, form)
            case "DELETE":
                return await self._delete(request, target, form), target.name
            case _:
                raise status.not_allowed()

    def _shaper(self, target: Target, form: Form) -> Shaper:
        return Shaper(target.served, form, self._wall())

    # ------------------------------------------------------------------------------------- reading

    async def _read(self, request: web.Request, target: Target, form: Form) -> web.StreamResponse:
        if target.name and not parameters.flag(request.query, "watch"):
            if target.subresource in _POSTED:
                raise status.not_allowed()
            found = self._server.get(target.ref, target.subresource)
            return answers.response(self._shaper(target, form).one(found), form=form)
        options = self._list_options(request, target)
        if options.is_watch:
            return await self._watch(request, target, options, form)
        parameters.hold_version(options, self._server.version)
        listing: Listing = self._server.list(
            target.served.resource, options.query, limit=options.limit, after=options.after
        )
        return answers.response(self._shaper(target, form).page(listing), form=form)

    def _list_options(self, request: web.Request, target: Target) -> parameters.ListOptions:
        query = dict(request.query)
        if target.served.is_view:
            try:
                query["fieldSelector"] = events.stored_fields(query.get("fieldSelector", ""))
            except SelectorError as error:
                raise status.bad_request(f"invalid field selector: {error}") from None
        return parameters.list_options(query, target.namespace, target.name)

    async def _watch(
        self, request: web.Request, target: Target, options: parameters.ListOptions, form: Form
    ) -> web.StreamResponse:
        stream = watching.Stream(self._server, target, options)
        response = web.StreamResponse(headers={"Content-Type": answers.JSON_TYPE})
        response.enable_chunked_encoding()
        try:
            await response.prepare(request)
            await stream.send(response, self._shaper(target, form), self._wall, pace=self._pace)
        except ConnectionError:
            pass  # Nobody listens any more.
        finally:
            stream.close()
        return response

    # ------------------------------------------------------------------------------------- writing

    async def _write(
        self, request: web.Request, target: Target, form: Form
    ) -> tuple[web.Response, str]:
        self._hold_method(request.method, target)
        options = parameters.write_options(request.query, _WHAT[request.method])
        how = bodies.patch_type(request) if request.method == "PATCH" else None
        raw = await bodies.read(request)
        media = bodies.media_type(request)
        body = _object(target, raw, media) if how is None else bodies.decoded_patch(raw, media)
        if target.served.is_view and isinstance(body, dict):
            body = events.stored(body)
        warnings: list[str] = []
        is_applied = how == "apply"
        is_strict = options.validation != "Ignore"
        terms = Terms(
            manager=options.manager or ("" if is_applied else _manager(request)),
            force=options.force,
            validation=options.validation,
            doubled=bodies.doubled(raw, media) if is_strict else (),
            warn=warnings.append,
        )
        is_new = target.ref.key not in self._server.store.tables[target.served.kind].objects
        found = self._written(target, body, how or request.method, options.dry_run, terms)
        response = answers.response(
            self._shaper(target, form).one(found),
            code=201 if is_new or request.method == "POST" else 200,
            form=form,
            warnings=tuple(warnings),
        )
        return response, target.name or found["metadata"]["name"]

    def _written(
        self,
        target: Target,
        body: Any,
        how: PatchType | str,
        dry_run: bool,  # noqa: FBT001
        terms: Terms,
    ) -> JSON:
        server, ref, door = self._server, target.ref, target.subresource
        match how:
            case "POST":
                return server.create(ref, body, subresource=door, dry_run=dry_run, terms=terms)
            case "PUT":
                return server.replace(ref, body, subresource=door, dry_run=dry_run, terms=terms)
            case "json" | "merge" | "strategic" | "apply":
                return server.patch(
                    ref, body, how=how, subresource=door, dry_run=dry_run, terms=terms
                )
            case _:
                raise status.not_allowed()

    def _hold_method(self, method: str, target: Target) -> None:
        """Raise 405 where the path exists and the method does not."""
        is_posted = not target.name or target.subresource in _POSTED
        is_nowhere = target.served.resource.is_namespaced and not target.namespace
        if (method == "POST") != is_posted or is_nowhere:
            raise status.not_allowed()

    async def _delete(self, request: web.Request, target: Target, form: Form) -> web.Response:
        if target.subresource or (target.served.resource.is_namespaced and not target.namespace):
            raise status.not_allowed()
        raw = await bodies.read(request)
        body = bodies.decoded(raw, bodies.media_type(request)) if raw.strip() else None
        options = parameters.delete_options(request.query, body)
        shaper = self._shaper(target, form)
        if target.name:
            found = self._server.delete(target.ref, options)
            return answers.response(shaper.one(found), form=form)
        if "deletecollection" not in target.served.verbs:
            raise status.not_allowed()
        listed = self._list_options(request, target)
        items = self._server.delete_collection(target.served.resource, listed.query, options)
        return answers.response(shaper.page(Listing(items, self._server.version)), form=form)


def _object(target: Target, raw: bytes, media: str) -> JSON:
    """The body of a POST or PUT; only built-in kinds may leave out what they are."""
    kind = target.served.kind
    body = bodies.decoded_object(raw, media, kind)
    if target.served.rules.is_custom and not body.get("kind"):
        shown = raw[:256].decode(errors="replace")
        text = f"the object provided is unrecognized (must be of type {kind}): Object 'Kind'"
        raise status.bad_request(f"{text} is missing in '{shown}'")
    return body


def _manager(request: web.Request) -> str:
    """Who writes, when the request does not say."""
    return agent_of(request)[: parameters.MANAGER_LIMIT_CHARS]
