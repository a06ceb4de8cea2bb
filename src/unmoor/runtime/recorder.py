"""What people read in ``kubectl describe``: Kubernetes events, aggregated and never in the way.

The same words about the same object are one Event whose count grows ("x3 over 30m"), and so are,
beyond a few, other words for the same reason ("combined from similar events"), as the API's own
recorder does it: a drain that counts its pods down would say something new at each step. The
Event's name follows from what it says, so a restart, or another replica, goes on counting where the
last one stopped.

``publish`` takes an event and returns; ``run`` sends. Events are for people: whatever is too much,
too fast or refused is dropped and counted, and nothing ever waits or fails for the sake of one.

Must not: decide what is worth saying.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, OrderedDict, deque
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec
import structlog

from unmoor.lifecycle.effects import Publish
from unmoor.model.base import JSON, Ref
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import EVENTS, KINDS
from unmoor.model.moment import rfc3339
from unmoor.runtime.bucket import TokenBucket
from unmoor.runtime.ports import Api, ApiError, Clock, PortError

CLUSTER_SCOPED_NAMESPACE = "default"
"""Where events about objects without a namespace go; kubectl looks there."""
MESSAGE_LIMIT_CHARS = 1024
"""What the newer events API takes; longer ones are cut."""
COMBINED = "(combined from similar events)"
NAME_LIMIT_CHARS = 253
DIGEST_CHARS = 16
LOGGED_AGAIN_S = 60.0
"""Where no event arrives, the log names one this often, and counts the others."""

DropReason: TypeAlias = Literal["queue-full", "rate-limited", "refused", "failed"]

log = structlog.get_logger()


class EventLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is enough. Bucket and ``similar`` are those of the API's own recorder.

    ``similar_max``: so many messages for one reason about one object, with pauses of ``similar_s``
    at most, and what comes next is combined. ``objects_max`` and ``words_max``: of how many
    objects, and different events, we know how often we spoke; one event for each of 5,000 nodes and
    its Machine fits in several times.
    """

    queue_max: int = 1000
    object_burst: int = 25
    object_rate_per_s: float = 1 / 300
    similar_max: int = 9
    similar_s: float = 600.0
    objects_max: int = 20_000
    words_max: int = 40_000
    attempts_max: int = 3
    pause_s: float = 1.0
    pause_max_s: float = 30.0


class _Words(msgspec.Struct):
    """One Event: how often the server has it, and when we last took it."""

    event: Publish
    name: str
    is_combined: bool = False
    """Each time it may say something else."""
    count: int = 0
    last_taken: datetime | None = None


class _Similar(msgspec.Struct):
    """What was said of one object for one reason, and when last."""

    last: datetime
    messages: set[str] = msgspec.field(default_factory=set)


class EventRecorder:
    """Publishes events through ``api``, from ``component``; ``run`` must be running.

    ``dropped`` counts what was not sent, by reason; ``sent`` and ``repeated`` count the rest.
    """

    def __init__(
        self,
        api: Api,
        clock: Clock,
        *,
        component: str = "unmoor",
        instance: str = "",
        limits: EventLimits = EventLimits(),
    ) -> None:
        """``component``: what ``kubectl describe`` shows as From; ``instance``: this process."""
        self._api = api
        self._clock = clock
        self._component = component
        self._instance = instance
        self._limits = limits
        self._queue: deque[tuple[_Words, datetime]] = deque()
        self._words: OrderedDict[Publish, _Words] = OrderedDict()
        self._similar: OrderedDict[Publish, _Similar] = OrderedDict()
        self._buckets: OrderedDict[Ref, TokenBucket] = OrderedDict()
        self._wake = asyncio.Event()
        self._sending = asyncio.Lock()
        self._logged_at: float | None = None
        self._unlogged = 0
        self.sent = 0
        self.repeated = 0
        self.dropped: Counter[DropReason] = Counter()

    @property
    def pending(self) -> int:
        """Events that wait to be sent."""
        return len(self._queue)

    def publish(
        self, event: Publish, now: datetime, repeat_after_s: float = Cadence().event_dedupe_s
    ) -> None:
        """Take an event, unless the same was said less than ``repeat_after_s`` ago."""
        words = self._known(event, now)
        if words.last_taken is not None:
            elapsed_s = (now - words.last_taken).total_seconds()
            # A wall clock that went back says nothing about how long ago that was.
            if 0 <= elapsed_s < repeat_after_s:
                self.repeated += 1
                return
        if len(self._queue) >= self._limits.queue_max:
            self.dropped["queue-full"] += 1
            return
        if not self._bucket(event.regarding).try_take(now.timestamp()):
            self.dropped["rate-limited"] += 1
            return
        words.last_taken = now
        self._queue.append((words, now))
        self._wake.set()

    async def run(self) -> None:
        """Send what was published, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.flush()

    async def flush(self) -> None:
        """Send what has been published so far; for the end of a command."""
        async with self._sending:
            while self._queue:
                await self._deliver(*self._queue.popleft())

    # -------------------------------------------------------------------------------- memory

    def _known(self, event: Publish, now: datetime) -> _Words:
        # The reason for an effect does not make it another event.
        key = Publish(
            regarding=event.regarding,
            reason=event.reason,
            message=event.message,
            is_warning=event.is_warning,
        )
        is_combined = self._is_one_of_many(key, now)
        about = msgspec.structs.replace(key, message=COMBINED) if is_combined else key
        words = self._words.get(about)
        if words is None:
            words = _Words(about, _event_name(about, self._component), is_combined)
            self._words[about] = words
            _forget_oldest(self._words, self._limits.words_max)
        self._words.move_to_end(about)
        if is_combined:
            said = f"{COMBINED}: {event.message}"
            words.event = msgspec.structs.replace(about, message=said)
        return words

    def _is_one_of_many(self, event: Publish, now: datetime) -> bool:
        """True when much else was said for this reason; what was said before goes on by itself."""
        about = msgspec.structs.replace(event, message="")
        similar = self._similar.get(about)
        if similar is None or (now - similar.last).total_seconds() > self._limits.similar_s:
            similar = self._similar[about] = _Similar(now)
            _forget_oldest(self._similar, self._limits.objects_max)
        self._similar.move_to_end(about)
        similar.last = now
        if event.message in similar.messages:
            return False
        if len(similar.messages) >= self._limits.similar_max:
            return True
        similar.messages.add(event.message)
        return False

    def _bucket(self, ref: Ref) -> TokenBucket:
        bucket = self._buckets.get(ref)
        if bucket is None:
            limits = self._limits
            bucket = TokenBucket(limits.object_rate_per_s, limits.object_burst)
            self._buckets[ref] = bucket
            _forget_oldest(self._buckets, limits.objects_max)
        self._buckets.move_to_end(ref)
        return bucket

    # ------------------------------------------------------------------------------- sending

    async def _deliver(self, words: _Words, now: datetime) -> None:
        pause_s = self._limits.pause_s
        for attempt in range(1, self._limits.attempts_max + 1):
            try:
                await self._send(words, now)
            except PortError as error:
                if _is_final(error) or attempt == self._limits.attempts_max:
                    self._give_up(words, error)
                    return
                asked_s = error.retry_after_s if isinstance(error, ApiError) else None
                wait_s = asked_s if asked_s is not None else pause_s
                await self._clock.sleep(min(wait_s, self._limits.pause_max_s))
                pause_s *= 2
            else:
                self.sent += 1
                return

    def _give_up(self, words: _Words, error: PortError) -> None:
        self.dropped["refused" if _is_final(error) else "failed"] += 1
        words.last_taken = None  # nobody heard it, so it may be said again at once
        now_s = self._clock.now().mono
        if self._logged_at is not None and now_s < self._logged_at + LOGGED_AGAIN_S:
            self._unlogged += 1
            return
        others, self._unlogged, self._logged_at = self._unlogged, 0, now_s
        log.warning(
            "event not sent",
            regarding=str(words.event.regarding),
            reason=words.event.reason,
            error=str(error),
            others=others,
        )

    async def _send(self, words: _Words, now: datetime) -> None:
        if words.count:
            try:
                await self._count(words, now)
            except ApiError as error:
                if error.reason != "NotFound":
                    raise
                words.count = 0  # the server keeps events for an hour
            else:
                return
        ref = self._ref(words)
        try:
            await self._api.create(ref, self._body(words, now))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            count = (await self._api.get(ref)).get("count")
            words.count = count if isinstance(count, int) and count > 0 else 1
            await self._count(words, now)
        else:
            words.count = 1

    async def _count(self, words: _Words, now: datetime) -> None:
        body: JSON = {"count": words.count + 1, "lastTimestamp": rfc3339(now)}
        if words.is_combined:
            body["message"] = _cut(words.event.message)
        await self._api.patch(self._ref(words), body)
        words.count += 1

    def _ref(self, words: _Words) -> Ref:
        namespace = words.event.regarding.namespace or CLUSTER_SCOPED_NAMESPACE
        return EVENTS.ref(words.name, namespace)

    def _body(self, words: _Words, now: datetime) -> JSON:
        event, ref = words.event, self._ref(words)
        regarding: dict[str, Any] = {
            "kind": event.regarding.kind,
            "apiVersion": KINDS[event.regarding.kind].api_version,
            "namespace": event.regarding.namespace,
            "name": event.regarding.name,
            "uid": event.regarding.uid,
        }
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": ref.name, "namespace": ref.namespace},
            "involvedObject": {field: value for field, value in regarding.items() if value},
            "type": "Warning" if event.is_warning else "Normal",
            "reason": event.reason,
            "message": _cut(event.message),
            "count": 1,
            "firstTimestamp": rfc3339(now),
            "lastTimestamp": rfc3339(now),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }


def _forget_oldest(known: OrderedDict[Any, Any], most: int) -> None:
    if len(known) > most:
        known.popitem(last=False)


def _is_final(error: PortError) -> bool:
    """Trying again would bring the same answer: no rights, no such namespace, not valid."""
    if not isinstance(error, ApiError):
        return False
    return 400 <= error.code < 500 and error.code not in {408, 409, 429}  # noqa: PLR2004


def _event_name(event: Publish, component: str) -> str:
    """A name that follows from what is said about whom, valid whatever the object is called."""
    ref = event.regarding
    kind = "Warning" if event.is_warning else "Normal"
    said = (
        component,
        ref.kind,
        ref.namespace,
        ref.name,
        ref.uid,
        kind,
        event.reason,
        event.message,
    )
    digest = hashlib.sha256("\0".join(said).encode(errors="replace")).hexdigest()[:DIGEST_CHARS]
    room = NAME_LIMIT_CHARS - DIGEST_CHARS - 1
    return f"{ref.name[:room].rstrip('.-')}.{digest}"


def _cut(message: str) -> str:
    if len(message) <= MESSAGE_LIMIT_CHARS:
        return message
    return message[: MESSAGE_LIMIT_CHARS - 3] + "..."
