"""The simulated scheduler likes the nodes that the real kube-scheduler likes, and as much.

Pods come to a cluster one by one. Of each that more than one node would take, every score is
compared, node by node, and the node that kube-scheduler chose must be among our best: of equals it
takes any, we the first by name. Then the pod counts, for us, where kube-scheduler has put it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import pytest

from tests.e2e import hollow, score_mistakes
from tests.e2e.score_clusters import Objects, cluster
from tests.e2e.scores import ByNode, ByPlugin, Scores
from tests.e2e.vouching import SCHEDULER, Court
from tests.facts import reading
from unmoor.engine.wish import Wish
from unmoor.model.base import JSON
from unmoor.sim.actors.floor import Floor
from unmoor.sim.actors.placing import No, musts_of, place, scores_of
from unmoor.sim.actors.scoring import WEIGHTS, Score

pytestmark = [pytest.mark.e2e]
on_one_loop = pytest.mark.asyncio(loop_scope="module")

SEEDS = range(1, 61)
LEFT_OUT: Final[dict[str, str]] = {
    "ImageLocality": "nodes of the simulated cluster have no images: none is nearer than another",
    "DynamicResources": "nobody claims devices there",
}
"""Scores of kube-scheduler that we do not have, and why; they must say nothing here."""
MISTAKES = (
    score_mistakes.forgets_who_made_a_pod,
    score_mistakes.forgets_what_those_want_who_are_there,
    score_mistakes.forgets_taints_that_say_rather_not,
    score_mistakes.counts_those_who_leave,
    score_mistakes.forgets_what_a_pod_asks_for_as_a_whole,
    score_mistakes.takes_nothing_for_nothing,
)


class Ours:
    """What the simulated scheduler knows of a cluster."""

    def __init__(self, objects: Objects) -> None:
        """Before the first pod comes."""
        self._view = reading.view_of(objects)
        self._floor = Floor(self._view)
        self._floor.refresh(())

    def wish(self, body: JSON) -> Wish:
        return musts_of(reading.read_pod(body), self._view)

    def scores(self, wish: Wish, names: Sequence[str]) -> dict[Score, ByNode]:
        """Of these nodes, as kube-scheduler writes them: multiplied by their weights."""
        found = scores_of(wish, [self._floor.sites[name] for name in names], self._floor)
        return {
            score: {name: WEIGHTS[score] * one for name, one in zip(names, ones, strict=True)}
            for score, ones in found.items()
        }

    def choice(self, wish: Wish) -> str | No:
        return place(wish, self._floor)

    def put(self, wish: Wish, name: str) -> None:
        self._floor.take(name, wish)


def as_it_is(objects: Objects) -> Objects:
    """Nothing is overlooked."""
    return objects


async def differences(
    court: Court, seed: int, overlooking: Callable[[Objects], Objects] = as_it_is
) -> list[str]:
    """Everything in which kube-scheduler does not agree. ``overlooking``: what we are shown."""
    objects, coming = cluster(seed)
    ours = Ours(overlooking(objects))
    court.promises.promise({})
    scores = Scores(court.plane.log_file(SCHEDULER))
    found: list[str] = []
    async with court.session(objects, coming) as seen:
        for body, shown in zip(coming, overlooking(coming), strict=True):
            uid = await court.come(body)
            chosen = (await seen.settled(uid)).node
            if chosen is None:
                # Else it would come back when others make it possible, and in between.
                await court.cluster.remove(body)
                continue
            wish, fits = ours.wish(shown), court.promises.fits[uid]
            if len(fits) > 1:
                said = ours.scores(wish, fits)
                found += (
                    f"{hollow.key(body)}: {what}"
                    for what in against(said, scores.of(hollow.key(body)), chosen)
                )
            ours.put(wish, chosen)
    return found


def against(ours: Mapping[Score, ByNode], theirs: ByPlugin, chosen: str) -> Iterator[str]:
    """What kube-scheduler has to say against our scores of a pod, and its own choice."""
    for score, by_node in ours.items():
        if score not in theirs and not is_even(by_node):
            yield f"{score}: it is not asked, we say {by_node}"
        if score in theirs and by_node != theirs[score]:
            yield f"{score}: it says {theirs[score]}, we {by_node}"
    for plugin in theirs.keys() - ours.keys():
        if plugin not in LEFT_OUT or not is_even(theirs[plugin]):
            yield f"{plugin}: it says {theirs[plugin]}, we nothing"
    if chosen not in best(ours):
        yield f"it takes {chosen}, we {best(ours)}"


def is_even(by_node: ByNode) -> bool:
    """It prefers no node to another."""
    return len({*by_node.values()}) == 1


def best(scores: Mapping[Score, ByNode]) -> list[str]:
    """The nodes that are liked most."""
    sums: dict[str, int] = {}
    for by_node in scores.values():
        for name, one in by_node.items():
            sums[name] = sums.get(name, 0) + one
    return sorted(name for name, one in sums.items() if one == max(sums.values()))


@on_one_loop
@pytest.mark.parametrize("seed", SEEDS)
async def test_kube_scheduler_likes_the_same_nodes(court: Court, seed: int) -> None:
    assert await differences(court, seed) == []


@pytest.mark.timeout(300)  # a few clusters at most, but the machine may have much else to do
@on_one_loop
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.__name__)
async def test_a_mistake_is_found(court: Court, mistake: Callable[[Objects], Objects]) -> None:
    for seed in SEEDS:
        if await differences(court, seed, mistake):
            break
    else:
        pytest.fail("no cluster finds it")


def test_every_score_decides_somewhere() -> None:
    decisive = {score for seed in SEEDS for score in _decisive(seed)}

    assert decisive == set(Score)


def _decisive(seed: int) -> Iterator[Score]:
    """The scores without which some pod of this cluster would have gone elsewhere."""
    objects, coming = cluster(seed)
    ours, names = (
        Ours(objects),
        [one["metadata"]["name"] for one in objects if one["kind"] == "Node"],
    )
    for body in coming:
        wish = ours.wish(body)
        chosen = ours.choice(wish)
        if isinstance(chosen, No):
            continue
        scores = ours.scores(wish, names)
        for score in scores:
            rest = {one: by_node for one, by_node in scores.items() if one is not score}
            if not {*best(rest)} & {*best(scores)}:
                yield score
        ours.put(wish, chosen)
