"""The live view: what the watches have brought and what our own writes have answered.

A store is the informers' sink and the interpreter's notebook. Whatever reaches it twice or late is
recognised by uid and resourceVersion (whole numbers that grow, as the API has promised since 1.35),
so that a watch event older than our own write never undoes it ("read your own writes").

Must not: decide, or ask anybody anything.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from unmoor.model.base import JSON, Key, Object
from unmoor.model.kinds import KINDS, Resource
from unmoor.model.observation import Answer, Asked
from unmoor.model.settings import Settings
from unmoor.model.snapshot import Identity, View
from unmoor.runtime.ports import Broken

ANSWERS_KEPT = 20_000
"""Answers beyond this are forgotten, oldest first: they are droppable."""
TOMBSTONES_KEPT = 20_000
"""How many deleted uids are remembered, so that a late event cannot bring one back."""

Listener = Callable[[str, Any | None, Any | None], None]
"""Called with (kind, the object as it was, the object as it is) after every change."""


def version_of(obj: Object) -> int:
    """The resourceVersion as the number it is; 0 when it is missing or foreign."""
    text = obj.metadata.resource_version
    return int(text) if text.isdigit() else 0


class Store(View):
    """A view that changes. Only informers, the interpreter and the loop write to it."""

    def __init__(self, settings: Settings = Settings(), identity: Identity = Identity()) -> None:
        """Start empty."""
        super().__init__(settings, identity)
        self._listeners: list[Listener] = []
        self._gone: OrderedDict[str, None] = OrderedDict()

    def subscribe(self, listener: Listener) -> None:
        """Be told of every change, in the order of subscription."""
        self._listeners.append(listener)

    # The informers' side.

    def replace(
        self,
        resource: Resource[Any],
        objects: Iterable[Any],
        version: str,
        broken: Iterable[Broken] = (),
    ) -> None:
        """Take a complete list as of ``version``; what is not in it and not newer is gone."""
        self._broken[resource.kind].clear()
        listed: set[Key] = set()
        for one in broken:
            listed.add(one.ref.key)
            self.mark_broken(resource, one)
        for obj in objects:
            listed.add(obj.key)
            self.put(resource, obj)
        as_of = int(version) if version.isdigit() else 0
        held = self._objects[resource.kind]
        for key in sorted(key for key in held if key not in listed):
            if version_of(held[key]) <= as_of or as_of == 0:
                self.drop(resource, held[key])

    def put(self, resource: Resource[Any], obj: Any) -> None:
        """Take one object, unless we know a newer state of it or that it is gone."""
        old = self._objects[resource.kind].get(obj.key)
        if obj.uid in self._gone:
            return
        if old is not None and version_of(obj) <= version_of(old) and version_of(obj) > 0:
            return
        self._broken[resource.kind].pop(obj.key, None)
        self._put(obj)
        self._tell(resource.kind, old, obj)

    def drop(self, resource: Resource[Any], obj: Any) -> None:
        """Take an object's deletion; a successor of the same name stays."""
        held = self._objects[resource.kind].get(obj.key)
        self._bury(obj.uid)
        self._broken[resource.kind].pop(obj.key, None)
        if held is None or held.uid != obj.uid:
            return
        self._drop(resource.kind, obj.key)
        self._tell(resource.kind, held, None)

    def mark_broken(self, resource: Resource[Any], broken: Broken) -> None:
        """Remember that an object cannot be read. What it last said, if anything, stays.

        To forget it would be worse: an instance whose Machine is unreadable is not an orphan.
        """
        self._broken[resource.kind][broken.ref.key] = broken.problem
        held = self._objects[resource.kind].get(broken.ref.key)
        self._note_change(broken.ref)
        self._tell(resource.kind, held, held)

    # The interpreter's side.

    def fold(self, kind: str, body: JSON) -> None:
        """Take what the server answered to a write or a live read."""
        resource = KINDS[kind]
        try:
            obj = msgspec.convert(body, resource.type, strict=False)
        except msgspec.ValidationError:
            return
        meta = obj.metadata
        self.put(resource, obj)
        is_gone = meta.is_deleting and not meta.finalizers
        if is_gone and kind not in {"Pod", "Namespace"}:
            # The answer to a deletion that took effect at once shows the object's last state.
            self.drop(resource, obj)

    def forget(self, kind: str, key: Key, uid: str) -> None:
        """Take the server's word that an object with this uid is not there (404)."""
        held = self._objects[kind].get(key)
        if held is not None and uid in {"", held.uid}:
            self.drop(KINDS[kind], held)

    def record(self, asked: Asked, subject: str, answer: Answer[Any]) -> None:
        """Keep the latest answer to a question."""
        self._answers.pop((asked, subject), None)
        self._answers[(asked, subject)] = answer
        while len(self._answers) > ANSWERS_KEPT:
            del self._answers[next(iter(self._answers))]

    def forget_answers(self) -> None:
        """Lose all answers: allowed at any moment, they are memory of the droppable kind."""
        self._answers.clear()

    def configure(self, settings: Settings) -> None:
        """Take new settings; every key may look at them at its next step."""
        self.settings = settings
        self.version += 1

    def _bury(self, uid: str) -> None:
        if not uid:
            return
        self._gone[uid] = None
        while len(self._gone) > TOMBSTONES_KEPT:
            self._gone.popitem(last=False)

    def _tell(self, kind: str, old: Any | None, new: Any | None) -> None:
        for listener in self._listeners:
            listener(kind, old, new)
