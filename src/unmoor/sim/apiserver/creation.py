"""What a POST to a collection does: identity, admission, defaults, checks, storage.

Must not: know any subresource.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from unmoor.model.base import JSON
from unmoor.model.kinds import Resource
from unmoor.sim.apiserver import checks, defaults, status
from unmoor.sim.apiserver.status import Cause
from unmoor.sim.apiserver.storage import Store, Table

GENERATED_NAME_LIMIT_CHARS = 58

_NOT_FROM_CLIENTS = (
    "resourceVersion",
    "uid",
    "selfLink",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_MAY_BE_EMPTY = ("labels", "annotations", "finalizers", "ownerReferences", "generateName")


Own: TypeAlias = Callable[[JSON, JSON], list[JSON]]
"""The managedFields of a new object, from what was asked for and what has become of it."""


def create(
    store: Store,
    table: Table,
    namespace: str,
    body: JSON,
    *,
    dry_run: bool = False,
    own: Own | None = None,
) -> JSON:
    """Store a new object and return it as stored."""
    resource = table.resource
    hold_kind(resource, body)
    meta = _identity(store, table, namespace, body.get("metadata") or {})
    name = meta.get("name", "")
    _admit(store, table, namespace, name)
    obj = {**body, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
    if table.rules.is_custom:
        if table.rules.has_status:
            obj.pop("status", None)
    elif None in (obj.get("spec") or {}).values():
        obj["spec"] = {name: value for name, value in obj["spec"].items() if value is not None}
    obj = _shaped(table, obj)
    problem = checks.type_problem(meta) or checks.quantity_problem(resource, body)
    if problem:
        raise _undecodable(resource, problem)
    causes = _name_causes(table, name)
    if not causes:
        obj = defaults.complete(store, table, obj)
    meta = dict(obj["metadata"])
    obj["metadata"] = meta
    causes += checks.metadata_causes(resource, meta, table.rules.is_custom)
    causes += _spec_causes(table, obj)
    if causes:
        raise status.invalid(resource, name, *causes)
    key = (namespace, name)
    if key in table.objects:
        raise status.already_exists(resource, name)
    if own is not None and (entries := own(body, obj)):
        meta["managedFields"] = entries
    return obj if dry_run else store.put(table, key, obj)


def restore(store: Store, table: Table, body: JSON) -> JSON:
    """Store an object as another server had it: uid, times, owners, status. The version is ours."""
    resource = table.resource
    hold_kind(resource, body)
    meta = dict(body.get("metadata") or {})
    obj = {**body, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
    obj = _shaped(table, obj)
    problem = checks.type_problem(meta) or checks.quantity_problem(resource, body)
    if problem:
        raise _undecodable(resource, problem)
    causes = [*_name_causes(table, meta.get("name", "")), *_spec_causes(table, obj)]
    if causes:
        raise status.invalid(resource, meta.get("name", ""), *causes)
    return store.put(table, (meta.get("namespace", ""), meta["name"]), obj)


def _shaped(table: Table, obj: JSON) -> JSON:
    """A custom object as its schema has it, and a definition as every definition is."""
    if table.schema is not None:
        return table.schema.prune(obj)
    return obj if table.fill is None else table.fill(obj, True)


def hold_kind(resource: Resource[Any], body: JSON) -> None:
    """Raise 400 for a body that says it is something else."""
    kind = body.get("kind") or resource.kind
    version = body.get("apiVersion") or resource.api_version
    if kind != resource.kind:
        text = f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
        raise status.bad_request(text)
    if version != resource.api_version:
        text = (
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )
        raise status.bad_request(text)


def _name_causes(table: Table, name: str) -> list[Cause]:
    causes = checks.path_name_causes if table.rules.has_path_names else checks.name_causes
    return list(causes(name))


def _spec_causes(table: Table, obj: JSON) -> list[Cause]:
    causes = list(checks.spec_causes(table.resource, obj))
    if table.schema is not None:
        causes += table.schema.causes(obj)
    return causes


def _undecodable(resource: Resource[Any], problem: str) -> Exception:
    text = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
    return status.bad_request(f"{text}: {problem}")


def _identity(store: Store, table: Table, namespace: str, given: JSON) -> JSON:
    """The metadata of a new object: what the client may choose, and what the server adds."""
    _hold_identity(table, namespace, given)
    meta = {field: value for field, value in given.items() if value is not None}
    for field in _NOT_FROM_CLIENTS:
        meta.pop(field, None)
    for field in _MAY_BE_EMPTY:
        if field in meta and not meta[field]:
            del meta[field]
    for field in ("labels", "annotations"):
        if isinstance(meta.get(field), dict) and None in meta[field].values():
            meta[field] = checks.without_nulls(meta[field])
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = meta["generateName"][:GENERATED_NAME_LIMIT_CHARS] + store.suffix()
    if namespace:
        meta["namespace"] = namespace
    meta["uid"] = store.uid()
    meta["creationTimestamp"] = store.now()
    if table.rules.has_generation:
        meta["generation"] = 1
    return meta


def _hold_identity(table: Table, namespace: str, given: JSON) -> None:
    if table.resource.is_namespaced:
        if given.get("namespace", namespace) != namespace:
            raise status.bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
        if not namespace:
            raise status.bad_request("an empty namespace may not be set during creation")
    if given.get("resourceVersion"):
        text = "resourceVersion should not be set on objects to be created"
        raise status.failure(500, "", text)


def _admit(store: Store, table: Table, namespace: str, name: str) -> None:
    """Namespace life cycle: nothing new where there is no namespace, or where it is going."""
    if not namespace:
        return
    namespaces = store.tables["Namespace"]
    found = namespaces.objects.get(("", namespace))
    if found is None:
        raise status.not_found(namespaces.resource, namespace)
    if "deletionTimestamp" in found["metadata"]:
        cause = Cause(
            "NamespaceTerminating",
            f"namespace {namespace} is being terminated",
            "metadata.namespace",
        )
        text = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        raise status.forbidden(table.resource, name, text, cause)
