"""One leads: takeovers within bounds, whatever clocks say and however bad the way to the API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.scripted import Late, Lost, Planned, ScriptedApi, Slow, passes, refused
from unmoor.model.base import JSON, Ref
from unmoor.runtime.leader import RELEASE_LIMIT_S, Leader, LeaseTimes
from unmoor.runtime.ports import Unreachable
from unmoor.sim.virtual import VirtualClock, run

TIMES = LeaseTimes()
LEASE = ("karpenter", "unmoor")
TAKEOVER_MOST_S = TIMES.duration_s + 2 * TIMES.retry_s
"""From the holder's last renewal, as seen at the next look, until the look after its end."""


class Way(ScriptedApi):
    """One candidate's way to the shared server: its own troubles, the server's objects."""

    def __init__(self, server: ScriptedApi) -> None:
        super().__init__()
        self.server = server
        self.is_cut = False

    async def _pass(self, verb: str, call: Callable[[], Awaitable[JSON]]) -> JSON:
        happening = await self._begin(verb, "")
        if self.is_cut:
            raise Unreachable("cut off")
        answer = await call()
        if isinstance(happening, Lost):
            raise Unreachable("the answer was lost")
        if isinstance(happening, Late):
            await passes(happening.delay_s)
        return answer

    async def get(self, ref: Ref) -> JSON:
        return await self._pass("get", lambda: self.server.get(ref))

    async def create(self, ref: Ref, body: JSON, **_: Any) -> JSON:
        return await self._pass("create", lambda: self.server.create(ref, body))

    async def patch(self, ref: Ref, body: Any, **_: Any) -> JSON:
        return await self._pass("patch", lambda: self.server.patch(ref, body))


class Candidate:
    """An instance that wants to lead; ``changes`` notes (time, whether it leads)."""

    def __init__(
        self, server: ScriptedApi, identity: str, skew_s: float = 0.0, times: LeaseTimes = TIMES
    ) -> None:
        self.api = Way(server)
        clock = VirtualClock()
        clock.skew_s = skew_s
        self.leader = Leader(self.api, clock, identity=identity, namespace="karpenter", times=times)
        self.changes: list[tuple[float, bool]] = []
        self.problems: list[str] = []
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self.leader.run(self._note, self.problems.append))

    async def stop(self) -> None:
        """As a process stops: no more renewals, then the lease is given up."""
        assert self.task is not None
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task
        await self.leader.release()

    def crash(self) -> None:
        assert self.task is not None
        self.task.cancel()
        self.leader._renewed_at = None

    def _note(self, is_leading: bool) -> None:  # noqa: FBT001 - as the leader calls it
        self.changes.append((asyncio.get_running_loop().time(), is_leading))


class Race:
    """Some candidates for one lease."""

    def __init__(self, count: int, times: LeaseTimes = TIMES) -> None:
        self.server = ScriptedApi()
        skews = (0.0, 3600.0, -3600.0)
        self.candidates = [
            Candidate(self.server, f"c{number}", skews[number % 3], times)
            for number in range(count)
        ]

    def leaders(self) -> list[int]:
        return [n for n, c in enumerate(self.candidates) if c.leader.may_act()]

    def spec(self) -> JSON:
        spec: JSON = self.server.objects["Lease"][LEASE]["spec"]
        return spec

    async def watch(self, seconds: float, step_s: float = 0.25) -> list[list[int]]:
        """Who leads, looked at all the time."""
        seen: list[list[int]] = []
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            seen.append(self.leaders())
            await passes(step_s)
        return seen


def play(
    scene: Callable[[Race], Awaitable[None]], count: int = 2, times: LeaseTimes = TIMES
) -> Race:
    race = Race(count, times)

    async def main() -> None:
        for candidate in race.candidates:
            candidate.start()
        await scene(race)
        for candidate in race.candidates:
            if candidate.task is not None:
                candidate.task.cancel()

    run(main())
    return race


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_first_leads_for_as_long_as_it_lives(count: int) -> None:
    async def scene(race: Race) -> None:
        await passes(0.1)
        assert await race.watch(300.0) == [[0]] * 1200

    race = play(scene, count)
    assert race.candidates[0].changes == [(0.0, True)]
    assert race.spec()["leaseTransitions"] == 0
    assert race.spec()["leaseDurationSeconds"] == 15


@pytest.mark.parametrize("count", [2, 3])
def test_another_takes_over_from_the_dead_within_bounds(count: int) -> None:
    async def scene(race: Race) -> None:
        await passes(60.0)
        race.candidates[0].crash()
        seen = await race.watch(TAKEOVER_MOST_S)
        assert {len(leaders) for leaders in seen} == {0, 1}
        [winner] = race.leaders()
        [(since, _)] = race.candidates[winner].changes
        assert 60.0 + TIMES.duration_s - TIMES.retry_s <= since <= 60.0 + TAKEOVER_MOST_S
        assert race.spec()["leaseTransitions"] == 1
        assert race.spec()["holderIdentity"] == f"c{winner}"

    play(scene, count)


def test_a_clean_stop_hands_over_at_once() -> None:
    async def scene(race: Race) -> None:
        await passes(60.5)
        await race.candidates[0].stop()
        assert not race.candidates[0].leader.may_act()
        assert race.spec()["holderIdentity"] == ""
        await passes(TIMES.retry_s)
        assert race.leaders() == [1]

    play(scene)


def test_whoever_is_cut_off_stops_before_the_other_begins() -> None:
    async def scene(race: Race) -> None:
        await passes(60.5)
        race.candidates[0].api.is_cut = True
        seen = await race.watch(60.0, 0.05)
        assert [] in seen
        assert all(len(leaders) <= 1 for leaders in seen)
        race.candidates[0].api.is_cut = False
        await passes(10.0)
        assert race.leaders() == [1]

    race = play(scene)
    [(_, begun), (stopped_at, ended)] = race.candidates[0].changes
    assert (begun, ended) == (True, False)
    assert 60.0 + TIMES.renew_deadline_s <= stopped_at <= 60.5 + TIMES.renew_deadline_s + 2.0


def test_short_troubles_cost_nobody_the_lead() -> None:
    async def scene(race: Race) -> None:
        await passes(0.5)
        api = race.candidates[0].api
        for trouble in (Unreachable("reset"), refused(500, "InternalError"), refused(429, "Slow")):
            api.plan("get", trouble, None, None, None)
            api.plan("patch", None, trouble, Lost(), None)
        assert await race.watch(120.0) == [[0]] * 480

    play(scene)


def test_a_hanging_request_is_given_up_in_time_to_try_again() -> None:
    async def scene(race: Race) -> None:
        await passes(60.5)
        race.candidates[0].api.plan("patch", Slow(600.0))
        assert await race.watch(60.0) == [[0]] * 240

    play(scene)


def test_a_label_on_the_lease_costs_nobody_the_lead() -> None:
    async def scene(race: Race) -> None:
        await passes(60.5)
        api = race.candidates[0].api
        for number in range(3):
            api.plan("patch", Slow(0.5))
            await passes(1.7)
            race.server.put("Lease", "unmoor", "karpenter", meta={"labels": {"n": f"{number}"}})
            assert await race.watch(0.3, 0.125) == [[0]] * 3
        assert race.leaders() == [0]

    play(scene)


def test_a_lease_that_is_not_there_is_made_by_one() -> None:
    async def scene(race: Race) -> None:
        for candidate in race.candidates:
            candidate.api.plan("create", Slow(0.5))
        seen = await race.watch(10.0)
        assert len(seen[-1]) == 1
        assert all(leaders in ([], seen[-1]) for leaders in seen)

    play(scene, 3)


def test_a_lease_that_somebody_deleted_goes_to_nobody_else_too_soon() -> None:
    async def scene(race: Race) -> None:
        await passes(60.5)
        race.candidates[0].api.is_cut = True
        race.server.remove("Lease", "unmoor", "karpenter")
        seen = await race.watch(60.0, 0.05)
        assert all(len(leaders) <= 1 for leaders in seen)
        assert seen[-1] == [1]

    play(scene)


def test_a_released_lease_of_a_foreign_version_is_read() -> None:
    async def scene(race: Race) -> None:
        await passes(0.1)
        assert race.leaders() == [0]

    race = Race(1)
    race.server.put("Lease", "unmoor", "karpenter", spec={"leaseTransitions": None})

    async def main() -> None:
        race.candidates[0].start()
        await scene(race)

    run(main())
    assert race.spec()["leaseTransitions"] == 1


@pytest.mark.parametrize("trouble", ["never led", "unreachable", "hangs", "taken"])
def test_releasing_is_quick_and_never_raises(trouble: str) -> None:
    async def scene(race: Race) -> None:
        await passes(60.5)
        one = race.candidates[1 if trouble == "never led" else 0]
        match trouble:
            case "unreachable":
                one.api.is_cut = True
            case "hangs":
                one.api.plan("get", Slow(600.0))
            case "taken":
                held = {**race.spec(), "holderIdentity": "c9"}
                race.server.put("Lease", "unmoor", "karpenter", spec=held)
            case _:
                pass
        before = asyncio.get_running_loop().time()
        await one.stop()
        assert asyncio.get_running_loop().time() <= before + RELEASE_LIMIT_S
        assert race.spec()["holderIdentity"] == ("c9" if trouble == "taken" else "c0")

    play(scene)


def test_what_was_taken_in_doubt_is_released_too() -> None:
    async def scene(race: Race) -> None:
        race.candidates[0].api.plan("create", Lost())
        await passes(0.5)
        assert race.leaders() == []
        await race.candidates[0].stop()
        assert race.spec()["holderIdentity"] == ""

    play(scene, 1)


@pytest.mark.parametrize(
    "times", [(15.0, 16.0, 2.0), (15.0, 10.0, 11.0), (15.0, 10.0, 0.0), (0.0, 0.0, 0.0)]
)
def test_times_that_would_make_two_leaders_are_refused(times: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="keep 0 < retry_s <= renew_deadline_s <= duration_s"):
        LeaseTimes(*times)


def test_short_times_are_rounded_to_the_safe_side() -> None:
    """The lease counts whole seconds; 1.4 must not become 1."""
    times = LeaseTimes(1.4, 1.2, 0.1)

    async def scene(race: Race) -> None:
        await passes(10.05)
        race.candidates[0].api.is_cut = True
        seen = await race.watch(5.0, 0.01)
        assert all(len(leaders) <= 1 for leaders in seen)
        assert seen[-1] == [1]

    race = play(scene, times=times)
    assert race.spec()["leaseDurationSeconds"] == 2


TROUBLES: list[Planned] = [
    None,
    Unreachable("reset"),
    Lost(),
    Slow(1.0),
    Slow(4.0),
    Slow(30.0),
    Late(4.0),
    refused(409, "Conflict"),
    refused(500, "InternalError"),
]
DOINGS = ["cut 0", "cut 1", "cut 2", "mend 0", "mend 1", "mend 2", "crash 0", "crash 1", "label"]


def test_the_time_to_act_counts_from_the_question_not_from_the_answer() -> None:
    times = LeaseTimes(3.0, 3.0, 0.5)

    async def scene(race: Race) -> None:
        await passes(10.1)
        race.candidates[0].api.plan("patch", Late(1.4))
        await passes(1.5)
        race.candidates[0].api.is_cut = True
        seen = await race.watch(20.0, 0.01)
        assert all(len(leaders) <= 1 for leaders in seen)
        assert seen[-1] == [1]

    play(scene, times=times)


@given(
    troubles=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["get", "patch", "create"]),
            st.sampled_from(TROUBLES),
        ),
        max_size=30,
    ),
    doings=st.lists(st.sampled_from(DOINGS), max_size=8),
)
def test_there_are_never_two_leaders_and_finally_there_is_one(
    troubles: list[tuple[int, str, Planned]], doings: list[str]
) -> None:
    async def scene(race: Race) -> None:
        for who, what, trouble in troubles:
            race.candidates[who].api.plan(what, trouble)
        seen: list[list[int]] = []
        for doing in doings:
            verb, _, number = doing.partition(" ")
            match verb:
                case "label" if race.server.objects["Lease"]:
                    race.server.put("Lease", "unmoor", "karpenter", meta={"labels": {"a": "b"}})
                case "crash":
                    race.candidates[int(number)].crash()
                case "cut" | "mend":
                    race.candidates[int(number)].api.is_cut = verb == "cut"
                case _:
                    pass
            seen += await race.watch(7.0)
        for candidate in race.candidates:
            candidate.api.calm()
            candidate.api.is_cut = False
        seen += await race.watch(60.0)
        assert all(len(leaders) <= 1 for leaders in seen)
        assert len(seen[-1]) == 1

    play(scene, 3)
