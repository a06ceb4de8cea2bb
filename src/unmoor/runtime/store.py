"""The live view: what the watches have brought and what our own writes have answered.

A store is the informers' sink and the interpreter's notebook. Whatever reaches it twice or late is
recognised by uid and resourceVersion (whole numbers that grow, as the API has promised since 1.35),
so that a watch event older than our own write never undoes it ("read your own writes").

A complete list ends all doubt. Whatever was known before it was asked for gives way to it, even
what has a higher version: a server that was restored from a backup has gone back in time, and what
somebody on the way made up must not stay. Only our own writes and reads meanwhile may be newer.

Must not: decide, or ask anybody anything.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from unmoor.model.base import JSON, Key, Object, without_nulls
from unmoor.model.kinds import KINDS, PODS, Resource
from unmoor.model.observation import Answer, Asked
from unmoor.model.settings import Settings
from unmoor.model.snapshot import Identity, Unreadable, View
from unmoor.runtime.broken import broken_of
from unmoor.runtime.ports import Broken, Page

ANSWERS_KEPT = 20_000
"""Answers of one sort beyond this are forgotten, oldest first: they are droppable."""
TOMBSTONES_KEPT = 20_000
"""How many deleted uids are remembered, so that a late event cannot bring one back."""
TURN, LOOKS = 250, 10_000
"""How many objects of a list are taken, or looked for, at a time: a few milliseconds' work."""

Listener = Callable[[str, Any | None, Any | None], None]
"""Called with (kind, the object as it was, the object as it is) after every change."""


def version_of(obj: Object) -> int:
    """The resourceVersion as the number it is; 0 when it is missing or foreign."""
    return _number(obj.metadata.resource_version)


class Store(View):
    """A view that changes. Only informers, the interpreter and the loop write to it."""

    def __init__(self, settings: Settings = Settings(), identity: Identity = Identity()) -> None:
        """Start empty."""
        super().__init__(settings, identity)
        self._listeners: list[Listener] = []
        self._gone: OrderedDict[str, float] = OrderedDict()
        self._broken_at: dict[str, dict[Key, float]] = {kind: {} for kind in KINDS}
        self._news: dict[str, set[Key | str]] = {}
        """What we have learned ourselves while a list of the kind is under way: keys and uids."""
        self._listed: dict[str, set[Key]] = {}
        """Of which objects the list that is being taken has had its say."""

    def subscribe(self, listener: Listener) -> None:
        """Be told of every change, in the order of subscription."""
        self._listeners.append(listener)

    # The informers' side.

    def begin(self, resource: Resource[Any]) -> None:
        """A list is asked for: what it will say is newer than all that is known by now."""
        self._news[resource.kind] = set()
        self._listed.pop(resource.kind, None)

    def replacing(
        self,
        resource: Resource[Any],
        objects: Sequence[Any],
        version: str,
        broken: Sequence[Broken] = (),
    ) -> Iterator[None]:
        """Take a complete list as of ``version``; what is not in it and not newer is gone.

        It is taken little by little, so that whoever drives it can let others have a turn. What
        they see meanwhile is a mixture, as when watches bring the same changes one by one.
        """
        kind = resource.kind
        as_of = _number(version) or math.inf
        self._take_broken(resource, broken, as_of)
        listed = self._listed[kind] = {one.ref.key for one in broken}
        for count, obj in enumerate(objects, start=1):
            key = obj.key
            if self._is_settled(kind, key, obj.uid):
                self._take_settled(kind, key, obj)
            else:
                self.put(resource, obj)
            listed.add(key)
            if count % TURN == 0:
                yield
        yield from self._remove_unlisted(kind, listed, as_of)
        self._news.pop(kind, None)
        del self._listed[kind]

    def _take_broken(self, resource: Resource[Any], broken: Sequence[Broken], as_of: float) -> None:
        kind = resource.kind
        marks = {one.ref.key: one for one in broken}
        for key in sorted(self._broken[kind].keys() - marks.keys()):
            if self._broken_at[kind][key] <= as_of or self._is_settled(kind, key):
                self._unmark(kind, key)
        for key, one in marks.items():
            if self._is_settled(kind, key, one.ref.uid):
                self._mark(kind, one)
            else:
                self.mark_broken(resource, one)

    def _remove_unlisted(self, kind: str, listed: set[Key], as_of: float) -> Iterator[None]:
        held = self._objects[kind]
        unlisted = []
        for count, key in enumerate(list(held), start=1):
            if key not in listed:
                unlisted.append(key)
            if count % LOOKS == 0:
                yield
        for count, key in enumerate(sorted(unlisted), start=1):
            old = held.get(key)
            if old is not None and self._is_older(kind, old, as_of):
                self._remove(kind, old, as_of)
                listed.add(key)
            if count % TURN == 0:
                yield

    def put(self, resource: Resource[Any], obj: Any) -> None:
        """Take one object, unless we know a newer state of it or that it is gone."""
        kind, key = resource.kind, obj.key
        old = self._objects[kind].get(key)
        version = version_of(obj) or math.inf
        if not self._knows_better(obj.metadata.uid, version, old):
            self._take(kind, key, old, obj, version)

    def _take_settled(self, kind: str, key: Key, obj: Any) -> None:
        """Take one object as it is on the server, whatever we know, unless we know just that.

        A restored server counts from where the backup was, so one version may have two contents.
        """
        old = self._objects[kind].get(key)
        if old is not None and old == obj:
            self._gone.pop(obj.uid, None)
        else:
            self._take(kind, key, old, obj, version_of(obj) or math.inf)

    def _take(self, kind: str, key: Key, old: Any | None, obj: Any, version: float) -> None:
        """Have one object in place of what was there."""
        uid = obj.metadata.uid
        self._gone.pop(uid, None)
        if old is not None and old.metadata.uid != uid:
            # The name has a new bearer, so whoever bore it is gone, even if nobody told us.
            self._remove(kind, old, math.inf)
            old = None
        if self._broken_at[kind].get(key, math.inf) <= version:
            self._unmark(kind, key)
        self._hold(kind, key, old, obj)
        self._tell(kind, old, obj)

    def drop(self, resource: Resource[Any], obj: Any) -> None:
        """Take an object's deletion; a successor of the same name stays."""
        self._drop_known(resource.kind, obj.key, obj.uid, version_of(obj) or math.inf)

    def mark_broken(self, resource: Resource[Any], broken: Broken) -> None:
        """Remember that an object cannot be read. What it last said, if anything, stays.

        To forget it would be worse: an instance whose Machine is unreadable is not an orphan. Only
        its deletion, told with its uid, ends it.
        """
        kind, ref = resource.kind, broken.ref
        version = _number(broken.resource_version) or math.inf
        if broken.is_deleted and ref.uid:
            self._drop_known(kind, ref.key, ref.uid, version)
            return
        if not self._knows_better(ref.uid, version, self._objects[kind].get(ref.key)):
            self._mark(kind, broken)

    def _mark(self, kind: str, broken: Broken) -> None:
        """Take it for broken as it is on the server."""
        ref, version = broken.ref, _number(broken.resource_version) or math.inf
        held = self._objects[kind].get(ref.key)
        self._gone.pop(ref.uid, None)
        if held is not None and held.uid == ref.uid and version_of(held) == version:
            return
        if held is not None and ref.uid not in {"", held.uid}:
            self._remove(kind, held, math.inf)
            held = None
        self._broken_at[kind][ref.key] = version
        unreadable = Unreadable(broken.problem, broken.node)
        if self._broken[kind].get(ref.key) == unreadable:
            return
        self._broken[kind][ref.key] = unreadable
        self.version += 1
        if held is not None:
            self._tell(kind, held, held)

    # The interpreter's side.

    def fold(self, kind: str, body: JSON) -> None:
        """Take what the server answered to a write or a live read."""
        resource = KINDS[kind]
        try:
            obj = _converted(body, resource.type)
        except msgspec.ValidationError as error:
            broken = broken_of(kind, body, error)
            self._note_news(kind, broken.ref.key, broken.ref.uid)
            self.mark_broken(resource, broken)
            return
        is_first = self._is_settled(kind, obj.key, obj.uid)
        self._note_news(kind, obj.key, obj.uid)
        if is_first:
            # What we held gives way to the list that is under way; so it does to this.
            self._take_settled(kind, obj.key, obj)
        else:
            self.put(resource, obj)
        meta = obj.metadata
        # A pod has its grace to live out; anything else without finalizers is gone at once, and
        # the answer shows its last state.
        has_grace = kind == "Pod" and meta.deletion_grace_period_seconds != 0
        if meta.is_deleting and not meta.finalizers and not has_grace and kind != "Namespace":
            self.forget(kind, obj.key, obj.uid)

    def fold_pods(self, node: str, page: Page[Any]) -> None:
        """Take the server's own list of a node's pods: those of us who are not in it are gone.

        The server has looked at ``spec.nodeName``, so whatever is in it is there, readable or not.
        """
        as_of = _number(page.resource_version) or math.inf
        there = tuple(msgspec.structs.replace(one, node=node) for one in page.broken)
        self.fold_listed(PODS, msgspec.structs.replace(page, broken=there))
        listed = {one.ref.key for one in page.broken} | {pod.key for pod in page.items}
        for pod in self.pods_on(node):
            if pod.key not in listed and version_of(pod) <= as_of:
                self.forget("Pod", pod.key, pod.uid)
        for key, _ in self.unreadable_pods_on(node):
            if key not in listed and self._broken_at["Pod"][key] <= as_of:
                self._note_news("Pod", key, "")
                self._unmark("Pod", key)

    def fold_listed(self, resource: Resource[Any], page: Page[Any]) -> None:
        """Take a page of the server's own list. Of what is not in it it says nothing here."""
        for one in page.broken:
            self._note_news(resource.kind, one.ref.key, one.ref.uid)
            self.mark_broken(resource, one)
        for obj in page.items:
            self._note_news(resource.kind, obj.key, obj.uid)
            self.put(resource, obj)

    def forget(self, kind: str, key: Key, uid: str) -> None:
        """Take the server's word that the object with this uid is not there any more.

        Without a uid nothing is forgotten: whoever bears the name may have come since it was asked.
        """
        held = self._objects[kind].get(key)
        self._note_news(kind, key, uid)
        if held is not None and held.uid == uid:
            self._remove(kind, held, math.inf)
        else:
            self._bury(uid, math.inf)

    def record(self, asked: Asked, subject: str, answer: Answer[Any]) -> None:
        """Keep the latest answer to a question."""
        known = self._answers[asked]
        known.pop(subject, None)
        known[subject] = answer
        while len(known) > ANSWERS_KEPT:
            del known[next(iter(known))]

    def forget_answers(self) -> None:
        """Lose all answers: allowed at any moment, they are memory of the droppable kind."""
        self._answers.clear()

    def configure(self, settings: Settings) -> None:
        """Take new settings; every key may look at them at its next step."""
        self.settings = settings
        self.version += 1

    def _note_news(self, kind: str, key: Key, uid: str) -> None:
        if (news := self._news.get(kind)) is not None:
            news.update((key, uid) if uid else (key,))

    def _is_settled(self, kind: str, key: Key, uid: str = "") -> bool:
        """A list that is being taken knows more of this object than we do."""
        news = self._news.get(kind)
        if news is None or key in news or uid in news:
            return False
        return key not in self._listed.get(kind, ())

    def _is_older(self, kind: str, held: Any, as_of: float) -> bool:
        """A list as of this version would have shown it."""
        return version_of(held) <= as_of or self._is_settled(kind, held.key, held.uid)

    def _knows_better(self, uid: str, version: float, held: Any | None) -> bool:
        """What is told of an object is older than what is known."""
        if version <= self._gone.get(uid, -1):
            return True
        return held is not None and version <= version_of(held)

    def _drop_known(self, kind: str, key: Key, uid: str, version: float) -> None:
        if self._broken_at[kind].get(key, math.inf) <= version:
            self._unmark(kind, key)
        held = self._objects[kind].get(key)
        if held is None or held.uid != uid:
            self._bury(uid, version)
        elif version_of(held) <= version:
            self._remove(kind, held, version)

    def _remove(self, kind: str, held: Any, version: float) -> None:
        self._bury(held.uid, version)
        self._unmark(kind, held.key)
        self._drop(kind, held.key)
        self._tell(kind, held, None)

    def _bury(self, uid: str, version: float) -> None:
        """Let nothing about this uid up to this version bring it back.

        What is newer may: a watch that is narrowed by a selector tells of an object that leaves the
        selection as if it were deleted.
        """
        if not uid:
            return
        self._gone[uid] = max(version, self._gone.pop(uid, version))
        while len(self._gone) > TOMBSTONES_KEPT:
            self._gone.popitem(last=False)

    def _unmark(self, kind: str, key: Key) -> None:
        self._broken_at[kind].pop(key, None)
        if self._broken[kind].pop(key, None) is not None:
            self.version += 1

    def _tell(self, kind: str, old: Any | None, new: Any | None) -> None:
        for listener in self._listeners:
            listener(kind, old, new)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _converted(body: JSON, wanted: type[Any]) -> Any:
    """Nulls are rare, so they are looked for only when something does not fit."""
    try:
        return msgspec.convert(body, wanted)
    except msgspec.ValidationError:
        return msgspec.convert(without_nulls(body), wanted)
