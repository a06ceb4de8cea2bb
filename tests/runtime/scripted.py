"""A tiny API server that fails on demand: the port, with a script for each verb.

It knows resourceVersions, uids, the two preconditions, finalizers, paging and watches with history,
and nothing else. ``plan`` says what happens to the next calls of a verb.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from unmoor.model.base import JSON, Key, Ref
from unmoor.model.kinds import KINDS, Resource
from unmoor.runtime.ports import (
    ALL,
    ApiError,
    Bookmark,
    Broken,
    Change,
    DeleteOptions,
    Page,
    PatchType,
    PortError,
    Query,
    Unreachable,
    WatchEvent,
)
from unmoor.sim.virtual import VirtualLoop

STAMP = "2026-01-05T08:00:00Z"


async def passes(delay_s: float) -> None:
    """Let virtual time pass, and only virtual time."""
    assert isinstance(asyncio.get_running_loop(), VirtualLoop)
    await asyncio.sleep(delay_s)


class Lost(msgspec.Struct, frozen=True):
    """The call is carried out, and its answer is lost."""


class Slow(msgspec.Struct, frozen=True):
    """The call is carried out ``delay_s`` seconds later."""

    delay_s: float


class Late(msgspec.Struct, frozen=True):
    """The call is carried out at once, and answered ``delay_s`` seconds later."""

    delay_s: float


class Cut(msgspec.Struct, frozen=True):
    """A watch ends after so many events: with an error, or as servers end one now and then."""

    after: int = 0
    error: Any = None
    after_s: float = 0.0


Planned = PortError | Lost | Slow | Late | Cut | Exception | None


def refused(code: int, reason: str = "", message: str = "no", **more: Any) -> ApiError:
    return ApiError(code, reason, message, **more)


def gone() -> ApiError:
    return refused(410, "Expired", "too old resource version")


class ScriptedApi:
    """``calls`` notes (time, verb, what) of every call."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, dict[Key, JSON]] = defaultdict(dict)
        self.history: list[tuple[int, str, WatchEvent[JSON]]] = []
        self.oldest = 0
        self.calls: list[tuple[float, str, str]] = []
        self.unreadable: set[tuple[str, Key]] = set()
        self.hides_uids = False
        self.repeats_pages = 0
        """So many times the second page of a list is the first."""
        self.mixes_pages = 0
        """So many times a page of a list is as of a later version than the one before."""
        self._plans: dict[str, deque[Planned]] = defaultdict(deque)
        self._pages: dict[str, tuple[list[JSON], int]] = {}
        self._changed = asyncio.Event()
        self._uids = 0

    # The server's side.

    def plan(self, verb: str, *happenings: Planned) -> None:
        """What happens to the next calls of a verb; None: nothing unusual."""
        self._plans[verb] += happenings

    def calm(self) -> None:
        self._plans.clear()

    def put(self, kind: str, name: str, namespace: str = "", /, **fields: Any) -> JSON:
        """Somebody else writes an object; ``meta`` is merged into its metadata."""
        held = self.objects[kind].get((namespace, name))
        self.version += 1
        meta = {"name": name, "namespace": namespace, **fields.pop("meta", {})}
        if held is None:
            self._uids += 1
            meta = {"uid": f"uid-{self._uids}", **meta}
        else:
            meta = {**held["metadata"], **meta}
        meta["resourceVersion"] = str(self.version)
        body = {**(held or {}), "kind": kind, **fields, "metadata": meta}
        self.objects[kind][namespace, name] = body
        self._note("ADDED" if held is None else "MODIFIED", kind, body)
        return body

    def remove(self, kind: str, name: str, namespace: str = "") -> JSON:
        """Somebody else's deletion takes effect."""
        self.version += 1
        body = self.objects[kind].pop((namespace, name))
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        self._note("DELETED", kind, body)
        return body

    def bookmark(self, kind: str) -> None:
        """Much has happened to other kinds."""
        self.version += 10
        self._append(kind, Bookmark(str(self.version)))

    def forget_history(self) -> None:
        """Watches from before now, and the rest of lists that were begun, are too old."""
        self.oldest = self.version
        self.history.clear()
        self._pages.clear()
        self._wake()

    def restore(self, nodes: dict[Key, JSON]) -> None:
        """Go back to a backup: later versions have not come yet."""
        self.objects["Node"] = dict(nodes)
        self.version = max(int(body["metadata"]["resourceVersion"]) for body in nodes.values())
        self.history.clear()
        self._wake()

    def _note(self, change: Any, kind: str, body: JSON) -> None:
        self._append(kind, Change(change, body))

    def _append(self, kind: str, event: WatchEvent[JSON]) -> None:
        self.history.append((self.version, kind, event))
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # The port.

    async def list(
        self, resource: Resource[Any], query: Query = ALL, *, limit: int = 0, after: str = ""
    ) -> Page[Any]:
        await self._begin("list", resource.kind)
        if after:
            if after not in self._pages:
                raise gone()
            if self.repeats_pages:
                self.repeats_pages -= 1
                return Page(items=(), resource_version=str(self.version), next=after)
            rest, version = self._pages.pop(after)
            if self.mixes_pages:
                self.mixes_pages -= 1
                version += 1
        else:
            held = sorted(self.objects[resource.kind].items())
            rest, version = [body for _, body in held if _matches(body, query)], self.version
        now, rest = (rest[:limit], rest[limit:]) if limit else (rest, [])
        token = f"{version}/{len(rest)}" if rest else ""
        if rest:
            self._pages[token] = (rest, version)
        read = [self._read(resource, body) for body in now]
        return Page(
            items=tuple(one for one in read if not isinstance(one, Broken)),
            broken=tuple(one for one in read if isinstance(one, Broken)),
            resource_version=str(version),
            next=token,
        )

    async def watch(
        self, resource: Resource[Any], query: Query = ALL, *, since: str
    ) -> AsyncIterator[WatchEvent[Any]]:
        cut = await self._begin("watch", f"{resource.kind} {since}")
        told = 0
        position = int(since)
        while True:
            if cut is not None and told >= cut.after:
                await asyncio.sleep(cut.after_s)
                if cut.error is not None:
                    raise cut.error
                return
            if position < self.oldest:
                raise gone()
            for version, kind, event in self.history:
                if kind == resource.kind and version > position and _is_of(event, query):
                    position = version
                    told += 1
                    yield self._event(resource, event)
                    break
            else:
                await self._changed.wait()

    async def get(self, ref: Ref) -> JSON:
        await self._begin("get", str(ref))
        return self._find(ref)

    async def create(
        self, ref: Ref, body: JSON, *, subresource: str = "", dry_run: bool = False
    ) -> JSON:
        assert not dry_run
        is_lost = await self._begin(subresource or "create", str(ref))
        if subresource:
            held = self._held(ref, body["deleteOptions"]["preconditions"]["uid"])
            stamps = {"deletionTimestamp": STAMP, "deletionGracePeriodSeconds": 30}
            self.put(ref.kind, ref.name, ref.namespace, meta={**held["metadata"], **stamps})
            answer: JSON = {"kind": "Status", "status": "Success"}
        elif ref.key in self.objects[ref.kind]:
            raise refused(409, "AlreadyExists", f"{ref} already exists")
        else:
            answer = self.put(ref.kind, ref.name, ref.namespace, **{**body, "meta": {}})
        return _lose(answer, is_lost)

    async def replace(self, ref: Ref, body: JSON, *, subresource: str = "") -> JSON:
        raise NotImplementedError

    async def patch(
        self,
        ref: Ref,
        body: Any,
        *,
        how: PatchType = "merge",
        subresource: str = "",
        dry_run: bool = False,
    ) -> JSON:
        assert how == "merge"
        assert not dry_run
        is_lost = await self._begin("patch", f"{ref} {subresource}".strip())
        given = body.get("metadata", {})
        held = self._held(ref, given.get("uid", ""), given.get("resourceVersion", ""))
        merged = _merge(held, body)
        merged["metadata"]["resourceVersion"] = held["metadata"]["resourceVersion"]
        if merged == held:
            return _lose(held, is_lost)
        meta = merged.pop("metadata")
        answer = self.put(ref.kind, ref.name, ref.namespace, **merged, meta=meta)
        if "deletionTimestamp" in meta and not meta.get("finalizers") and ref.kind != "Pod":
            answer = self.remove(ref.kind, ref.name, ref.namespace)
        return _lose(answer, is_lost)

    async def delete(self, ref: Ref, options: DeleteOptions = DeleteOptions()) -> JSON:
        is_lost = await self._begin("delete", str(ref))
        held = self._held(ref, options.uid, options.resource_version)
        if not held["metadata"].get("finalizers"):
            self.remove(ref.kind, ref.name, ref.namespace)
            return _lose({"kind": "Status", "metadata": {}, "status": "Success"}, is_lost)
        meta = {**held["metadata"], "deletionTimestamp": STAMP, "deletionGracePeriodSeconds": 0}
        return _lose(self.put(ref.kind, ref.name, ref.namespace, meta=meta), is_lost)

    async def _begin(self, verb: str, what: str) -> Any:
        self.calls.append((asyncio.get_running_loop().time(), verb, what))
        await asyncio.sleep(0)
        plan = self._plans[verb]
        match plan.popleft() if plan else None:
            case Slow(delay_s):
                await asyncio.sleep(delay_s)
            case Exception() as error:
                raise error
            case Cut() | Lost() | Late() as happening:
                return happening
            case None:
                pass
        return None

    def _find(self, ref: Ref) -> JSON:
        held = self.objects[ref.kind].get(ref.key)
        if held is None:
            details = {"name": ref.name, "kind": KINDS[ref.kind].plural}
            raise refused(404, "NotFound", f"{ref} not found", status={"details": details})
        return held

    def _held(self, ref: Ref, uid: str, version: str = "") -> JSON:
        held = self._find(ref)
        if uid not in {"", held["metadata"]["uid"]}:
            raise refused(409, "Conflict", f"uid of {ref} is {held['metadata']['uid']}")
        if version not in {"", held["metadata"]["resourceVersion"]}:
            raise refused(409, "Conflict", f"{ref} has been modified")
        return held

    def _event(self, resource: Resource[Any], event: WatchEvent[JSON]) -> WatchEvent[Any]:
        if not isinstance(event, Change):
            return event
        read = self._read(resource, event.object)
        if not isinstance(read, Broken):
            return Change(event.type, read)
        uid = "" if self.hides_uids else read.ref.uid
        ref = msgspec.structs.replace(read.ref, uid=uid)
        return Broken(ref, read.resource_version, read.problem, event.type == "DELETED")

    def _read(self, resource: Resource[Any], body: JSON) -> Any:
        meta = body["metadata"]
        if (resource.kind, (meta["namespace"], meta["name"])) in self.unreadable:
            ref = resource.ref(meta["name"], meta["namespace"], meta["uid"])
            return Broken(ref, meta["resourceVersion"], "odd")
        return msgspec.convert(body, resource.type)


def _matches(body: JSON, query: Query) -> bool:
    meta = body["metadata"]
    node = (body.get("spec") or {}).get("nodeName", "")
    is_named = query.fields in {"", f"metadata.name={meta['name']}", f"spec.nodeName={node}"}
    return is_named and query.namespace in {"", meta["namespace"]}


def _is_of(event: WatchEvent[JSON], query: Query) -> bool:
    return not isinstance(event, Change) or _matches(event.object, query)


def _lose(answer: JSON, happening: Any) -> JSON:
    if isinstance(happening, Lost):
        raise Unreachable("the connection broke")
    return answer


def _merge(old: Any, new: Any) -> Any:
    if not isinstance(new, dict):
        return new
    kept = dict(old) if isinstance(old, dict) else {}
    for name, value in new.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = _merge(kept.get(name), value)
    return kept
