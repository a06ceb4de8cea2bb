"""What the server will not write is an answer that steps find, until a write is done."""

from __future__ import annotations

import pytest

from tests.runtime.bench import Bench, cordon
from tests.runtime.scripted import Planned, refused
from unmoor.lifecycle.effects import Create, Evict
from unmoor.model.kinds import DISRUPTIONS, PROVISIONERS
from unmoor.model.observation import Asked
from unmoor.runtime.ports import Unreachable


@pytest.mark.parametrize(
    ("answer", "is_refusal"),
    [
        (refused(403, "Forbidden", "admission webhook denied the request"), True),
        (refused(422, "Invalid"), True),
        (refused(500, "InternalError", "failed calling webhook"), True),
        (refused(409, "Conflict"), False),
        (refused(429, "TooManyRequests"), False),
        (Unreachable("reset"), False),
    ],
    ids=str,
)
def test_only_a_word_of_the_server_is_a_refusal(answer: Planned, *, is_refusal: bool) -> None:
    bench = Bench()
    bench.api.plan("patch", answer)
    bench.do(cordon(bench.node))
    found = bench.store.answer(Asked.WRITE, bench.node.uid)

    assert (found is not None) == is_refusal
    assert found is None or found.problem is not None


def test_a_write_that_is_done_ends_it() -> None:
    bench = Bench()
    bench.api.plan("patch", refused(403, "Forbidden"), None)
    bench.do(cordon(bench.node))
    bench.do(cordon(bench.node))
    found = bench.store.answer(Asked.WRITE, bench.node.uid)

    assert found is not None
    assert found.result is True


def test_evictions_have_an_answer_of_their_own() -> None:
    bench = Bench()
    bench.api.plan("create", refused(403, "Forbidden"))
    bench.do(Evict(ref=bench.pod))

    assert bench.store.answer(Asked.WRITE, bench.pod.uid) is None
    assert bench.store.answer(Asked.EVICTION, bench.pod.uid) is not None


def test_a_creation_that_is_refused_is_remembered_about_its_owner() -> None:
    """Until one is done; what nobody knows changes nothing."""
    bench = Bench()
    owner = PROVISIONERS.ref("default", uid="uid-default")
    bench.api.plan("create", None, refused(403, "Forbidden", "quota"), Unreachable("reset"), None)
    found = []
    for number in range(4):
        ref = DISRUPTIONS.ref(f"expire-{number}")
        body = {"spec": {"method": "expiration", "nodes": []}}
        bench.do(Create(ref=ref, body=body, owner=owner))
        answer = bench.store.answer(Asked.CREATION, owner.uid)
        found.append(answer and (answer.problem.message if answer.problem else "done"))

    assert found == [None, "quota", "quota", "done"]
