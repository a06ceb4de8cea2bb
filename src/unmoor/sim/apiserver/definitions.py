"""What follows from a CustomResourceDefinition: its kind is served, changed, and served no more.

This is the one part of the real server that acts by itself: it accepts names, and empties the kind
whose definition is deleted. Here both are done when the write that asks for them is.

Left out on purpose: versions beside the one that is stored, and conversion webhooks; a kind whose
name another group has already is not accepted, because names are unique here.

Must not: judge a definition; ``definition_checks`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from unmoor.model.base import JSON, Key
from unmoor.model.kinds import KINDS, Resource
from unmoor.runtime.ports import DeleteOptions
from unmoor.sim.apiserver import creation, deletion, ownership
from unmoor.sim.apiserver.checks import CLEANUP
from unmoor.sim.apiserver.rules import CUSTOM, META_FIELDS, NAMESPACED_FIELDS, Rules, ScalePaths
from unmoor.sim.apiserver.schema import Schema, stored_version
from unmoor.sim.apiserver.storage import Store, Table
from unmoor.sim.apiserver.terms import Terms
from unmoor.sim.apiserver.update import Write

KIND = "CustomResourceDefinition"
DEFINITIONS: Resource[JSON] = Resource(
    KIND, "customresourcedefinitions", "apiextensions.k8s.io", "v1", False, dict[str, Any]
)
_OURS = Terms(manager="kube-apiserver")
_NAMES = ("plural", "singular", "shortNames", "kind", "listKind")


class Definitions:
    """All definitions of a server, and the tables that follow from them."""

    def __init__(
        self, store: Store, close: Callable[[str], None], *, runs_rules: bool = False
    ) -> None:
        """``close`` ends the watches of a kind."""
        self._store = store
        self._runs_rules = runs_rules
        self._close = close
        self._table = store.serve(Table(DEFINITIONS))
        self._table.fill = filled
        self._table.on_write = self.look

    def create(self, definitions: Iterable[JSON]) -> None:
        """Bring these along, as if somebody had created them."""
        own = partial(ownership.of_created, self._store, self._table, _OURS)
        for definition in definitions:
            creation.create(self._store, self._table, "", definition, own=own)

    def look(self, key: Key) -> None:
        """Do what follows from a write to this definition."""
        obj = self._table.objects.get(key)
        if obj is None:
            kind = self._served_by(key[1])
            if kind:
                self._drop(kind)
        elif "deletionTimestamp" in obj["metadata"]:
            self._end(key, obj)
        else:
            self._accept(key, obj)

    def _served_by(self, name: str) -> str:
        for table in self._store.tables.values():
            resource = table.resource
            if table.definition is not None and name == f"{resource.plural}.{resource.group}":
                return resource.kind
        return ""

    # ------------------------------------------------------------------------------------ accepting

    def _accept(self, key: Key, obj: JSON) -> None:
        spec, found = obj["spec"], obj["status"]
        accepted, problem = self._accepted(obj)
        now = self._store.now()
        names_ok = _condition("NamesAccepted", "NoConflicts", "no conflicts found", now)
        established = _condition(
            "Established", "InitialNamesAccepted", "the initial names have been accepted", now
        )
        if problem is not None:
            names_ok |= {"status": "False", "reason": problem[0], "message": problem[1]}
            was_established = _is_true(found, "Established")
            if not was_established:
                text = "not all names are accepted"
                established |= {"status": "False", "reason": "NotAccepted", "message": text}
        conditions = found.get("conditions") or []
        for one in (names_ok, established):
            conditions = _with(conditions, one)
        stored = found.get("storedVersions") or []
        version = stored_version(spec)[0]["name"]
        wanted = {
            "acceptedNames": accepted,
            "conditions": conditions,
            "storedVersions": stored if version in stored else [*stored, version],
        }
        if _is_true(wanted, "Established"):
            self._serve(spec)
        if wanted != found:
            self._write(key, {**obj, "status": wanted})

    def _accepted(self, obj: JSON) -> tuple[JSON, tuple[str, str] | None]:
        """The names that nobody else has, and what is wrong with the last of the others."""
        spec = obj["spec"]
        names: JSON = spec["names"]
        taken = self._taken(obj)
        accepted: JSON = dict(names)
        problem = None
        for field in _NAMES:
            given = names.get(field) or []
            for name in given if isinstance(given, list) else [given]:
                if name in taken[field in {"kind", "listKind"}]:
                    word = field[0].upper() + field[1:]
                    problem = (f"{word}Conflict", f'"{name}" is already in use')
                    accepted.pop(field, None)
        if problem is not None:
            accepted = {"plural": "", "kind": "", **accepted}
        return accepted, problem

    def _taken(self, obj: JSON) -> tuple[set[str], set[str]]:
        """The resource names and the kinds that others have already."""
        group, kind = obj["spec"]["group"], obj["spec"]["names"]["kind"]
        resources: set[str] = set()
        kinds: set[str] = set()
        for other in self._table.objects.values():
            is_other = other["metadata"]["name"] != obj["metadata"]["name"]
            if is_other and other["spec"]["group"] == group:
                found = other["status"]["acceptedNames"]
                resources |= {
                    found.get("plural"),
                    found.get("singular"),
                    *found.get("shortNames", ()),
                }
                kinds |= {found.get("kind"), found.get("listKind")}
        table = self._store.tables.get(kind)
        if table is not None and table.resource.group != group:
            kinds.add(kind)
        return resources - {"", None}, kinds - {"", None}

    # -------------------------------------------------------------------------------------- serving

    def _serve(self, spec: JSON) -> None:
        table = self._store.tables.get(spec["names"]["kind"])
        if table is not None and table.definition == spec:
            return
        resource = resource_of(spec)
        if table is None:
            table = Table(resource)
        define(table, spec, runs_rules=self._runs_rules)
        if table.resource != resource:
            table.resource = resource
            for key, obj in tuple(table.objects.items()):
                meta = dict(obj["metadata"])
                new = {**obj, "apiVersion": resource.api_version, "metadata": meta}
                self._store.put(table, key, new)
        self._store.serve(table)

    def _drop(self, kind: str) -> None:
        self._store.drop(kind)
        self._close(kind)

    # --------------------------------------------------------------------------------------- ending

    def _end(self, key: Key, obj: JSON) -> None:
        """Delete every object of the kind; when the last is gone, let the definition go."""
        if CLEANUP not in (obj["metadata"].get("finalizers") or ()):
            return
        kind = self._served_by(key[1])
        table = self._store.tables.get(kind)
        if table is None:
            self._finish(key)
            return
        if table.on_empty is not None:
            return
        table.on_empty = lambda: self._finish(key)
        text = "CustomResource deletion is in progress"
        condition = _condition("Terminating", "InstanceDeletionInProgress", text, self._store.now())
        found = obj["status"]
        conditions = _with(found.get("conditions") or [], condition)
        self._write(key, {**obj, "status": {**found, "conditions": conditions}})
        for one in tuple(table.objects):
            deletion.delete(self._store, table, one, DeleteOptions())
        if not table.objects and key in self._table.objects:
            self._finish(key)

    def _finish(self, key: Key) -> None:
        obj = self._table.objects[key]
        meta = obj["metadata"]
        finalizers = [one for one in meta.get("finalizers") or () if one != CLEANUP]
        write = Write(self._store, self._table, key)
        write.terms = _OURS
        write.apply({**obj, "metadata": {**meta, "finalizers": finalizers}})

    def _write(self, key: Key, obj: JSON) -> None:
        write = Write(self._store, self._table, key)
        write.subresource = write.door = "status"
        write.terms = _OURS
        write.apply(obj)


# ------------------------------------------------------------------------ what a definition says


def filled(obj: JSON, is_new: bool) -> JSON:  # noqa: FBT001
    """A definition with what the server adds to every one, and to a new one."""
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        return obj
    names = spec.get("names") or {}
    kind = names.get("kind") or ""
    if kind:
        names = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
    spec = {**spec, "names": names}
    spec.setdefault("conversion", {"strategy": "None"})
    obj = {**obj, "spec": spec}
    if is_new:
        versions = [one for one in spec.get("versions") or () if one.get("storage")]
        obj["status"] = {
            "conditions": [],
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": [one.get("name", "") for one in versions],
        }
    return obj


def resource_of(spec: JSON) -> Resource[Any]:
    """The kind that a definition defines, in the version that is stored."""
    names, version = spec["names"], stored_version(spec)[0]["name"]
    found: Resource[Any] = Resource(
        names["kind"],
        names["plural"],
        spec["group"],
        version,
        spec["scope"] == "Namespaced",
        dict[str, Any],
    )
    ours = KINDS.get(found.kind)
    return ours if ours is not None and ours.raw() == found else found


def define(table: Table, spec: JSON, *, runs_rules: bool = False) -> None:
    """Hold the objects of a table to a definition from now on."""
    table.definition = spec
    table.schema = Schema(stored_version(spec)[1], runs_rules=runs_rules)
    table.shape = None
    table.rules = _rules(spec)


def _rules(spec: JSON) -> Rules:
    version = stored_version(spec)[0]
    doors = version.get("subresources") or {}
    fields = dict(NAMESPACED_FIELDS if spec["scope"] == "Namespaced" else META_FIELDS)
    for one in version.get("selectableFields") or ():
        fields[one["jsonPath"].removeprefix(".")] = _steps(one["jsonPath"])
    scale = doors.get("scale")
    return msgspec.structs.replace(
        CUSTOM,
        has_status=doors.get("status") is not None,
        has_scale=scale is not None,
        scale=_scale_paths(scale) if scale else None,
        fields=fields,
    )


def _scale_paths(scale: JSON) -> ScalePaths:
    return ScalePaths(
        replicas=_steps(scale["specReplicasPath"]),
        found=_steps(scale["statusReplicasPath"]),
        selector=_steps(scale.get("labelSelectorPath") or ""),
    )


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split(".")) if path else ()


def _condition(kind: str, reason: str, message: str, now: str) -> JSON:
    said = {"reason": reason, "message": message}
    return {"type": kind, "status": "True", "lastTransitionTime": now, **said}


def _is_true(found: JSON, kind: str) -> bool:
    conditions = found.get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def _with(conditions: list[JSON], new: JSON) -> list[JSON]:
    """The list with this condition in its place; its time moves with its status only."""
    old = next((one for one in conditions if one["type"] == new["type"]), None)
    if old is None:
        return [*conditions, new]
    if old["status"] == new["status"]:
        new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
        if new["type"] == "Established":
            new = old
    return [new if one is old else one for one in conditions]
