"""What is counted, under Karpenter's names (spec 10.1), and how a scrape reads it.

One table (``metric_table``) names every metric. Lifecycle code attaches ``Fact``s to its effects;
they are counted here when the effect has succeeded; what a step itself has counted is taken at
once. Steps themselves become the ``controller_runtime_*`` metrics.

Karpenter's counters have no ``_total`` and its summaries have quantiles; prometheus-client knows
neither, so both have a small collector of their own here. A summary's quantiles are exact over the
observations of the last ten minutes, and NaN when there are none, as in the Go client.

Must not: decide, block, or raise: it is called for every step.
"""

from __future__ import annotations

import math
import re
import threading
from collections import deque
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from unmoor.app.metric_table import OURS_TABLE, RECONCILER_TABLE, TABLE, Kind, Labels, Row
from unmoor.lifecycle.effects import Fact
from unmoor.runtime.ports import Clock, Executor
from unmoor.runtime.story import Record

NAMESPACE = "karpenter"
WINDOW_S = 600.0
"""Age of the oldest observation that a summary's quantiles count."""
WINDOW_MAX = 10_000
"""Observations kept for one combination of labels; beyond it the oldest go early."""
SERIES_MAX = 10_000
"""Label combinations of one metric; a further one is counted under "" for each label."""
QUANTILES = (0.0, 0.5, 0.9, 0.99, 1.0)
_BUCKETS = (
    ".005 .01 .025 .05 .1 .15 .2 .25 .3 .35 .4 .45 .5 .6 .7 .8 .9 1 1.25 1.5 1.75 2 2.5 3 3.5 4 "
    "4.5 5 6 7 8 9 10 15 20 25 30 40 50 60 120 150 300 450 600"
)
BUCKETS_S = tuple(float(text) for text in _BUCKETS.split())

WHOLE_LOOK = "deprovisioning"
"""The reconciler that looks at the whole cluster."""
PLANNED = "provisioner_scheduling_queue_depth"
"""A fact of every step that has planned where pods go, and of no other."""
EVERY_METHOD = "all"
"""Karpenter times each method; here they share one pass, and what decides has no clock."""


class Metrics:
    """All metrics of a process; an observer of every step."""

    def __init__(self, clock: Clock) -> None:
        """Start at zero."""
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._clock = clock
        self._registry = CollectorRegistry()
        self._families = {row.name: self._family(NAMESPACE, row) for row in TABLE}
        self._families |= {
            row.name: self._family("controller_runtime", row) for row in RECONCILER_TABLE
        }
        self._families |= {row.name: self._family("unmoor", row) for row in OURS_TABLE}
        self._plain = {
            family.name.encode()
            for family in self._families.values()
            if isinstance(family, _Counter) and not family.name.endswith("_total")
        }

    def __call__(self, record: Record) -> None:
        """Count one step."""
        took_s = self._clock.now().mono - record.moment.mono
        failed = bool(record.crash) or any(outcome.problem for outcome in record.outcomes)
        controller = {"controller": record.reconciler}
        self.take("reconcile_total", {**controller, "result": _result(record, failed=failed)})
        self.take("reconcile_time_seconds", controller, took_s)
        if failed:
            self.take("reconcile_errors_total", controller)
        for outcome in record.outcomes:
            if outcome.problem is None:
                for fact in outcome.effect.facts:
                    self.fact(fact)
        for fact in record.step.facts:
            self.fact(fact)
        if any(fact.name == PLANNED for fact in record.step.facts):
            self.take("provisioner_scheduling_duration_seconds", {}, took_s)
        if record.reconciler == WHOLE_LOOK and not record.crash:
            took = {"method": EVERY_METHOD}
            self.take("deprovisioning_evaluation_duration_seconds", took, took_s)

    def fact(self, fact: Fact) -> None:
        """Count one fact; a name that the table does not have is passed over (a test looks)."""
        family = self._families.get(fact.name)
        if family is None:
            return
        if fact.value is None:
            family.drop(fact.labels)
        else:
            family.take(fact.labels, fact.value)

    def take(self, name: str, labels: dict[str, str], value: float = 1.0) -> None:
        """Give a metric of the table a value; labels that are not given are ""."""
        self._families[name].take(labels, value)

    async def scrape(self, executor: Executor) -> bytes:
        """Write everything in the text format, off the loop."""
        now_s = self._clock.now().mono
        for family in self._families.values():
            if isinstance(family, _Summary):
                family.age(now_s)
        return await executor.run(self.render)

    def render(self) -> bytes:
        """Write everything in the text format; callable from another thread."""
        text = generate_latest(self._registry)
        # The library writes the header of each counter with _total, whatever its samples say.
        return re.sub(
            rb"^(# (?:HELP|TYPE) )(\w+)_total ",
            lambda m: m[1] + m[2] + b" " if m[2] in self._plain else m[0],
            text,
            flags=re.MULTILINE,
        )

    def _family(self, namespace: str, row: Row) -> _Family:
        name = f"{namespace}_{row.name}"
        match row.kind:
            case Kind.COUNTER:
                counter = _Counter(name, row)
                self._registry.register(counter)
                return counter
            case Kind.SUMMARY:
                summary = _Summary(name, row, self._clock)
                self._registry.register(summary)
                return summary
            case Kind.GAUGE:
                gauge = Gauge(name, row.help, row.labels, registry=self._registry)
                return _Wrapped(name, row, gauge)
            case Kind.HISTOGRAM:
                histogram = Histogram(
                    name, row.help, row.labels, buckets=BUCKETS_S, registry=self._registry
                )
                return _Wrapped(name, row, histogram)


def _result(record: Record, *, failed: bool) -> str:
    """The result in controller-runtime's words."""
    if failed:
        return "error"
    return "success" if record.step.wake_at is None else "requeue_after"


class _Family:
    """What all metrics have: a name, and labels in one order, bounded in number."""

    def __init__(self, name: str, row: Row) -> None:
        self.name = name
        self._row = row
        self._seen: set[Labels] = set()

    def take(self, labels: dict[str, str], value: float) -> None:
        key = tuple(labels.get(label, "") for label in self._row.labels)
        if key not in self._seen:
            if len(self._seen) >= SERIES_MAX:
                key = ("",) * len(key)
            self._seen.add(key)
        self._take(key, value)

    def _take(self, key: Labels, value: float) -> None:
        raise NotImplementedError

    def drop(self, labels: dict[str, str]) -> None:
        """Forget what has all of these labels. What was counted stays counted."""

    def _named(self, key: Labels) -> dict[str, str]:
        return dict(zip(self._row.labels, key, strict=True))


class _Wrapped(_Family):
    """A gauge or a histogram of the library."""

    def __init__(self, name: str, row: Row, metric: Gauge | Histogram) -> None:
        super().__init__(name, row)
        self._metric = metric

    def _take(self, key: Labels, value: float) -> None:
        metric = self._metric.labels(*key) if key else self._metric
        if isinstance(metric, Gauge):
            metric.set(value)
        else:
            metric.observe(value)

    def drop(self, labels: dict[str, str]) -> None:
        if not isinstance(self._metric, Gauge):
            return
        wanted = labels.items()
        for key in [one for one in self._seen if wanted <= self._named(one).items()]:
            self._metric.remove(*key)
            self._seen.remove(key)


class _Counter(_Family, Collector):
    """A counter whose name is its name, without ``_total`` where Karpenter has none."""

    def __init__(self, name: str, row: Row) -> None:
        super().__init__(name, row)
        self._values: dict[Labels, float] = {}
        self._lock = threading.Lock()

    def _take(self, key: Labels, value: float) -> None:
        with self._lock:
            self._values[key] = self._values.get(key, 0.0) + value

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            values = sorted(self._values.items())
        if not self._row.labels and not values:
            values = [((), 0.0)]
        metric = Metric(self.name.removesuffix("_total"), self._row.help, "counter")
        for key, value in values:
            metric.add_sample(self.name, self._named(key), value)
        yield metric


class _Observations:
    """Of one combination of labels: count and sum for ever, and the latest one by one."""

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0.0
        self.latest: deque[tuple[float, float]] = deque(maxlen=WINDOW_MAX)


class _Summary(_Family, Collector):
    """Count, sum, and exact quantiles over a sliding window."""

    def __init__(self, name: str, row: Row, clock: Clock) -> None:
        super().__init__(name, row)
        self._clock = clock
        self._observed: dict[Labels, _Observations] = {}
        self._lock = threading.Lock()

    def _take(self, key: Labels, value: float) -> None:
        now_s = self._clock.now().mono
        with self._lock:
            observed = self._observed.setdefault(key, _Observations())
            observed.count += 1
            observed.sum += value
            observed.latest.append((now_s, value))

    def age(self, now_s: float) -> None:
        """Let what is older than the window go."""
        with self._lock:
            for observed in self._observed.values():
                while observed.latest and observed.latest[0][0] < now_s - WINDOW_S:
                    observed.latest.popleft()

    def collect(self) -> Iterable[Metric]:
        metric = Metric(self.name, self._row.help, "summary")
        with self._lock:
            for key, observed in sorted(self._observed.items()):
                labels = self._named(key)
                values = sorted(value for _, value in observed.latest)
                for quantile in QUANTILES:
                    metric.add_sample(
                        self.name,
                        {**labels, "quantile": f"{quantile:g}"},
                        quantile_of(values, quantile),
                    )
                metric.add_sample(f"{self.name}_sum", labels, observed.sum)
                metric.add_sample(f"{self.name}_count", labels, float(observed.count))
        yield metric


def quantile_of(values: list[float], quantile: float) -> float:
    """Return the smallest of the sorted values that ``quantile`` of all do not exceed."""
    if not values:
        return math.nan
    return values[max(math.ceil(quantile * len(values)), 1) - 1]
