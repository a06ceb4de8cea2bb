"""What a case says to an API server where our port has no word for it: managers, options, warnings.

The embedded server is asked as its HTTP face would ask it, the others over HTTP. Which one it is
shows here and in no case.
"""

import json
from typing import Any, NamedTuple, Self

from tests.contract.faces import PATIENCE_S, Place
from unmoor.kube.client import KubeApi
from unmoor.kube.request import PATCH_TYPES, Request
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import DEPLOYMENTS, Resource
from unmoor.runtime.ports import Api, ApiError, DeleteOptions, PatchType
from unmoor.sim.apiserver import Server, Terms
from unmoor.sim.apiserver.fields import problems
from unmoor.sim.direct import DirectApi
from unmoor.sim.stored import SERVED

DEFINITIONS: Resource[JSON] = Resource(
    "CustomResourceDefinition",
    "customresourcedefinitions",
    "apiextensions.k8s.io",
    "v1",
    False,
    dict[str, Any],
)


class Answer(NamedTuple):
    """What came back, whatever it was."""

    code: int
    body: JSON
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))

    @property
    def reason(self) -> str:
        return str(self.body.get("reason", ""))

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        found = (self.body.get("details") or {}).get("causes") or []
        return sorted((one["reason"], one["message"], one.get("field", "")) for one in found)

    @property
    def owners(self) -> dict[tuple[str, ...], JSON]:
        """The fields that each manager owns, by manager, operation and subresource if any."""
        entries = self.body.get("metadata", {}).get("managedFields", [])
        return {
            tuple(filter(None, (one["manager"], one["operation"], one.get("subresource")))): one[
                "fieldsV1"
            ]
            for one in entries
        }


class Call(NamedTuple):
    """One write. ``body`` may be text, for what JSON's own writers would not write."""

    ref: Ref
    resource: Resource[Any]
    body: Any
    subresource: str = ""
    how: PatchType | None = None
    options: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        return self.body if isinstance(self.body, str) else json.dumps(self.body)


class Wire:
    """Every verb, with options by their names in a query."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @classmethod
    def of(cls, place: Place) -> Self:
        return cls(place.api)

    async def create(
        self, resource: Resource[Any], body: Any, *, namespace: str = "", **options: str
    ) -> Answer:
        ref = resource.ref("", namespace)
        return await self._send("POST", Call(ref, resource, body, options=_sorted(options)))

    async def replace(self, ref: Ref, body: Any, *, door: str = "", **options: str) -> Answer:
        call = Call(ref, resource_of(ref), body, door, options=_sorted(options))
        return await self._send("PUT", call)

    async def patch(
        self, ref: Ref, body: Any, *, how: PatchType = "merge", door: str = "", **options: str
    ) -> Answer:
        call = Call(ref, resource_of(ref), body, door, how, _sorted(options))
        return await self._send("PATCH", call)

    async def apply(self, ref: Ref, body: Any, *, door: str = "", **options: str) -> Answer:
        """Names the object and its kind, unless the body does."""
        if isinstance(body, dict):
            resource = resource_of(ref)
            meta = {"name": ref.name, **body.get("metadata", {})}
            head = {"apiVersion": resource.api_version, "kind": resource.kind}
            body = {**head, **body, "metadata": meta}
        return await self.patch(ref, body, how="apply", door=door, **options)

    async def get(self, ref: Ref, door: str = "") -> Answer:
        return await self._send("GET", Call(ref, resource_of(ref), None, door))

    async def delete(self, ref: Ref) -> Answer:
        return await self._send("DELETE", Call(ref, resource_of(ref), None))

    async def is_served(self, resource: Resource[Any]) -> bool:
        """Whether there is a collection of this kind."""
        if isinstance(self._api, DirectApi):
            return resource.kind in self._api._server.store.tables
        return (await self._send("GET", Call(resource.ref(""), resource, None))).code == 200

    async def _send(self, method: str, call: Call) -> Answer:
        if isinstance(self._api, DirectApi):
            return _directly(self._api._server, method, call)
        assert isinstance(self._api, KubeApi)
        return await _over_http(self._api, method, call)


def resource_of(ref: Ref) -> Resource[Any]:
    if ref.kind == DEFINITIONS.kind:
        return DEFINITIONS
    return DYNAMIC.get(ref.kind) or SERVED[ref.kind]


DYNAMIC: dict[str, Resource[Any]] = {}
"""Kinds that cases define."""


def _sorted(options: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(options.items()))


async def _over_http(api: KubeApi, method: str, call: Call) -> Answer:
    request = Request(
        method=method,
        path=call.resource.path(call.ref.namespace, call.ref.name, call.subresource),
        query=dict(call.options),
        body=None if call.body is None else call.text.encode(),
        content_type=PATCH_TYPES[call.how] if call.how else "application/json",
    )
    response, _ = await api._start(request, await api._proof(request), PATIENCE_S)
    async with response:
        warnings = tuple(
            json.loads(one.removeprefix("299 - ")) for one in response.headers.getall("Warning", ())
        )
        is_text = response.content_type != "application/json"
        return Answer(response.status, {} if is_text else await response.json(), warnings)


def _directly(server: Server, method: str, call: Call) -> Answer:
    warnings: list[str] = []
    options = dict(call.options)
    ref, door = call.ref, call.subresource
    body: Any = None
    doubled: tuple[str, ...] = ()
    if call.body is not None:
        body, doubled = problems.read(call.text)
    force = options.get("force")
    terms = Terms(
        manager=options.get("fieldManager", ""),
        force=None if force is None else force == "true",
        validation=options.get("fieldValidation", "Warn"),  # type: ignore[arg-type]
        doubled=doubled,
        warn=warnings.append,
    )
    dry_run = "dryRun" in options
    try:
        match method:
            case "GET":
                return Answer(200, server.get(ref, door))
            case "DELETE":
                return Answer(200, server.delete(ref, DeleteOptions()))
            case "POST":
                found = server.create(ref, body, subresource=door, dry_run=dry_run, terms=terms)
                return Answer(201, found, tuple(warnings))
            case "PUT":
                found = server.replace(ref, body, subresource=door, dry_run=dry_run, terms=terms)
                return Answer(200, found, tuple(warnings))
            case _:
                is_new = not server.has(ref)
                found = server.patch(
                    ref,
                    body,
                    how=call.how or "merge",
                    subresource=door,
                    dry_run=dry_run,
                    terms=terms,
                )
                return Answer(201 if is_new else 200, found, tuple(warnings))
    except ApiError as error:
        return Answer(error.code, error.status, tuple(warnings))


# -------------------------------------------------------------------------------- what cases share


async def applied(wire: Wire, ref: Ref, manager: str, body: JSON, **options: str) -> Answer:
    return await wire.apply(ref, body, fieldManager=manager, **options)


def data(**values: str) -> JSON:
    return {"data": values}


def fields(*names: str) -> JSON:
    return {f"f:{name}": {} for name in names}


CONTAINERS: list[JSON] = [
    {
        "name": "main",
        "image": "img:1",
        "ports": [{"containerPort": 80}],
        "env": [{"name": "E", "value": "1"}],
        "resources": {"requests": {"cpu": "1"}},
    }
]


async def deployed(place: Place, wire: Wire, manager: str, **spec: object) -> Ref:
    ref = place.ref(DEPLOYMENTS, "web")
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": CONTAINERS}}
    body = {"spec": {"selector": {"matchLabels": {"app": "w"}}, "template": template, **spec}}
    answer = await applied(wire, ref, manager, body)
    assert answer.code == 201, answer.message
    return ref
