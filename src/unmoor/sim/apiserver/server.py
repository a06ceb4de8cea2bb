"""What the API server answers: every verb, synchronously, on raw JSON.

One object holds a whole cluster. It is deterministic (its clock and its seed are handed in), never
waits, and raises ``ApiError`` as the real server words it. The two faces, direct and HTTP, add
decoding and transport and nothing else.

Must not: act on its own. Schedulers, kubelets and controllers are actors, clients like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from random import Random
from typing import Any, TypeAlias

import msgspec

from unmoor.model import crds
from unmoor.model.base import JSON, Key, Ref
from unmoor.model.kinds import KINDS, Resource
from unmoor.runtime.ports import ALL, ApiError, DeleteOptions, PatchType, Query
from unmoor.sim.apiserver import (
    applying,
    creation,
    definitions,
    deletion,
    eviction,
    ownership,
    paging,
    patching,
    scale,
    status,
    subresources,
)
from unmoor.sim.apiserver.forms import Form, keep_as_decoded
from unmoor.sim.apiserver.selection import Selection
from unmoor.sim.apiserver.storage import Observer, Store, Table
from unmoor.sim.apiserver.terms import EASY, PLAIN, Manners, Terms
from unmoor.sim.apiserver.update import Write
from unmoor.sim.apiserver.watch import Watch
from unmoor.sim.stored import SERVED

SNAPSHOTS_LIMIT = 64
"""Lists that are still being paged through; older ones answer 410."""
FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")

_NO_OPTIONS = DeleteOptions()
_PAGE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter."
)


Objects: TypeAlias = list[JSON]


class Listing(msgspec.Struct, frozen=True):
    """One page: stored objects, the version they are of, and how to go on."""

    items: Objects
    resource_version: str
    next: str = ""
    remaining: int = 0


class Server:
    """An API server with its storage. Methods mirror the ``Api`` port, without waiting."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        seed: int = 0,
        resources: Iterable[Resource[Any]] | None = None,
        *,
        manners: Manners = EASY,
    ) -> None:
        """Serve these kinds, or all; the four namespaces of every cluster are there."""
        self.manners = manners
        if resources is None:
            resources = (SERVED if manners.takes_all else KINDS).values()
        self.kinds = tuple(resources)
        """What it was built to serve; definitions, and what they define, come later."""
        self.store = Store(clock, Random(seed), self.kinds)
        self._snapshots: dict[str, Objects] = {}
        self._lists = 0
        self._watches: tuple[Watch, ...] = ()
        ours = crds.all_crds()
        for definition in ours:
            spec = definitions.filled(definition, True)["spec"]
            table = self.store.tables.get(spec["names"]["kind"])
            if table is not None and manners.awaits_definitions:
                self.store.drop(table.resource.kind)
            elif table is not None:
                definitions.define(table, spec, runs_rules=manners.runs_rules)
        for table in self.store.tables.values() if manners.checks_types else ():
            if not table.rules.is_custom:
                keep_as_decoded(table)
        self._definitions = definitions.Definitions(
            self.store, self.close_watches, runs_rules=manners.runs_rules
        )
        for name in FIRST_NAMESPACES:
            body = {"metadata": {"name": name}}
            creation.create(self.store, self.store.tables["Namespace"], "", body)
        if manners.shows_definitions:
            self._definitions.create(ours)

    @property
    def observers(self) -> list[Observer]:
        """Called at each write, synchronously: for checkers, which must not write."""
        return self.store.observers

    @property
    def version(self) -> str:
        """The resourceVersion of the latest write."""
        return str(self.store.version)

    def resources(self) -> tuple[Resource[Any], ...]:
        """The kinds that are served at the moment."""
        return tuple(table.resource for table in self.store.tables.values())

    # ------------------------------------------------------------------------------------- reading

    def get(self, ref: Ref, subresource: str = "") -> JSON:
        """GET one object, or its scale."""
        table = self._table(ref.kind)
        obj = table.objects.get(_key(table, ref))
        if obj is None:
            raise status.not_found(table.resource, ref.name)
        if subresource == "scale" and table.rules.has_scale:
            return scale.scale_of(table, obj)
        if subresource and not (subresource == "status" and table.rules.has_status):
            raise status.no_such_page()
        return obj

    def has(self, ref: Ref) -> bool:
        """True when the object is there."""
        table = self._table(ref.kind)
        return _key(table, ref) in table.objects

    def list(
        self, resource: Resource[Any], query: Query = ALL, *, limit: int = 0, after: str = ""
    ) -> Listing:
        """GET a collection: all of it, or a page of a snapshot that stays as it is."""
        table = self._table(resource.kind)
        if after:
            number, version, start = paging.read_token(after)
            items = self._snapshots.get(number)
            if items is None:
                raise status.expired(_PAGE_EXPIRED)
        else:
            items, version, start = self._select(table, query), self.version, 0
            number = ""
        if not limit or start + limit >= len(items):
            return Listing(items[start:] if start else items, version)
        if not number:
            self._lists += 1
            number = str(self._lists)
            self._keep_snapshot(number, items)
        stop = start + limit
        return Listing(
            items[start:stop], version, paging.write_token(number, version, stop), len(items) - stop
        )

    def _select(self, table: Table, query: Query) -> Objects:
        selection = Selection(table.rules, query)
        objects = [table.objects[key] for key in table.sorted_keys()]
        return objects if selection.is_all else [o for o in objects if selection.matches(o)]

    def _keep_snapshot(self, number: str, items: Objects) -> None:
        self._snapshots[number] = items
        if len(self._snapshots) > SNAPSHOTS_LIMIT:
            del self._snapshots[next(iter(self._snapshots))]

    def watch(self, resource: Resource[Any], query: Query = ALL, *, since: str = "") -> Watch:
        """GET with watch: everything after ``since``; "" and "0" begin with what there is."""
        table = self._table(resource.kind)
        selection = Selection(table.rules, query)
        if since in {"", "0"}:
            watch = Watch(table, selection, self.store.version, self._select(table, query))
        elif not since.isdigit():
            text = f'strconv.ParseUint: parsing "{since}": invalid syntax'
            cause = status.bad_value("resourceVersion", since, text)
            raise status.failure(500, "InternalError", str(cause))
        else:
            watch = Watch(table, selection, int(since))
        self._watches = (*self._open_watches(), watch)
        return watch

    # ------------------------------------------------------------------------------------- writing

    def create(
        self,
        ref: Ref,
        body: JSON,
        *,
        subresource: str = "",
        dry_run: bool = False,
        terms: Terms = PLAIN,
    ) -> JSON:
        """POST to a collection, or to a subresource of an existing object."""
        table = self._table(ref.kind)
        if not subresource:
            return self._create(table, ref.namespace, body, terms, dry_run=dry_run)
        key = _key(table, ref)
        if table.resource.kind == "Pod" and subresource == "eviction":
            return eviction.evict(self.store, key, body, dry_run=dry_run)
        if table.resource.kind == "Pod" and subresource == "binding":
            return subresources.bind(self.store, key, body, dry_run=dry_run)
        raise status.not_allowed()

    def _create(
        self, table: Table, namespace: str, body: JSON, terms: Terms, *, dry_run: bool
    ) -> JSON:
        if table.on_empty is not None:
            text = "create not allowed while custom resource definition is terminating"
            name = (body.get("metadata") or {}).get("name", "")
            raise status.forbidden(table.resource, name, text)
        form = Form(table, terms, self.manners)
        if form.is_held:
            creation.hold_kind(table.resource, body)
            body = form.hold(body)
        own = None
        if self.manners.tracks_managers:
            own = partial(ownership.of_created, self.store, table, terms)
        return creation.create(self.store, table, namespace, body, dry_run=dry_run, own=own)

    def restore(self, ref: Ref, body: JSON) -> JSON:
        """Put an object back as another server had it, as from a backup of its storage."""
        table = self._table(ref.kind)
        form = Form(table, PLAIN, self.manners)
        return creation.restore(self.store, table, form.hold(body) if form.is_held else body)

    def replace(
        self,
        ref: Ref,
        body: JSON,
        *,
        subresource: str = "",
        dry_run: bool = False,
        terms: Terms = PLAIN,
    ) -> JSON:
        """PUT an object, its status, its scale, or a namespace's finalizers."""
        table = self._table(ref.kind)
        key = _key(table, ref)
        if table.resource.kind == "Namespace" and subresource == "finalize":
            return subresources.finalize(self.store, key, body)
        if table.rules.creates_on_update and key not in table.objects and not subresource:
            return self._create(table, ref.namespace, body, terms, dry_run=dry_run)
        write = self._write(table, key, subresource)
        write.dry_run, write.terms = dry_run, terms
        if subresource == "scale":
            return scale.write_scale(write, body)
        creation.hold_kind(table.resource, body)
        form = Form(table, terms, self.manners)
        if form.is_held:
            body = form.hold(body)
        meta = body.get("metadata") or {}
        if table.rules.needs_version and not meta.get("resourceVersion") and not meta.get("uid"):
            raise _needs_version(table.resource, ref.name)
        return write.apply(body)

    def patch(
        self,
        ref: Ref,
        body: Any,
        *,
        how: PatchType = "merge",
        subresource: str = "",
        dry_run: bool = False,
        terms: Terms = PLAIN,
    ) -> JSON:
        """PATCH an object, its status or its scale; an apply creates what is not there."""
        table = self._table(ref.kind)
        if how == "strategic" and table.rules.is_custom:
            raise status.unsupported_media()
        if terms is not PLAIN or how == "apply":
            applying.hold_terms(terms, how)
        if how == "apply":
            call = applying.Call(self.store, table, _key(table, ref), terms, dry_run)
            return call.to_subresource(self._write, body, subresource)
        write = self._write(table, _key(table, ref), subresource)
        write.verb = "patch"
        write.dry_run, write.terms = dry_run, terms
        if subresource == "scale":
            shown = scale.bare_scale_of(table, write.old)
            return scale.write_scale(write, patching.patched(ref.kind, shown, body, how))
        wanted = patching.patched(ref.kind, write.old, body, how)
        form = Form(table, terms, self.manners)
        if form.is_held and wanted is not write.old:
            wanted = form.hold_patched(wanted, body, how)
        return write.apply(wanted)

    def _write(self, table: Table, key: Key, subresource: str) -> Write:
        is_served = {"": True, "status": table.rules.has_status, "scale": table.rules.has_scale}
        if not is_served.get(subresource, False):
            raise status.no_such_page()
        write = Write(self.store, table, key)
        write.subresource = "" if subresource == "scale" else subresource
        write.door = subresource
        return write

    def delete(self, ref: Ref, options: DeleteOptions = _NO_OPTIONS) -> JSON:
        """DELETE one object."""
        table = self._table(ref.kind)
        return deletion.delete(self.store, table, _key(table, ref), options)

    def delete_collection(
        self, resource: Resource[Any], query: Query = ALL, options: DeleteOptions = _NO_OPTIONS
    ) -> Objects:
        """DELETE every selected object, in the order of a list; return them as they were."""
        table = self._table(resource.kind)
        items = self._select(table, query)
        for obj in items:
            meta = obj["metadata"]
            deletion.delete(self.store, table, (meta.get("namespace", ""), meta["name"]), options)
        return items

    # ------------------------------------------------------------- what happens to a server in life

    def send_bookmarks(self) -> None:
        """Tell every watcher the version up to which it has seen everything."""
        for watch in self._open_watches():
            watch.request_bookmark(self.store.version)
        for table in self.store.tables.values():
            table.wake()

    def close_watches(self, kind: str = "", error: ApiError | None = None) -> None:
        """End watches, of one kind or all, as a server does after some minutes or when it stops."""
        for watch in self._open_watches():
            if not kind or watch.kind == kind:
                watch.close(error)

    def compact(self) -> None:
        """Forget all history and snapshots: older versions answer 410 from now on."""
        self._snapshots.clear()
        for table in self.store.tables.values():
            table.forget(len(table.history))
            table.forgotten = max(table.forgotten, self.store.version)

    def _open_watches(self) -> tuple[Watch, ...]:
        self._watches = tuple(watch for watch in self._watches if watch.is_open)
        return self._watches

    def _table(self, kind: str) -> Table:
        table = self.store.tables.get(kind)
        if table is None:
            raise status.no_such_page()
        return table


def _needs_version(resource: Resource[Any], name: str) -> ApiError:
    """422, in which the real server names the resource where the kind should stand."""
    cause = status.bad_value("metadata.resourceVersion", 0, "must be specified for an update")
    details = {**status.details_of(resource, name), "causes": [cause.to_json()]}
    text = f'{status.qualified(resource)} "{name}" is invalid: {cause}'
    return status.failure(422, "Invalid", text, details)


def _key(table: Table, ref: Ref) -> Key:
    return (ref.namespace if table.resource.is_namespaced else "", ref.name)
