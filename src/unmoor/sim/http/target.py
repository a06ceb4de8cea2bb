"""What does a path mean? A kind, a namespace, a name, a subresource; or nothing here.

Must not: know any verb's behaviour.
"""

from __future__ import annotations

from urllib.parse import unquote

import msgspec

from unmoor.model.base import Ref
from unmoor.sim.apiserver import status
from unmoor.sim.http.catalog import Catalog, Served

_NAMESPACE_DOORS = ("status", "finalize")
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
    """A request as an authorizer looks at it."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    kind: str = ""


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


def asked_of(target: Target, method: str, *, is_watch: bool, fields: str) -> Asked:
    """The request in an authorizer's words."""
    served = target.served
    verb = _VERBS.get(method, "")
    if not verb:
        verb = "watch" if is_watch else "get" if target.name else "list"
    elif verb == "delete" and not target.name:
        verb = "deletecollection"
    door = target.subresource
    # A list or watch of one name counts as asking for that name.
    field, _, named = fields.partition("=")
    return Asked(
        verb=verb,
        group=served.group,
        resource=f"{served.plural}/{door}" if door else served.plural,
        namespace=target.namespace,
        name=target.name or (named if field == "metadata.name" else ""),
        kind=served.kind,
    )
