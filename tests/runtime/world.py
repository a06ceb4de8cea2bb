"""A loop over a store and a scripted server, played in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from tests.runtime.scripted import ScriptedApi, passes
from unmoor.lifecycle.effects import Patch, Publish
from unmoor.lifecycle.step import Step
from unmoor.model.base import Ref
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.runtime.interpreter import Interpreter
from unmoor.runtime.loop import (
    InlineExecutor,
    Loop,
)
from unmoor.runtime.ports import Executor
from unmoor.runtime.reconciler import ONE, Key, Reconciler, Wake, either
from unmoor.runtime.store import Store
from unmoor.runtime.story import Observer, Story
from unmoor.sim.virtual import VirtualClock, run

StepOf = Callable[[View, Any, Any, Moment], Step[Any]]


class Silent:
    """A recorder that nobody hears."""

    def publish(self, event: Publish, now: object, repeat_after_s: float) -> None:
        assert event.message or now
        assert repeat_after_s > 0


class World:
    """A loop over a store; ``steps`` notes (time, key) of each step."""

    def __init__(self, *observers: Observer, executor: Executor | None = None) -> None:
        self.api = ScriptedApi()
        self.store = Store()
        self.story = Story()
        self.steps: list[tuple[float, Key]] = []
        self.is_leading = True
        clock = VirtualClock()
        self.loop = Loop(
            self.store,
            Interpreter(self.api, self.store, clock, cloud=None, recorder=Silent()),
            clock,
            executor=executor or InlineExecutor(),
            observers=(self.story, *observers),
            may_act=lambda: self.is_leading,
        )

    def see(self, kind: str, name: str, namespace: str = "", /, **fields: Any) -> Ref:
        body = self.api.put(kind, name, namespace, **fields)
        self.store.fold(kind, body)
        return Ref(kind, name, namespace=namespace, uid=body["metadata"]["uid"])

    def lose(self, ref: Ref) -> None:
        self.api.remove(ref.kind, ref.name, ref.namespace)
        self.store.forget(ref.kind, ref.key, ref.uid)

    def row(self, step: StepOf, name: str = "row", **given: Any) -> Reconciler:
        def noted(view: View, key: Any, memory: Any, moment: Moment) -> Step[Any]:
            self.steps.append((moment.mono, key))
            return step(view, key, memory, moment)

        return Reconciler(name=name, step=noted, **given)

    def times(self, key: Key = ONE) -> list[float]:
        return [at for at, stepped in self.steps if stepped == key]

    def keys(self) -> list[Key]:
        return [key for _, key in self.steps]

    def crashes(self) -> list[str]:
        return [
            record.crash.strip().splitlines()[-1] for record in self.story.all() if record.crash
        ]

    def play(
        self, rows: Iterable[Reconciler], scene: Callable[[], Awaitable[None]] | float = 10.0
    ) -> None:
        """Run the rows while the scene plays, or for some seconds; then stop them."""

        async def main() -> None:
            task = asyncio.create_task(self.loop.run(list(rows)))
            if callable(scene):
                await scene()
            else:
                await passes(scene)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert asyncio.all_tasks() == {asyncio.current_task()}

        run(main())


def nothing(_view: View, _key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
    return Step()


def node_name(_view: View, old: Any, new: Any) -> list[str]:
    return [either(old, new).name]


def both_nodes(_view: View, old: Any, new: Any) -> list[str]:
    return [pod.spec.node_name for pod in (old, new) if pod is not None and pod.spec.node_name]


ON_NODES = (Wake("Node", node_name),)
ON_BOTH = (*ON_NODES, Wake("Pod", both_nodes))


def mark(ref: Ref, value: str) -> Patch:
    return Patch(ref=ref, body={"metadata": {"labels": {"mark": value}}})
