"""Metrics have Karpenter's names (spec 10.1) and count what effects say when they succeed."""

import ast
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import unmoor.lifecycle
from unmoor.app.metric_table import OURS_TABLE, RECONCILER_TABLE, TABLE
from unmoor.app.metrics import (
    BUCKETS_S,
    SERIES_MAX,
    WINDOW_MAX,
    WINDOW_S,
    Metrics,
    quantile_of,
)
from unmoor.lifecycle.effects import Evict, Fact
from unmoor.lifecycle.step import Step
from unmoor.model.base import Ref
from unmoor.model.moment import Moment
from unmoor.model.observation import Problem, ProblemKind
from unmoor.runtime.executor import ThreadExecutor
from unmoor.runtime.loop import InlineExecutor
from unmoor.runtime.story import Outcome, Record

WALL = datetime(2026, 1, 1, tzinfo=UTC)
NODE = Ref("Node", "a")


class HandClock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.mono = 100.0

    def now(self) -> Moment:
        return Moment(WALL, self.mono)

    async def sleep(self, delay_s: float) -> None:
        self.mono += delay_s


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def metrics(clock: HandClock) -> Metrics:
    return Metrics(clock)


def samples(metrics: Metrics) -> dict[str, float]:
    """Every sample as ``name{label="value"}``, labels sorted."""
    return parsed(metrics.render().decode())


def parsed(text: str) -> dict[str, float]:
    """The text format, read plainly: the library's own parser renames what it does not expect."""
    told = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in told}


def record(*outcomes: Outcome, **more: object) -> Record:
    given: dict[str, object] = {"reconciler": "termination", "step": Step(), "crash": "", **more}
    step, name = given["step"], given["reconciler"]
    assert isinstance(step, Step)
    return Record(str(name), "a", Moment(WALL, 100.0), 1, step, outcomes, crash=str(given["crash"]))


def evicting(*facts: Fact, problem: Problem | None = None) -> Outcome:
    return Outcome(Evict(ref=Ref("Pod", "p", namespace="n", uid="u"), facts=facts), problem)


def facts_in(source: str) -> Iterator[tuple[str, list[str] | None]]:
    """Name and label names of each ``Fact(...)`` in a module; None where labels are a variable."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="Fact"), args=[ast.Constant(value=str(name))]):
                yield name, []
            case ast.Call(
                func=ast.Name(id="Fact"),
                args=[ast.Constant(value=str(name)), ast.Dict(keys=keys), *_],
            ):
                yield name, [str(key.value) for key in keys if isinstance(key, ast.Constant)]
            case ast.Call(func=ast.Name(id="Fact"), args=[ast.Constant(value=str(name)), *_]):
                yield name, None
            case _:
                pass


def test_every_fact_of_the_lifecycle_is_in_the_table() -> None:
    rows = {row.name: row for row in (*TABLE, *OURS_TABLE)}
    directory = Path(unmoor.lifecycle.__file__).parent
    found = [fact for path in directory.glob("*.py") for fact in facts_in(path.read_text())]

    assert len(found) >= 10
    for name, labels in found:
        assert name in rows
        if labels is not None:
            assert set(labels) == set(rows[name].labels), name


def test_the_names_are_karpenters() -> None:
    names = {row.name for row in TABLE}

    assert names == {
        "machines_created",
        "machines_terminated",
        "provisioner_scheduling_duration_seconds",
        "provisioner_scheduling_queue_depth",
        "machines_launched",
        "machines_registered",
        "machines_initialized",
        "machines_disrupted",
        "machines_drifted",
        "nodes_created",
        "nodes_terminated",
        "nodes_termination_time_seconds",
        "nodes_leases_deleted",
        "consistency_errors",
        "deprovisioning_evaluation_duration_seconds",
        "deprovisioning_actions_performed",
        "deprovisioning_replacement_machine_initialized_seconds",
        "deprovisioning_replacement_machine_launch_failure_counter",
        "deprovisioning_eligible_machines",
        "deprovisioning_consolidation_timeouts",
        "deprovisioning_observed_commands",
        "deprovisioning_observed_machines",
        "deprovisioning_observed_saving_usd_per_hour",
        "provisioner_limit",
        "provisioner_usage",
        "provisioner_usage_pct",
        "cloudprovider_duration_seconds",
        "cloudprovider_errors_total",
    }
    assert [row.name for row in RECONCILER_TABLE] == [
        "reconcile_total",
        "reconcile_errors_total",
        "reconcile_time_seconds",
    ]
    assert (len(BUCKETS_S), BUCKETS_S[0], BUCKETS_S[-1]) == (45, 0.005, 600.0)


def test_a_fact_counts_when_its_effect_has_succeeded(metrics: Metrics) -> None:
    fact = Fact("machines_terminated", {"reason": "emptiness/delete", "provisioner": "default"})

    metrics(record(evicting(fact)))
    metrics(record(evicting(fact)))
    metrics(record(evicting(fact, problem=Problem(ProblemKind.CONFLICT))))

    key = 'karpenter_machines_terminated{provisioner="default",reason="emptiness/delete"}'
    assert samples(metrics)[key] == 2


def test_a_counter_is_typed_under_its_own_name_and_without_total(metrics: Metrics) -> None:
    metrics.fact(Fact("nodes_terminated", {"provisioner": "default"}))
    metrics.take("cloudprovider_errors_total", {"method": "Get"})

    text = metrics.render().decode()

    assert "# TYPE karpenter_nodes_terminated counter\n" in text
    assert 'karpenter_nodes_terminated{provisioner="default"} 1.0\n' in text
    assert "# TYPE karpenter_cloudprovider_errors_total counter\n" in text
    assert "nodes_terminated_total" not in text
    assert "_created{" not in text


def test_a_counter_without_labels_is_there_from_the_start(metrics: Metrics) -> None:
    assert samples(metrics)["karpenter_nodes_leases_deleted"] == 0


def test_a_step_is_counted_by_what_came_of_it(metrics: Metrics, clock: HandClock) -> None:
    clock.mono = 100.3
    metrics(record())
    metrics(record(step=Step(wake_at=200.0)))
    metrics(record(crash="Traceback\nZeroDivisionError: a bug"))
    metrics(record(evicting(problem=Problem(ProblemKind.UNKNOWN))))

    found = samples(metrics)
    total = "controller_runtime_reconcile_total"
    assert found[f'{total}{{controller="termination",result="success"}}'] == 1
    assert found[f'{total}{{controller="termination",result="requeue_after"}}'] == 1
    assert found[f'{total}{{controller="termination",result="error"}}'] == 2
    assert found['controller_runtime_reconcile_errors_total{controller="termination"}'] == 2
    bucket = "controller_runtime_reconcile_time_seconds_bucket"
    assert found[f'{bucket}{{controller="termination",le="0.25"}}'] == 0
    assert found[f'{bucket}{{controller="termination",le="0.35"}}'] == 4


def test_a_summary_forgets_after_its_window_but_counts_for_ever(
    metrics: Metrics, clock: HandClock
) -> None:
    for value in range(1, 101):
        metrics.take("nodes_termination_time_seconds", {"provisioner": "p"}, float(value))
    name = "karpenter_nodes_termination_time_seconds"
    now = samples(metrics)
    clock.mono += WINDOW_S + 1
    later = parsed(_scraped(metrics))

    assert now[f'{name}{{provisioner="p",quantile="0"}}'] == 1
    assert now[f'{name}{{provisioner="p",quantile="0.5"}}'] == 50
    assert now[f'{name}{{provisioner="p",quantile="0.99"}}'] == 99
    assert now[f'{name}{{provisioner="p",quantile="1"}}'] == 100
    assert math.isnan(later[f'{name}{{provisioner="p",quantile="0.5"}}'])
    assert later[f'{name}_count{{provisioner="p"}}'] == 100
    assert later[f'{name}_sum{{provisioner="p"}}'] == 5050


def _scraped(metrics: Metrics) -> str:
    scrape = metrics.scrape(InlineExecutor())
    with pytest.raises(StopIteration) as ended:
        scrape.send(None)
    text: bytes = ended.value.value
    return text.decode()


def test_a_summary_holds_a_bounded_number_of_observations(metrics: Metrics) -> None:
    for value in range(WINDOW_MAX + 10):
        metrics.take("nodes_termination_time_seconds", {"provisioner": "p"}, float(value))

    found = samples(metrics)
    name = "karpenter_nodes_termination_time_seconds"
    assert found[f'{name}{{provisioner="p",quantile="0"}}'] == 10
    assert found[f'{name}_count{{provisioner="p"}}'] == WINDOW_MAX + 10


@pytest.mark.parametrize(
    ("values", "quantile", "expected"),
    [([5.0], 0.0, 5.0), ([5.0], 1.0, 5.0), ([1.0, 2.0], 0.5, 1.0), ([1.0, 2.0, 3.0], 0.9, 3.0)],
)
def test_quantiles(values: list[float], quantile: float, expected: float) -> None:
    assert quantile_of(values, quantile) == expected


def test_label_combinations_are_bounded(metrics: Metrics) -> None:
    for number in range(SERIES_MAX + 5):
        metrics.fact(Fact("nodes_terminated", {"provisioner": f"p{number}"}))

    assert samples(metrics)['karpenter_nodes_terminated{provisioner=""}'] == 5


def test_eligible_machines_are_those_of_the_last_look(metrics: Metrics) -> None:
    name = "deprovisioning_eligible_machines"
    key = f'karpenter_{name}{{deprovisioner="emptiness"}}'

    def after(*facts: Fact) -> float:
        metrics(record(reconciler="deprovisioning", step=Step(facts=facts)))
        return samples(metrics)[key]

    assert after(Fact(name, {"deprovisioner": "emptiness"}, 2)) == 2
    assert after() == 2, "nobody looks while a command runs"
    assert after(Fact(name, {"deprovisioner": "emptiness"}, 0)) == 0


def test_a_plan_is_timed_and_a_look_that_plans_nothing_is_not(metrics: Metrics) -> None:
    depth = Fact("provisioner_scheduling_queue_depth", value=7.0)
    metrics(record(reconciler="provisioning", step=Step()))
    metrics(record(reconciler="provisioning", step=Step(facts=(depth,))))
    found = samples(metrics)

    assert found["karpenter_provisioner_scheduling_queue_depth"] == 7
    assert found["karpenter_provisioner_scheduling_duration_seconds_count"] == 1


def test_t377_gauges_of_an_object_are_replaced_and_taken_away(metrics: Metrics) -> None:
    def said(resource: str, value: float | None, provisioner: str = "red") -> dict[str, float]:
        labels = {"provisioner": provisioner, "resource_type": resource}
        metrics.fact(Fact("provisioner_usage", labels, value))
        found = samples(metrics).items()
        return {name.partition("{")[2]: v for name, v in found if "provisioner_usage{" in name}

    red_cpu, red_memory = (
        f'provisioner="red",resource_type="{resource}"}}' for resource in ("cpu", "memory")
    )
    assert said("cpu", 1) == {red_cpu: 1}
    assert said("cpu", 2) == {red_cpu: 2}
    assert said("memory", 3) == {red_cpu: 2, red_memory: 3}
    assert said("pods", None) == {red_cpu: 2, red_memory: 3}
    assert said("cpu", None) == {red_memory: 3}
    assert said("memory", None) == {}
    assert said("cpu", 4) == {red_cpu: 4}


def test_t378_the_figures_of_a_provisioner_go_with_it(metrics: Metrics) -> None:
    def figures() -> dict[str, float]:
        return {name: v for name, v in samples(metrics).items() if '{provisioner="' in name}

    for provisioner in ("red", "blue"):
        for resource in ("cpu", "memory"):
            labels = {"provisioner": provisioner, "resource_type": resource}
            metrics.fact(Fact("provisioner_limit", labels, 8))
            metrics.fact(Fact("provisioner_usage", labels, 2))
            metrics.fact(Fact("provisioner_usage_pct", labels, 25))
    assert len(figures()) == 12
    assert figures()['karpenter_provisioner_usage{provisioner="red",resource_type="cpu"}'] == 2

    metrics.fact(Fact("provisioner_limit", {"provisioner": "red", "resource_type": "cpu"}, None))
    assert len(figures()) == 11
    for name in ("provisioner_limit", "provisioner_usage", "provisioner_usage_pct"):
        metrics.fact(Fact(name, {"provisioner": "red"}, None))
    assert sorted(figures()) == [
        f'karpenter_provisioner_{name}{{provisioner="blue",resource_type="{resource}"}}'
        for name in ("limit", "usage_pct", "usage")
        for resource in ("cpu", "memory")
    ]


def test_what_was_counted_or_is_not_there_is_not_taken_back(metrics: Metrics) -> None:
    metrics.fact(Fact("nodes_terminated", {"provisioner": "red"}))
    before = samples(metrics)
    metrics.fact(Fact("nodes_terminated", {"provisioner": "red"}, None))
    metrics.fact(Fact("cloudprovider_duration_seconds", {}, None))
    metrics.fact(Fact("provisioner_usage", {"provisioner": "red"}, None))

    assert samples(metrics) == before


def test_an_unknown_fact_does_no_harm(metrics: Metrics) -> None:
    metrics.fact(Fact("nobody_knows", {"x": "y"}))

    assert not any("nobody" in name for name in samples(metrics))


async def test_a_scrape_is_rendered_off_the_loop(metrics: Metrics) -> None:
    assert b"karpenter_nodes_leases_deleted 0.0" in await metrics.scrape(ThreadExecutor())
