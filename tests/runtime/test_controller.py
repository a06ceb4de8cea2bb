"""One process, assembled: synced, leading, acting, following its settings, and stopped cleanly."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.runtime.scripted import Cut, ScriptedApi, Slow, passes, refused
from tests.runtime.world import ON_NODES, Silent
from unmoor.lifecycle.effects import Patch
from unmoor.lifecycle.step import Step
from unmoor.model.base import JSON
from unmoor.model.kinds import CONFIG_MAPS, NODES, Resource, ref_of
from unmoor.model.moment import Moment
from unmoor.model.settings import CONFIG_MAP_NAME, Settings
from unmoor.model.snapshot import Identity, View
from unmoor.runtime.controller import Controller, Options, Ports
from unmoor.runtime.leader import LeaseTimes
from unmoor.runtime.loop import InlineExecutor
from unmoor.runtime.ports import Unreachable
from unmoor.runtime.reconciler import Reconciler
from unmoor.sim.virtual import VirtualClock, run

SETTINGS = (CONFIG_MAP_NAME, "karpenter")


class Play:
    """A controller with one row, which marks each node once; ``steps`` notes what it saw."""

    def __init__(self, api: ScriptedApi, identity: str = "one", **options: Any) -> None:
        self.api = api
        self.reports: list[str] = []
        self.leads: list[bool] = []
        self.lease_problems: list[str] = []
        self.steps: list[tuple[float, str, Settings]] = []
        self.controller = Controller(
            Ports(
                api=api,
                clock=VirtualClock(),
                executor=InlineExecutor(),
                recorder=Silent(),
                jitter=lambda: 1.0,
            ),
            Options(identity=identity, watched=(NODES, CONFIG_MAPS), **options),
            report=self._report,
            on_leadership=self.leads.append,
            on_lease_problem=self.lease_problems.append,
        )
        self.task: asyncio.Task[None] | None = None

    def _report(self, resource: Resource[Any], problem: str) -> None:
        self.reports.append(f"{resource.plural}: {problem}")

    def _step(self, view: View, key: Any, _memory: Any, moment: Moment) -> Step[Any]:
        self.steps.append((moment.mono, key, view.settings))
        node = view.node(key)
        if node is None or node.metadata.labels:
            return Step()
        body = {"metadata": {"labels": {"seen-by": self.controller.options.identity}}}
        return Step(effects=(Patch(ref=ref_of(node), body=body),))

    def start(self) -> None:
        row = Reconciler(name="mark", step=self._step, wakes=ON_NODES)
        self.task = asyncio.create_task(self.controller.run((row,)))

    async def stop(self) -> None:
        assert self.task is not None
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task

    @property
    def settings(self) -> Settings:
        return self.controller.store.settings

    def configure(self, **data: str) -> None:
        """A person edits the ConfigMap."""
        keys = {name.replace("__", "."): value for name, value in data.items()}
        self.api.put("ConfigMap", *SETTINGS, data=keys)


def play(
    scene: Callable[[Play], Awaitable[None]],
    *,
    before: Callable[[ScriptedApi], object] = lambda _: None,
    **options: Any,
) -> Play:
    api = ScriptedApi()
    api.put("Node", "a")
    before(api)

    async def main() -> Play:
        it = Play(api, **options)
        it.start()
        await scene(it)
        await it.stop()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return it

    return run(main())


def holder(api: ScriptedApi) -> str:
    held: JSON = api.objects["Lease"]["karpenter", "unmoor"]
    return str(held["spec"]["holderIdentity"])


def marks(api: ScriptedApi) -> dict[str, str]:
    nodes = api.objects["Node"].values()
    return {n["metadata"]["name"]: n["metadata"].get("labels", {}).get("seen-by") for n in nodes}


# ---------------------------------------------------------------------------------- life and death


def test_it_syncs_leads_acts_and_gives_the_lease_up() -> None:
    async def scene(it: Play) -> None:
        was_ready = it.controller.is_ready
        await passes(1.0)
        assert (was_ready, it.controller.is_ready) == (False, True)
        assert holder(it.api) == "one"
        it.api.put("Node", "b")
        await passes(1.0)
        assert marks(it.api) == {"a": "one", "b": "one"}

    it = play(scene)
    assert holder(it.api) == ""
    assert it.reports == []
    assert it.leads == [False, True]


def test_nothing_is_decided_before_everything_is_seen() -> None:
    async def scene(it: Play) -> None:
        await passes(29.0)
        assert it.steps == []
        assert it.api.objects["Lease"] == {}
        await passes(2.0)
        assert [key for _, key, _ in it.steps][:1] == ["a"]

    play(scene, before=lambda api: api.plan("list", None, Slow(30.0)))


def test_without_a_lease_it_acts_at_once_and_asks_for_none() -> None:
    async def scene(it: Play) -> None:
        await passes(1.0)
        assert marks(it.api) == {"a": "one"}

    it = play(scene, lease=None)
    assert it.api.objects["Lease"] == {}
    assert it.leads == [True]


def test_losing_and_taking_the_lead_is_told() -> None:
    async def scene(it: Play) -> None:
        await passes(1.0)
        lost = [Unreachable("no route")] * 9
        it.api.plan("get", *lost)
        await passes(14.0)
        assert it.leads == [False, True, False]
        assert set(it.lease_problems) == {"lease/karpenter/unmoor is not held: no route"}
        assert it.reports == []  # that is no watch
        await passes(30.0)

    assert play(scene).leads == [False, True, False, True]


def test_a_standby_sees_everything_and_does_nothing_until_it_is_its_turn() -> None:
    api = ScriptedApi()
    api.put("Node", "a")

    async def main() -> None:
        first, second = Play(api, "one"), Play(api, "two")
        first.start()
        await passes(0.5)
        second.start()
        await passes(60.0)
        assert second.controller.is_ready
        assert second.steps == []
        await first.stop()
        api.put("Node", "b")
        await passes(LeaseTimes().retry_s + 0.1)
        assert marks(api) == {"a": "one", "b": "two"}
        assert {key for _, key, _ in second.steps} == {"a", "b"}
        await second.stop()

    run(main())


def test_a_stop_in_the_middle_of_an_effect_is_clean() -> None:
    async def scene(it: Play) -> None:
        await passes(5.0)
        assert [verb for _, verb, _ in it.api.calls if verb == "patch"]

    it = play(scene, before=lambda api: api.plan("patch", Slow(3600.0)))
    assert holder(it.api) == ""
    assert marks(it.api) == {"a": None}


def test_a_stop_before_it_is_synced_is_clean() -> None:
    async def scene(_: Play) -> None:
        await passes(5.0)

    it = play(scene, before=lambda api: api.plan("list", Slow(3600.0), Slow(3600.0)))
    assert it.api.objects["Lease"] == {}


# ---------------------------------------------------------------------------------------- settings


def test_settings_are_there_before_the_first_step() -> None:
    def before(api: ScriptedApi) -> None:
        api.put("ConfigMap", *SETTINGS, data={"batchMaxDuration": "20s"})
        api.put("ConfigMap", "other", "karpenter", data={"batchMaxDuration": "30s"})
        api.put("ConfigMap", CONFIG_MAP_NAME, "elsewhere", data={"batchMaxDuration": "40s"})

    async def scene(it: Play) -> None:
        await passes(1.0)
        assert it.steps[0][2].batch_max_duration_s == 20.0

    play(scene, before=before)


def test_a_change_wakes_everything() -> None:
    async def scene(it: Play) -> None:
        await passes(10.0)
        it.steps.clear()
        it.configure(batchMaxDuration="20s")
        await passes(10.0)
        assert [(at, key) for at, key, _ in it.steps] == [(10.0, "a")]
        assert it.settings.batch_max_duration_s == 20.0

    play(scene)


def test_a_bad_value_keeps_the_last_good_one_and_is_reported() -> None:
    async def scene(it: Play) -> None:
        await passes(1.0)
        it.configure(batchMaxDuration="20s", batchIdleDuration="2s")
        await passes(1.0)
        it.configure(batchMaxDuration="soon", batchIdleDuration="3s")
        await passes(1.0)
        assert it.settings.batch_max_duration_s == 20.0
        assert it.settings.batch_idle_duration_s == 3.0
        [report] = it.reports
        assert "data[batchMaxDuration] is 'soon'" in report
        it.configure()
        await passes(1.0)
        assert it.settings.batch_max_duration_s == 10.0

    play(scene)


def test_an_unreadable_map_or_none_at_all_changes_nothing() -> None:
    async def scene(it: Play) -> None:
        it.configure(batchMaxDuration="20s")
        await passes(1.0)
        it.api.unreadable.add(("ConfigMap", SETTINGS[::-1]))
        it.configure(batchMaxDuration="30s")
        await passes(1.0)
        assert it.settings.batch_max_duration_s == 20.0
        it.api.unreadable.clear()
        it.api.remove("ConfigMap", *SETTINGS)
        await passes(1.0)
        assert it.settings.batch_max_duration_s == 20.0

    play(scene)


def test_a_map_that_says_the_same_wakes_nobody() -> None:
    async def scene(it: Play) -> None:
        it.configure(batchMaxDuration="20s")
        await passes(10.0)
        it.steps.clear()
        it.api.put("ConfigMap", *SETTINGS, meta={"labels": {"a": "b"}})
        await passes(10.0)
        assert it.steps == []

    play(scene)


@pytest.mark.parametrize(("given", "cluster"), [("", "harbour"), ("quay", "quay")])
def test_the_cluster_is_named_by_the_settings_unless_it_is_given(given: str, cluster: str) -> None:
    async def scene(it: Play) -> None:
        it.configure(aws__clusterName="harbour")
        await passes(1.0)
        assert it.controller.store.identity == Identity(cluster, "")

    play(scene, cluster=given)


def test_bad_weather_is_reported_and_weathered() -> None:
    def before(api: ScriptedApi) -> None:
        api.plan("list", refused(500, "InternalError"))
        api.plan("watch", Cut(0), Cut(0, refused(410, "Expired")))

    async def scene(it: Play) -> None:
        await passes(30.0)
        it.api.put("Node", "b")
        await passes(1.0)
        assert marks(it.api) == {"a": "one", "b": "one"}

    it = play(scene, before=before)
    assert len(it.reports) == 2
