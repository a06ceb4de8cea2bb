"""That nobody answers is told once, and so is that somebody does again."""

from __future__ import annotations

import pytest

from tests.runtime.scripted import Cut, ScriptedApi, refused
from unmoor.app.answering import Answering
from unmoor.model.base import Ref
from unmoor.model.kinds import NODES
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.informer import GOOD_WATCH_S
from unmoor.runtime.ports import Api, ApiError, Unreachable
from unmoor.sim import virtual

NODE = Ref("Node", "a")
LOST = Unreachable("GET /a: no answer in time")


def heard(scripted: ScriptedApi) -> tuple[Api, Answering, list[str]]:
    told: list[str] = []
    scripted.put("Node", "a")
    built = Answering(scripted, SystemClock(), told.append)
    return built, built, told


def test_a_silence_is_told_once_and_its_end_too() -> None:
    async def story() -> None:
        scripted = ScriptedApi()
        api, answering, told = heard(scripted)
        scripted.plan("get", LOST, LOST, None)
        for _ in range(2):
            with pytest.raises(Unreachable):
                await api.get(NODE)
        assert answering.problem == "the cluster cannot be reached: GET /a: no answer in time"
        assert answering.last == str(LOST)
        (silence,) = told
        assert silence == (
            "the cluster cannot be reached: GET /a: no answer in time; it is tried again until it "
            "can. Ctrl-C ends that and leaves the node as it is"
        )

        await api.get(NODE)
        await api.get(NODE)

        assert told[1:] == ["the cluster answers again"]
        assert answering.problem == ""

    virtual.run(story())


def test_a_refusal_is_an_answer() -> None:
    async def story() -> None:
        scripted = ScriptedApi()
        api, _, told = heard(scripted)
        scripted.plan("patch", LOST, refused(403))
        with pytest.raises(Unreachable):
            await api.patch(NODE, {})
        with pytest.raises(ApiError):
            await api.patch(NODE, {})

        assert told[1:] == ["the cluster answers again"]

    virtual.run(story())


@pytest.mark.parametrize(("after_s", "is_told"), [(GOOD_WATCH_S, False), (1.0, True)])
def test_a_watch_that_is_cut_in_the_end_says_nothing(after_s: float, is_told: bool) -> None:  # noqa: FBT001
    async def story() -> None:
        scripted = ScriptedApi()
        api, answering, told = heard(scripted)
        scripted.plan("watch", Cut(error=LOST, after_s=after_s))
        with pytest.raises(Unreachable):
            await anext(aiter(api.watch(NODES.raw(), since=str(scripted.version))))

        assert len(told) == is_told
        assert answering.last == str(LOST)

        scripted.put("Node", "b")
        async for _ in api.watch(NODES.raw(), since="100"):
            break
        assert answering.problem == ""

    virtual.run(story())
