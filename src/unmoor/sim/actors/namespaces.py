"""What becomes of a namespace that is deleted? It is emptied, and then let go.

As the real namespace controller: everything in it is deleted, pods with their grace period, and
what finalizers hold is waited for. When nothing is left, our own finalizer of it is taken off.

It does not say in the namespace's conditions what it waits for.

Must not: create anything, or force anything to go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from unmoor.model.base import Ref
from unmoor.model.kinds import KINDS, NAMESPACES, Resource
from unmoor.model.moment import Moment
from unmoor.runtime.ports import ApiError, DeleteOptions, Query
from unmoor.sim.actors.actor import NOT_FOUND, Actor, Key, Stage

LOOK_S = 1.0
"""How soon it is looked again whether what was deleted is gone."""
OWN = "kubernetes"
"""The finalizer that is ours to take off."""


def known_kinds() -> Iterable[Resource[Any]]:
    """The kinds of objects that are looked for when nobody says which there are."""
    return KINDS.values()


class Namespaces(Actor):
    """Empties namespaces that are being deleted."""

    kinds: ClassVar[tuple[str, ...]] = (NAMESPACES.kind,)

    def __init__(
        self, stage: Stage, served: Callable[[], Iterable[Resource[Any]]] = known_kinds
    ) -> None:
        """``served``: which kinds there are at the moment."""
        super().__init__(stage)
        self._served = served

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:  # noqa: ARG002
        """A namespace that is being deleted is emptied."""
        if new is not None and new.metadata.deletion_timestamp is not None:
            self.mark(new.key)

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Delete what is there; let the namespace go when nothing is."""
        namespace = self.store.get(NAMESPACES, key[1])
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return None
        if await self._empty(key[1]):
            return moment.mono + LOOK_S
        await self._release(key[1])
        return None

    async def _empty(self, namespace: str) -> bool:
        """Delete everything that is not on its way already; say whether anything was there."""
        is_there = False
        for resource in [one.raw() for one in self._served() if one.is_namespaced]:
            page = await self.api.list(resource, Query(namespace=namespace))
            for obj in page.items:
                is_there = True
                meta = obj["metadata"]
                if "deletionTimestamp" not in meta:
                    ref = resource.ref(meta["name"], namespace, meta["uid"])
                    await self._delete(ref)
        return is_there

    async def _delete(self, ref: Ref) -> None:
        options = DeleteOptions(uid=ref.uid, propagation="Background")
        try:
            await self.api.delete(ref, options)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise

    async def _release(self, name: str) -> None:
        ref = NAMESPACES.ref(name)
        try:
            latest = await self.api.get(ref)
            spec = latest.get("spec") or {}
            if OWN not in (spec.get("finalizers") or ()):
                return
            finalizers = [one for one in spec.get("finalizers") or () if one != OWN]
            body = {**latest, "spec": {**spec, "finalizers": finalizers}}
            await self.api.replace(ref, body, subresource="finalize")
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
