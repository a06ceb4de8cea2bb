"""Each score against numbers worked out by hand from the documented formulas."""

from __future__ import annotations

import math

import msgspec
import pytest

from unmoor.model.base import JSON
from unmoor.model.pod import Pod
from unmoor.model.resources import CPU, MEMORY
from unmoor.sim.actors import scoring
from unmoor.sim.actors.scoring import Score

GI = 1 << 30
MI = 1 << 20
ROOM = {CPU: 4000, MEMORY: 8 * GI}


def test_a_container_that_asks_for_nothing_counts_for_a_little() -> None:
    containers: list[JSON] = [
        {"name": "silent"},
        {"name": "half", "resources": {"requests": {"cpu": "1"}}},
        {"name": "limited", "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}},
        {"name": "none", "resources": {"requests": {"cpu": "0", "memory": "0"}}},
    ]
    pod = msgspec.convert({"spec": {"containers": containers}}, Pod)

    # 100m + 1 + 500m + 0; 200Mi + 200Mi + 1Gi + 0
    assert scoring.counted_coming(pod) == {CPU: 1600, MEMORY: 1424 * MI, "pods": 1}
    assert scoring.counted_there(pod) == scoring.counted_coming(pod)


@pytest.mark.parametrize(
    ("spec", "coming", "there"),
    [
        pytest.param(
            {"containers": [{"name": "a"}], "resources": {"requests": {"cpu": "1"}}},
            (100, 200),
            (1000, 200),
            id="counts when it is there",
        ),
        pytest.param(
            {
                "containers": [
                    {"name": "a", "resources": {"requests": {"cpu": "500m"}}},
                    {"name": "silent"},
                ],
                "resources": {"limits": {"cpu": "1"}},
            },
            (600, 400),
            (500, 400),
            id="all are silent about memory, one is not about cpu",
        ),
        pytest.param(
            {
                "containers": [{"name": "a"}],
                "resources": {"requests": {"cpu": "1"}},
                "overhead": {"cpu": "300m", "memory": "300Mi"},
            },
            (400, 500),
            (1300, 300),
            id="overhead is not silence",
        ),
    ],
)
def test_what_a_pod_asks_for_as_a_whole(
    spec: JSON, coming: tuple[int, int], there: tuple[int, int]
) -> None:
    """Measured on kube-scheduler 1.36; tests/e2e/test_scores.py asks it again."""
    pod = msgspec.convert({"spec": spec}, Pod)

    for counted, (cpu, memory) in (
        (scoring.counted_coming(pod), coming),
        (scoring.counted_there(pod), there),
    ):
        assert counted == {CPU: cpu, MEMORY: memory * MI, "pods": 1}


@pytest.mark.parametrize(
    ("counted", "room", "score"),
    [
        pytest.param({}, ROOM, 100, id="empty"),
        # (4000-1000)/4000 = 75; (8-6)/8 = 25
        pytest.param({CPU: 1000, MEMORY: 6 * GI}, ROOM, 50, id="the mean"),
        # 2999*100/4000 = 74 (rounded down); 100
        pytest.param({CPU: 1001}, ROOM, 87, id="rounded down twice"),
        # more than there is: 0; 100
        pytest.param({CPU: 5000}, ROOM, 50, id="overfull"),
        pytest.param({CPU: 1000}, {CPU: 4000}, 75, id="no memory"),
        pytest.param({CPU: 1000}, {}, 0, id="nothing to have"),
    ],
)
def test_least_allocated(counted: dict[str, int], room: dict[str, int], score: int) -> None:
    assert scoring.least_allocated(counted, room) == score


HALF = {CPU: 2000, MEMORY: 4 * GI}


@pytest.mark.parametrize(
    ("requested", "mine", "room", "score"),
    [
        pytest.param({}, HALF, ROOM, 75, id="as even as before"),
        # |0.75 - 0.25| / 2 = 0.25, so 75 instead of 100: 50 + (50 - 25) / 2, rounded down
        pytest.param({}, {CPU: 3000, MEMORY: 2 * GI}, ROOM, 62, id="a quarter apart"),
        pytest.param({CPU: 1000}, {MEMORY: 2 * GI}, ROOM, 81, id="more even than before"),
        # |1 - 0| / 2 = 0.5
        pytest.param({}, {CPU: 4000}, ROOM, 50, id="as uneven as can be"),
        pytest.param({CPU: 4000}, {MEMORY: 8 * GI}, ROOM, 100, id="as even as can be"),
        # 2 of 1 counts as 1
        pytest.param({}, {CPU: 8000, MEMORY: 8 * GI}, ROOM, 75, id="no more than all"),
        pytest.param({}, {CPU: 1000}, {CPU: 4000}, 75, id="one resource is even"),
        pytest.param({CPU: 1000}, {"pods": 1}, ROOM, 0, id="who asks for neither is not judged"),
    ],
)
def test_balanced(
    requested: dict[str, int], mine: dict[str, int], room: dict[str, int], score: int
) -> None:
    assert scoring.balanced(requested, mine, room) == score


def test_crowding_counts_pods_by_what_one_weighs() -> None:
    of_three, of_two = scoring.spread_weight(3), scoring.spread_weight(2)

    assert (of_three, of_two) == (math.log(5), math.log(4))
    # 3 * 1.609 + (3 - 1) + 4 * 1.386 + (5 - 1) = 4.828 + 2 + 5.545 + 4 = 16.37
    assert scoring.crowding([(3, 3, of_three), (4, 5, of_two)]) == 16
    # 1.609 + 0 = 1.609
    assert scoring.crowding([(1, 1, of_three)]) == 2
    assert scoring.crowding([]) == 0


@pytest.mark.parametrize(
    ("crowds", "scores"),
    [
        # 100 * (6 + 2 - x) / 6: x=2: 100, x=3: 83.3, x=6: 33.3
        pytest.param([2, 3, 6], [100, 83, 33], id="the fewer the better"),
        pytest.param([0, 4], [100, 0], id="nobody is best"),
        pytest.param([5, 5], [100, 100], id="equal"),
        pytest.param([0, 0], [100, 100], id="nobody anywhere"),
        pytest.param([None, 2, 4], [0, 100, 50], id="without the label"),
        pytest.param([None, 0], [0, 100], id="without the label and nobody"),
        pytest.param([None, None], [0, 0], id="none has the label"),
    ],
)
def test_less_is_more(crowds: list[int | None], scores: list[int]) -> None:
    assert scoring.less_is_more(crowds) == scores


@pytest.mark.parametrize(
    ("values", "scores"),
    [
        # 0 lies a third of the way from the least to the most
        pytest.param([-50, 0, 100], [0, 33, 100], id="stretched"),
        pytest.param([7, 7], [0, 0], id="equal"),
        pytest.param([0, -10], [100, 0], id="kept away"),
    ],
)
def test_between(values: list[int], scores: list[int]) -> None:
    assert scoring.between(values) == scores


@pytest.mark.parametrize(
    ("values", "shares", "reversed_shares"),
    [
        # 30 / 80 = 37.5
        pytest.param([80, 30, 0], [100, 37, 0], [0, 63, 100], id="shares of the most"),
        pytest.param([0, 0], [0, 0], [100, 100], id="none"),
    ],
)
def test_shares_of_the_most(
    values: list[int], shares: list[int], reversed_shares: list[int]
) -> None:
    assert scoring.of_the_most(values) == shares
    assert scoring.the_fewer_the_better(values) == reversed_shares


def test_the_weighted_sum_decides_and_names_break_ties() -> None:
    # a: 100 + 2*50 = 200, b: 0 + 2*100 = 200, c: 100 + 2*49 = 198
    scores = {Score.FIT: [0, 100, 100], Score.SPREAD: [100, 50, 49]}
    assert scoring.best_of(["b", "a", "c"], scores) == "a"

    # Taints weigh three: 3*10 beats 1*29.
    assert scoring.best_of(["a", "b"], {Score.FIT: [29, 0], Score.TAINTS: [0, 10]}) == "b"
