"""Which objects must go because their owners have gone? The garbage collector.

As the real one: a graph of who owns whom by uid, kept from watches of every kind, and one worker.
An object whose owners are all absent is deleted; a reference to an absent owner beside a living one
is taken off; an owner that is deleted in the foreground waits for the dependents that block it, and
one that is deleted as an orphan first loses its dependents.

The graph may be late, so what is done is decided on the object as it is now, and carries its uid.

Must not: know the server. It is a client like kube-controller-manager's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import EVENTS, Resource
from unmoor.runtime.informer import Informer
from unmoor.runtime.ports import Api, ApiError, Broken, Clock, DeleteOptions, PortError

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
RETRY_AFTER_S = 0.5
"""Pause after something failed; it is tried again behind everything that waits by then."""

_NOT_FOUND = 404


class _Item:
    """One object in the graph. ``owners``: uid of each owner, and whether it is blocked by this."""

    __slots__ = ("finalizers", "is_deleting", "owners", "ref", "references")

    def __init__(self, ref: Ref, meta: JSON) -> None:
        self.ref = ref
        self.references: list[JSON] = meta.get("ownerReferences") or []
        self.finalizers: list[str] = meta.get("finalizers") or []
        self.is_deleting = "deletionTimestamp" in meta
        self.owners = {
            str(one["uid"]): bool(one.get("blockOwnerDeletion")) for one in self.references
        }

    @property
    def is_waiting(self) -> bool:
        """Being deleted in the foreground: it waits for its dependents."""
        return self.is_deleting and FOREGROUND in self.finalizers

    @property
    def is_orphaning(self) -> bool:
        """Being deleted, and its dependents shall stay."""
        return self.is_deleting and ORPHAN in self.finalizers


class GarbageCollector:
    """Run it as a task; cancel it to stop it. Never raises for what the server says."""

    def __init__(self, api: Api, clock: Clock, *, resources: Iterable[Resource[Any]]) -> None:
        """Watch these kinds, but for Events; owners of other kinds count as present."""
        self._api = api
        self._clock = clock
        resources = [one for one in resources if one.kind != EVENTS.kind]
        self._resources = [resource.raw() for resource in resources]
        self._kinds = {(one.group, one.kind): one for one in resources}
        self._items: dict[str, _Item] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._queue: deque[str] = deque()
        self._queued: set[str] = set()
        self._work = asyncio.Event()
        self._informer = Informer(api, self, clock, jitter=lambda: 1.0)

    async def run(self) -> None:
        """Collect until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informer.run(self._resources))
            tasks.create_task(self._attend_all())

    # ------------------------------------------------------------------------- the graph (a Sink)

    def begin(self, resource: Resource[Any]) -> None:
        """Nothing to do: nobody but the informer writes here."""

    def replacing(
        self,
        resource: Resource[Any],
        objects: Sequence[Any],
        version: str,  # noqa: ARG002
        broken: Sequence[Broken] = (),  # noqa: ARG002 - plain JSON is never broken
    ) -> Iterator[None]:
        """Take a complete list of one kind, all at once."""
        there = {obj["metadata"]["uid"] for obj in objects}
        gone = [
            item.ref.uid
            for item in self._items.values()
            if item.ref.kind == resource.kind and item.ref.uid not in there
        ]
        for obj in objects:
            self.put(resource, obj)
        for uid in gone:
            self._remove(uid)
        yield from ()

    def put(self, resource: Resource[Any], obj: Any) -> None:
        """Take an object's new state."""
        meta = obj["metadata"]
        uid = meta["uid"]
        old = self._items.get(uid)
        if old is not None and _is_as_before(old, meta):
            return
        ref = resource.ref(meta["name"], meta.get("namespace", ""), uid)
        new = self._items[uid] = _Item(ref, meta)
        before = old.owners if old is not None else {}
        for owner in before:
            if owner not in new.owners:
                self._detach(owner, uid)
        for owner in new.owners:
            self._dependents.setdefault(owner, {})[uid] = None
        self._wake(old, new)

    def drop(self, resource: Resource[Any], obj: Any) -> None:  # noqa: ARG002
        """Take an object's deletion."""
        self._remove(obj["metadata"]["uid"])

    def mark_broken(self, resource: Resource[Any], broken: Broken) -> None:
        """Nothing to do: plain JSON is never broken."""

    def _wake(self, old: _Item | None, new: _Item) -> None:
        """Queue what this change concerns."""
        if new.is_waiting or new.is_orphaning:
            self._enqueue(new.ref.uid)
        if new.is_waiting and not (old is not None and old.is_waiting):
            for dependent in self._dependents.get(new.ref.uid, ()):
                self._enqueue(dependent)
        owners = (self._items.get(owner) for owner in new.owners)
        if any(owner is None or owner.is_waiting for owner in owners):
            self._enqueue(new.ref.uid)
        if old is not None:
            self._wake_waiting(old.owners)

    def _wake_waiting(self, owners: Iterable[str]) -> None:
        """Owners that wait for their dependents may wait for one less."""
        for uid in owners:
            owner = self._items.get(uid)
            if owner is not None and owner.is_waiting:
                self._enqueue(uid)

    def _remove(self, uid: str) -> None:
        item = self._items.pop(uid, None)
        for dependent in self._dependents.get(uid, ()):
            self._enqueue(dependent)
        if item is not None:
            for owner in item.owners:
                self._detach(owner, uid)
            self._wake_waiting(item.owners)

    def _detach(self, owner: str, uid: str) -> None:
        dependents = self._dependents.get(owner)
        if dependents is not None:
            dependents.pop(uid, None)
            if not dependents:
                del self._dependents[owner]

    # ------------------------------------------------------------------------------------ the work

    def _enqueue(self, uid: str) -> None:
        if uid not in self._queued:
            self._queued.add(uid)
            self._queue.append(uid)
            self._work.set()

    async def _attend_all(self) -> None:
        await self._informer.wait_synced()
        while True:
            while self._queue:
                uid = self._queue.popleft()
                self._queued.discard(uid)
                try:
                    await self._attend(uid)
                except PortError as error:
                    if isinstance(error, ApiError) and error.code == _NOT_FOUND:
                        continue
                    await self._clock.sleep(RETRY_AFTER_S)
                    self._enqueue(uid)
            self._work.clear()
            await self._work.wait()

    async def _attend(self, uid: str) -> None:
        item = self._items.get(uid)
        if item is None:
            return
        if item.is_orphaning:
            await self._orphan(item)
        elif item.is_waiting:
            await self._wait_for_dependents(item)
        elif item.owners and not item.is_deleting:
            await self._judge(item)

    async def _judge(self, item: _Item) -> None:
        """Delete an object without owners, or take the absent ones off."""
        latest = await self._latest(item)
        references = latest["metadata"].get("ownerReferences") or []
        if not references:
            return
        waiting, absent, solid = [], [], []
        for reference in references:
            owner = await self._owner(item, reference)
            if owner is None:
                absent.append(reference)
            elif owner.is_waiting:
                waiting.append(reference)
            else:
                solid.append(reference)
        if solid:
            if waiting or absent:
                await self._set_owners(latest, item, solid)
            return
        options = DeleteOptions(uid=item.ref.uid, propagation="Background")
        finalizers = latest["metadata"].get("finalizers") or ()
        if ORPHAN in finalizers:
            options = DeleteOptions(uid=item.ref.uid, propagation="Orphan")
        elif FOREGROUND in finalizers or (waiting and self._dependents.get(item.ref.uid)):
            options = DeleteOptions(uid=item.ref.uid, propagation="Foreground")
        await self._api.delete(item.ref, options)

    async def _owner(self, item: _Item, reference: JSON) -> _Item | None:
        """The owner as the graph or the server knows it, None when it is absent."""
        known = self._items.get(reference["uid"])
        if known is not None:
            return known
        group = reference["apiVersion"].rpartition("/")[0]
        resource = self._kinds.get((group, reference["kind"]))
        if resource is None:
            return _Item(item.ref, {})
        namespace = item.ref.namespace if resource.is_namespaced else ""
        ref = resource.ref(reference["name"], namespace, reference["uid"])
        try:
            found = await self._api.get(ref)
        except ApiError as error:
            if error.code == _NOT_FOUND:
                return None
            raise
        return _Item(ref, found["metadata"]) if found["metadata"]["uid"] == ref.uid else None

    async def _wait_for_dependents(self, item: _Item) -> None:
        blocking = [
            dependent
            for dependent in self._dependents.get(item.ref.uid, ())
            if self._items[dependent].owners[item.ref.uid]
        ]
        if not blocking:
            await self._remove_finalizer(item, FOREGROUND)
            return
        for uid in blocking:
            if not self._items[uid].is_deleting:
                self._enqueue(uid)

    async def _orphan(self, item: _Item) -> None:
        for uid in list(self._dependents.get(item.ref.uid, ())):
            dependent = self._items.get(uid)
            if dependent is None:
                continue
            try:
                latest = await self._latest(dependent)
                references = latest["metadata"].get("ownerReferences") or []
                kept = [one for one in references if one["uid"] != item.ref.uid]
                if len(kept) < len(references):
                    await self._set_owners(latest, dependent, kept)
            except ApiError as error:
                if error.code != _NOT_FOUND:
                    raise
        await self._remove_finalizer(item, ORPHAN)

    async def _latest(self, item: _Item) -> JSON:
        latest = await self._api.get(item.ref)
        if latest["metadata"]["uid"] != item.ref.uid:
            raise ApiError(_NOT_FOUND, "NotFound", f"{item.ref} is another one now")
        return latest

    async def _set_owners(self, latest: JSON, item: _Item, kept: list[JSON]) -> None:
        await self._patch(latest, item, {"ownerReferences": kept or None})

    async def _remove_finalizer(self, item: _Item, finalizer: str) -> None:
        latest = await self._latest(item)
        finalizers = latest["metadata"].get("finalizers") or []
        if finalizer in finalizers:
            kept = [one for one in finalizers if one != finalizer]
            await self._patch(latest, item, {"finalizers": kept or None})

    async def _patch(self, latest: JSON, item: _Item, fields: JSON) -> None:
        version = latest["metadata"]["resourceVersion"]
        await self._api.patch(item.ref, {"metadata": {**fields, "resourceVersion": version}})


def _is_as_before(item: _Item, meta: JSON) -> bool:
    """Most changes of an object do not concern us; this has to be quick."""
    references = meta.get("ownerReferences") or ()
    finalizers = meta.get("finalizers") or ()
    return (
        item.is_deleting == ("deletionTimestamp" in meta)
        and (item.references is references or item.references == list(references))
        and (item.finalizers is finalizers or item.finalizers == list(finalizers))
    )
