"""What does a path mean? A kind, a namespace, a name, a subresource; or nothing here.

Must not: know any verb's behaviour.
"""

from __future__ import annotations

from urllib.parse import unquote

import msgspec
from aiohttp import web

from unmoor.model.base import Ref
from unmoor.sim.apiserver import status
from unmoor.sim.http.catalog import Catalog, Served
from unmoor.sim.http.parameters import flag

_NAMESPACE_DOORS = ("status", "finalize")
_READS = ("get", "list", "watch")
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Target(msgspec.Struct, frozen=True):
    """What a request is about."""

    served: Served
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def ref(self) -> Ref:
        """The object, or with an empty name the collection, as the server knows it."""
        return Ref(self.served.kind, self.name, namespace=self.namespace)


class Asked(msgspec.Struct, frozen=True):
    """A request as an authorizer looks at it, and with which program it was made."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    kind: str = ""
    agent: str = ""
    """The first word of the client's User-Agent: ``kubectl``."""
    is_dry_run: bool = False

    @property
    def is_write(self) -> bool:
        """It changes something."""
        return self.verb not in _READS and not self.is_dry_run


def segments(raw_path: str) -> list[str]:
    """The parts of a path, decoded one by one; raises 404 for one that cannot be."""
    parts = raw_path.split("?", 1)[0].strip("/").split("/")
    try:
        found = [unquote(part, errors="strict") for part in parts]
    except UnicodeDecodeError:
        raise status.no_such_page() from None
    if "" in found[1:]:
        raise status.no_such_page()
    return found


def target_of(catalog: Catalog, parts: list[str]) -> Target:
    """Find what a path under ``/api`` or ``/apis`` is about; raises 404 when it is nothing."""
    if parts[0] == "api":
        group, version, rest = "", parts[1] if len(parts) > 1 else "", parts[2:]
    else:
        group, version, rest = parts[1], parts[2] if len(parts) > 2 else "", parts[3:]  # noqa: PLR2004
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in _NAMESPACE_DOORS:  # noqa: PLR2004
        namespace, rest = rest[1], rest[2:]
    if not 1 <= len(rest) <= 3:  # noqa: PLR2004
        raise status.no_such_page()
    plural, name, subresource = [*rest, "", ""][:3]
    served = catalog.find(group, version, plural)
    if served is None:
        raise status.no_such_page()
    is_namespaced = served.resource.is_namespaced
    if (namespace and not is_namespaced) or (name and is_namespaced and not namespace):
        raise status.no_such_page()
    return Target(served, namespace, name, subresource)


def asked_of(target: Target, request: web.Request) -> Asked:
    """The request in an authorizer's words."""
    served, query = target.served, request.query
    verb = _VERBS.get(request.method, "")
    if not verb:
        verb = "watch" if flag(query, "watch") else "get" if target.name else "list"
    elif verb == "delete" and not target.name:
        verb = "deletecollection"
    door = target.subresource
    # A list or watch of one name counts as asking for that name.
    field, _, named = query.get("fieldSelector", "").partition("=")
    return Asked(
        verb=verb,
        group=served.group,
        resource=f"{served.plural}/{door}" if door else served.plural,
        namespace=target.namespace,
        name=target.name or (named if field == "metadata.name" else ""),
        kind=served.kind,
        agent=agent_of(request),
        is_dry_run="dryRun" in query,
    )


def agent_of(request: web.Request) -> str:
    """The program that asks, as its user agent names it."""
    agent = request.headers.get("User-Agent", "").partition("/")[0]
    return agent if agent.isprintable() else ""
