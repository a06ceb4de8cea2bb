"""What others wrote into the lease, and what the server refuses: no obstacle, and no secret."""

from __future__ import annotations

from tests.runtime.scripted import passes, refused
from tests.runtime.test_leader import TIMES, Race, play
from unmoor.runtime.leader import COUNT_MOST


def test_a_count_that_cannot_grow_keeps_nobody_from_leading() -> None:
    async def scene(race: Race) -> None:
        await passes(60.5)
        race.spec()["leaseTransitions"] = COUNT_MOST
        await race.candidates[0].stop()
        await passes(TIMES.retry_s)
        assert race.leaders() == [1]
        assert race.spec()["leaseTransitions"] == COUNT_MOST

    play(scene)


def test_what_keeps_us_from_the_lease_is_told() -> None:
    async def scene(race: Race) -> None:
        await passes(1.0)
        assert race.candidates[0].problems == []
        race.candidates[0].api.is_cut = True
        await passes(TIMES.retry_s)
        assert race.candidates[0].problems == ["lease/karpenter/unmoor is not held: cut off"]

    play(scene, 1)


def test_who_may_not_touch_the_lease_is_told_what_to_grant() -> None:
    async def scene(race: Race) -> None:
        await passes(1.0)
        race.candidates[0].api.plan("patch", refused(403, "Forbidden", "not for you"))
        await passes(TIMES.retry_s)
        (problem,) = race.candidates[0].problems
        assert "not for you" in problem
        assert 'Let this service account "get", "create" and "patch" leases' in problem
        assert "in namespace karpenter" in problem

    play(scene, 1)


def test_a_path_that_is_not_served_for_a_moment_takes_the_lease_from_nobody() -> None:
    async def scene(race: Race) -> None:
        await passes(1.0)
        race.candidates[0].api.plan("get", refused(404, "NotFound", "404 page not found"))
        assert await race.watch(60.0) == [[0]] * 240
        assert len(race.candidates[0].problems) == 1

    play(scene)
