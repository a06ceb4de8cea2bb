"""A server that names a time is left alone until then, also by the look after a failure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runtime.bench import Bench, cordon
from tests.runtime.scripted import refused
from unmoor.lifecycle.effects import AnyEffect, Create, Delete, Evict
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.observation import ProblemKind
from unmoor.runtime.ports import Unreachable


@pytest.mark.parametrize(
    ("verb", "made"),
    [
        ("patch", lambda bench: cordon(bench.node)),
        ("create", lambda _: Create(ref=DISRUPTIONS.ref("d"), body={"spec": {}})),
        ("delete", lambda bench: Delete(ref=bench.node)),
        ("eviction", lambda bench: Evict(ref=bench.pod)),
    ],
)
def test_a_server_that_names_a_time_is_left_alone_until_then(
    verb: str, made: Callable[[Bench], AnyEffect]
) -> None:
    bench = Bench()
    bench.api.plan(verb, refused(503, "ServiceUnavailable", retry_after_s=20.0))
    [outcome] = bench.do(made(bench))

    assert outcome.problem is not None
    assert outcome.problem.kind is ProblemKind.UNKNOWN
    assert outcome.problem.retry_after_s == 20.0
    assert len(bench.verbs()) == 1


def test_a_time_that_the_look_after_a_failure_was_told_is_kept() -> None:
    bench = Bench()
    bench.api.plan("patch", Unreachable("reset"))
    bench.api.plan("get", refused(429, "TooManyRequests", retry_after_s=20.0))
    [outcome] = bench.do(cordon(bench.node))

    assert outcome.problem is not None
    assert outcome.problem.kind is ProblemKind.UNKNOWN
    assert outcome.problem.retry_after_s == 20.0
