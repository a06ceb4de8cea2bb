"""The loop: key -> view -> step -> effects -> wake.

One dispatcher for each row of the table. It takes a ready key, one moment and the live view, calls
the step, hands the effects to the interpreter and looks at the key again when the step said so or
something changed. A step that raises is a bug of ours: its story is kept and told, the key is tried
again later, and all other keys go on. Between two steps everything else gets its turn, so that
leases, probes and watches never wait for more than one of them.

Must not: know what any step decides, or read a clock more than once for a step.
"""

from __future__ import annotations

import asyncio
import math
import traceback
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from unmoor.lifecycle.effects import Create, Evict, Launch, Observe, Publish, Terminate
from unmoor.lifecycle.step import Step
from unmoor.model.kinds import KINDS, ref_of
from unmoor.model.moment import Moment, earliest
from unmoor.model.observation import ProblemKind
from unmoor.runtime.interpreter import Interpreter, MayAct
from unmoor.runtime.ports import Clock, Executor
from unmoor.runtime.queue import WorkQueue
from unmoor.runtime.reconciler import ONE, Key, Reconciler, Where, either
from unmoor.runtime.store import Store
from unmoor.runtime.story import Observer, Outcome, Record

CONCURRENT_KEYS_MAX = 100
"""Keys of one row whose effects are in flight at once (spec 5.1: up to 100 nodes)."""
MEMORIES_KEPT = 50_000
"""Memories of one row; those that were not touched for longest are dropped first."""
KNOWN_KEYS_FOR_S = 600.0
"""A key of which no object speaks any more is not stepped on its row's cadence after this long."""
LOOKS = 500
"""Objects whose keys are taken at a time when all are to be looked at: a millisecond's work."""
NOT_LEADING_POLL_S = 10.0
"""How often a row asks whether it may act again; it is told besides."""


class InlineExecutor:
    """Runs a pass where it stands; ``delay`` is waited before the result is delivered."""

    def __init__(self, delay: Callable[[], Awaitable[None]] | None = None) -> None:
        """Without ``delay``, the result is there at once."""
        self._delay = delay

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run and deliver."""
        result = work()
        if self._delay is not None:
            await self._delay()
        return result


class Loop:
    """Runs rows until cancelled."""

    def __init__(
        self,
        store: Store,
        interpreter: Interpreter,
        clock: Clock,
        *,
        executor: Executor,
        observers: Sequence[Observer] = (),
        may_act: MayAct = lambda: True,
    ) -> None:
        """Hold what every row shares."""
        self.store = store
        self.interpreter = interpreter
        self.clock = clock
        self.executor = executor
        self.may_act = may_act
        self._observers = tuple(observers)
        self._rows: list[_Row] = []
        self._rows_of: dict[str, list[_Row]] = {}
        self.held_back = 0
        """Rows that may not go on, though keys may be ready."""

    async def run(self, reconcilers: Sequence[Reconciler]) -> None:
        """Run these rows until cancelled. The store should be synced before."""
        self._rows = [_Row(self, reconciler) for reconciler in reconcilers]
        for row in self._rows:
            for kind in row.wakes:
                self._rows_of.setdefault(kind, []).append(row)
        self.store.subscribe(self._wake)
        for row in self._rows:
            row.begin()
        async with asyncio.TaskGroup() as tasks:
            for row in self._rows:
                tasks.create_task(row.run(tasks), name=row.reconciler.name)

    def wake_all(self) -> None:
        """Step everything once more: after a change of leadership or of the settings."""
        for row in self._rows:
            row.begin()

    def lead(self) -> None:
        """Begin to act: what was remembered from an earlier time of leading is no longer true."""
        self.forget()
        self.wake_all()

    def forget(self) -> None:
        """Lose all memory. Allowed at any moment; may cost time, never correctness."""
        for row in self._rows:
            row.memories.clear()
        self.store.forget_answers()

    @property
    def is_idle(self) -> bool:
        """Nothing is ready and nothing is being stepped."""
        return all(row.is_idle for row in self._rows)

    def record(self, record: Record) -> None:
        """Hand a record to every observer."""
        crashes: list[tuple[Observer, str]] = []
        for observer in self._observers:
            try:
                observer(record)
            except Exception:  # noqa: BLE001 - ours: what tells must not stop what acts
                crashes.append((observer, traceback.format_exc()))
        for crashed, crash in crashes:
            bare = msgspec.structs.replace(record, step=Step(), outcomes=(), crash=crash)
            for observer in self._observers:
                if observer is not crashed:
                    with suppress(Exception):
                        observer(bare)

    def _wake(self, kind: str, old: Any | None, new: Any | None) -> None:
        # A row that is held back looks again at any change whether it may go on.
        for row in self._rows if self.held_back else self._rows_of.get(kind, ()):
            row.wake(kind, old, new)


class _Row:
    """One reconciler at work: its queue, its memories, its keys in flight."""

    def __init__(self, loop: Loop, reconciler: Reconciler) -> None:
        self.reconciler = reconciler
        self.queue = WorkQueue()
        self.memories: OrderedDict[Key, Any] = OrderedDict()
        self._loop = loop
        self.wakes: dict[str, list[Callable[..., Any]]] = {}
        for wake in reconciler.wakes:
            self.wakes.setdefault(wake.kind, []).append(wake.keys)
        self._ready = asyncio.Event()
        self._in_flight = 0
        self._known: set[Key] = set()
        self._known_until = -math.inf
        self._unseen: Iterator[int] | None = None

    @property
    def is_idle(self) -> bool:
        """Nothing is ready, being stepped, or still to be looked at."""
        return self.queue.is_idle and self._unseen is None

    def begin(self) -> None:
        """Look at every key there is: some now, and the others bit by bit."""
        if self.reconciler.is_single:
            self.queue.add(ONE)
        self._unseen = self._looking()
        self._look()
        self._ready.set()

    def _look(self) -> None:
        """Take the keys of some more objects."""
        if self._unseen is not None and next(self._unseen, None) is None:
            self._unseen = None

    def _looking(self) -> Iterator[int]:
        count = 0
        for kind in sorted({wake.kind for wake in self.reconciler.wakes if wake.at_start}):
            for obj in self._loop.store.sorted(KINDS[kind]):
                for key in self._keys_of(kind, None, obj):
                    self.queue.add(key)
                count += 1
                if count % LOOKS == 0:
                    yield count

    def wake(self, kind: str, old: Any | None, new: Any | None) -> None:
        """Something changed; which of our keys does it concern?"""
        for key in self._keys_of(kind, old, new):
            self.queue.add(key)
            if new is not None and self.reconciler.every_s is not None:
                self._known.add(key)
        if len(self.queue):
            self._ready.set()

    def _keys_of(self, kind: str, old: Any | None, new: Any | None) -> list[Key]:
        found: list[Key] = []
        for keys in self.wakes.get(kind, ()):
            try:
                found += keys(self._loop.store, old, new)
            except Exception:  # noqa: BLE001 - ours: one odd object must not blind us to the rest
                subject = str(ref_of(either(old, new)))
                self._tell_crash(subject, self._loop.clock.now(), traceback.format_exc())
        return found

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Step ready keys for ever."""
        clock = self._loop.clock
        while True:
            # Whatever happens from here on until we wait, sets it again.
            self._ready.clear()
            if not self._loop.may_act():
                await self._hold_back(clock.now().mono + NOT_LEADING_POLL_S)
                continue
            if self._in_flight >= CONCURRENT_KEYS_MAX:
                await self._hold_back(None)
                continue
            self._look()
            key = self.queue.take(clock.now().mono)
            if key is None and self._unseen is not None:
                await asyncio.sleep(0)
                continue
            if key is None:
                await self._rest(self.queue.next_at())
                continue
            self._in_flight += 1
            if self.reconciler.where is Where.WORKER:
                tasks.create_task(self._pass(key), name=f"{self.reconciler.name} {key}")
            else:
                self._step(key, tasks)
            # A step without effects awaits nothing; the others on the event loop get their turn.
            await asyncio.sleep(0)

    async def _hold_back(self, until: float | None) -> None:
        self._loop.held_back += 1
        try:
            await self._rest(until)
        finally:
            self._loop.held_back -= 1

    async def _rest(self, until: float | None) -> None:
        """Wait for a change or a time; None waits for a change alone."""
        if until is None:
            await self._ready.wait()
            return
        timer = asyncio.get_running_loop().call_at(until, self._ready.set)
        try:
            await self._ready.wait()
        finally:
            timer.cancel()

    def _step(self, key: Key, tasks: asyncio.TaskGroup) -> None:
        """Decide on the live view, without yielding; act in a task of its own."""
        moment = self._loop.clock.now()
        version = self._loop.store.version
        try:
            step = self.reconciler.step(self._loop.store, key, self.memories.get(key), moment)
        except Exception:  # noqa: BLE001 - ours: the step crashes, the story is kept, others go on
            self._crashed(key, moment, traceback.format_exc())
            return
        if step.effects:
            tasks.create_task(
                self._act(key, moment, version, step), name=f"{self.reconciler.name} {key}"
            )
        else:
            self._finish(key, Record(self.reconciler.name, key, moment, version, step))

    async def _pass(self, key: Key) -> None:
        """Decide on a frozen view, off the loop."""
        moment = self._loop.clock.now()
        view = self._loop.store.freeze()
        memory = self.memories.get(key)
        try:
            step = await self._loop.executor.run(
                lambda: self.reconciler.step(view, key, memory, moment)
            )
        except Exception:  # noqa: BLE001 - as above
            self._crashed(key, moment, traceback.format_exc())
            return
        await self._act(key, moment, view.version, step)

    async def _act(self, key: Key, moment: Moment, version: int, step: Step[Any]) -> None:
        outcomes: tuple[Outcome, ...] = ()
        if step.effects:
            outcomes = await self._loop.interpreter.execute(step.effects, self._loop.may_act)
        crash = "\n".join(outcome.crash for outcome in outcomes if outcome.crash)
        name = self.reconciler.name
        self._finish(key, Record(name, key, moment, version, step, outcomes, crash))

    def _finish(self, key: Key, record: Record) -> None:
        """Remember, tell, and say when to look at the key again."""
        self._remember(key, None if record.crash else record.step.memory)
        self._loop.record(record)
        now = self._loop.clock.now().mono
        problems = [o.problem for o in record.outcomes if o.problem is not None and _has_failed(o)]
        if problems or record.crash:
            self.queue.failed(key, now, max((p.retry_after_s or 0.0 for p in problems), default=0))
        else:
            self.queue.done(key, earliest(record.step.wake_at, self._cadence(key, now)))
            if any(_is_question(outcome) for outcome in record.outcomes):
                self.queue.add(key)
        self._in_flight -= 1
        self._ready.set()

    def _crashed(self, key: Key, moment: Moment, crash: str) -> None:
        version = self._loop.store.version
        self._finish(key, Record(self.reconciler.name, key, moment, version, Step(), crash=crash))

    def _tell_crash(self, subject: Key, moment: Moment, crash: str) -> None:
        version = self._loop.store.version
        self._loop.record(
            Record(self.reconciler.name, subject, moment, version, Step(), crash=crash)
        )

    def _remember(self, key: Key, memory: Any | None) -> None:
        self.memories.pop(key, None)
        if memory is not None:
            self.memories[key] = memory
            if len(self.memories) > MEMORIES_KEPT:
                self.memories.popitem(last=False)

    def _cadence(self, key: Key, now: float) -> float | None:
        """When the row's own cadence steps the key again: never, if no object speaks of it."""
        every = self.reconciler.every_s
        if every is None:
            return None
        if not self.reconciler.is_single:
            if now >= self._known_until:
                self._known = self._spoken_of()
                self._known_until = now + KNOWN_KEYS_FOR_S
            if key not in self._known:
                return None
        return now + every(self._loop.store)

    def _spoken_of(self) -> set[Key]:
        """The keys that the present objects speak of."""
        known: set[Key] = set()
        for kind in self.wakes:
            for obj in self._loop.store.all(KINDS[kind]).values():
                known.update(self._keys_of(kind, None, obj))
        return known


def _is_question(outcome: Outcome) -> bool:
    """Its answer is in the view now, for the same key to look at."""
    return isinstance(outcome.effect, Evict | Launch | Observe | Terminate)


def _has_failed(outcome: Outcome) -> bool:
    """It failed in a way that its step cannot see as an answer: the key is tried again later."""
    if outcome.problem is None or isinstance(outcome.effect, Publish):
        return False
    if _is_question(outcome):
        return outcome.problem.kind is ProblemKind.UNKNOWN
    # What is not there any more is not in the view any more, and what is made is not there yet.
    return outcome.problem.kind is not ProblemKind.NOT_FOUND or isinstance(outcome.effect, Create)
