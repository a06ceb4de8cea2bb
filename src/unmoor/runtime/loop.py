"""The loop: key -> view -> step -> effects -> wake.

One dispatcher for each row of the table. It takes a ready key, one moment and the live view, calls
the step, hands the effects to the interpreter and looks at the key again when the step said so or
something changed. A step that raises is a bug of ours: its story is kept and told, the key is tried
again later, and all other keys go on.

Must not: know what any step decides, or read a clock more than once for a step.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from unmoor.lifecycle.effects import Evict, Launch, Observe, Publish, Terminate
from unmoor.lifecycle.step import Step
from unmoor.model.kinds import KINDS
from unmoor.model.moment import Moment, earliest
from unmoor.model.observation import ProblemKind
from unmoor.runtime.interpreter import Interpreter
from unmoor.runtime.ports import Clock, Executor
from unmoor.runtime.queue import BACK_OFF_MAX_S, WorkQueue
from unmoor.runtime.reconciler import ONE, Key, Reconciler, Where
from unmoor.runtime.store import Store
from unmoor.runtime.story import Observer, Outcome, Record

CONCURRENT_KEYS_MAX = 100
"""Keys of one row whose effects are in flight at once (spec 5.1: up to 100 nodes)."""
SPINS_MAX = 20
"""A key stepped this often without a moment's rest is slowed down: a bug must not be a storm."""

MayAct = Callable[[], bool]
"""False when another instance may be acting: nothing is stepped then."""


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

    async def run(self, reconcilers: Sequence[Reconciler]) -> None:
        """Run these rows until cancelled. The store should be synced before."""
        self._rows = [_Row(self, reconciler) for reconciler in reconcilers]
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

    def forget(self) -> None:
        """Lose all memory. Allowed at any moment; may cost time, never correctness."""
        for row in self._rows:
            row.memories.clear()
        self.store.forget_answers()

    @property
    def is_idle(self) -> bool:
        """Nothing is ready and nothing is being stepped."""
        return all(row.queue.is_idle for row in self._rows)

    def record(self, record: Record) -> None:
        """Hand a record to every observer."""
        for observer in self._observers:
            observer(record)

    def _wake(self, kind: str, old: Any | None, new: Any | None) -> None:
        for row in self._rows:
            row.wake(kind, old, new)


class _Row:
    """One reconciler at work: its queue, its memories, its keys in flight."""

    def __init__(self, loop: Loop, reconciler: Reconciler) -> None:
        self.reconciler = reconciler
        self.queue = WorkQueue()
        self.memories: dict[Key, Any] = {}
        self._loop = loop
        self._wakes: dict[str, list[Callable[..., Any]]] = {}
        for wake in reconciler.wakes:
            self._wakes.setdefault(wake.kind, []).append(wake.keys)
        self._ready = asyncio.Event()
        self._in_flight = 0
        self._spins: dict[Key, tuple[float, int]] = {}

    def begin(self) -> None:
        """Look at every key there is."""
        if self.reconciler.is_single:
            self.queue.add(ONE)
        for kind in sorted(self._wakes):
            for obj in self._loop.store.sorted(KINDS[kind]):
                self.wake(kind, None, obj)
        self._ready.set()

    def wake(self, kind: str, old: Any | None, new: Any | None) -> None:
        """Something changed; which of our keys does it concern?"""
        for keys in self._wakes.get(kind, ()):
            for key in keys(self._loop.store, old, new):
                self.queue.add(key)
        if len(self.queue):
            self._ready.set()

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Step ready keys for ever."""
        clock = self._loop.clock
        while True:
            if self._in_flight < CONCURRENT_KEYS_MAX and self._loop.may_act():
                key = self.queue.take(clock.now().mono)
                if key is not None:
                    self._in_flight += 1
                    if self.reconciler.where is Where.WORKER:
                        tasks.create_task(self._pass(key))
                    else:
                        self._step(key, tasks)
                    continue
            await self._rest()

    async def _rest(self) -> None:
        """Wait for a change, the next wake, or (not leading) a while."""
        self._ready.clear()
        event_loop = asyncio.get_running_loop()
        at = self.queue.next_at()
        if not self._loop.may_act():
            at = event_loop.time() + 1.0
        if at is None:
            await self._ready.wait()
            return
        timer = event_loop.call_at(at, self._ready.set)
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
            self._crashed(key, moment, version, traceback.format_exc())
            return
        if step.effects:
            tasks.create_task(self._act(key, moment, version, step))
        else:
            self._finish(key, moment, version, step)

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
            self._crashed(key, moment, view.version, traceback.format_exc())
            return
        await self._act(key, moment, view.version, step)

    async def _act(self, key: Key, moment: Moment, version: int, step: Step[Any]) -> None:
        outcomes: tuple[Outcome, ...] = ()
        if step.effects and self._loop.may_act():
            try:
                outcomes = await self._loop.interpreter.execute(step.effects)
            except Exception:  # noqa: BLE001 - as above
                self._crashed(key, moment, version, traceback.format_exc())
                return
        self._finish(key, moment, version, step, outcomes)

    def _finish(
        self,
        key: Key,
        moment: Moment,
        version: int,
        step: Step[Any],
        outcomes: tuple[Outcome, ...] = (),
    ) -> None:
        if step.memory is None:
            self.memories.pop(key, None)
        else:
            self.memories[key] = step.memory
        self._loop.record(Record(self.reconciler.name, key, moment, version, step, outcomes))
        now = self._loop.clock.now().mono
        if any(_has_failed(outcome) for outcome in outcomes):
            self.queue.failed(key, now)
            if step.wake_at is not None:
                self.queue.wake(key, step.wake_at)
        else:
            self.queue.done(key, self._wake_at(step))
            if any(_is_question(outcome) for outcome in outcomes):
                self._again(key, now)
            else:
                self._spins.pop(key, None)
        self._release()

    def _wake_at(self, step: Step[Any]) -> float | None:
        every = self.reconciler.every_s
        if every is None:
            return step.wake_at
        return earliest(step.wake_at, self._loop.clock.now().after(every(self._loop.store)))

    def _again(self, key: Key, now: float) -> None:
        """An answer came: look at it at once, but never in an endless spin."""
        since, spins = self._spins.get(key, (now, 0))
        if now > since:
            since, spins = now, 0
        if spins >= SPINS_MAX:
            self.queue.wake(key, now + 1.0)
            self._spins.pop(key, None)
            return
        self._spins[key] = (since, spins + 1)
        self.queue.add(key)

    def _crashed(self, key: Key, moment: Moment, version: int, crash: str) -> None:
        self.memories.pop(key, None)
        self._loop.record(Record(self.reconciler.name, key, moment, version, Step(), (), crash))
        self.queue.failed(key, self._loop.clock.now().mono)
        self._release()

    def _release(self) -> None:
        self._in_flight -= 1
        self._ready.set()


def _is_question(outcome: Outcome) -> bool:
    """Its answer is in the view now, for the same key to look at."""
    return isinstance(outcome.effect, Evict | Launch | Observe | Terminate)


def _has_failed(outcome: Outcome) -> bool:
    """It failed in a way that its step cannot see as an answer: the key is tried again later."""
    if outcome.problem is None or isinstance(outcome.effect, Publish):
        return False
    if _is_question(outcome):
        return outcome.problem.kind is ProblemKind.UNKNOWN
    return outcome.problem.kind is not ProblemKind.NOT_FOUND


assert BACK_OFF_MAX_S >= 1.0
