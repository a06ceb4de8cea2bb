"""Which yes is believed: one about the object that was asked for."""

from __future__ import annotations

import pytest

from unmoor.kube.answer import foreign
from unmoor.model import kinds
from unmoor.model.base import JSON

POD = kinds.PODS.ref("a", "shop")
HERE = {"namespace": "shop", "name": "a"}
OURS: list[JSON] = [{"kind": "Pod", "metadata": HERE}, {"metadata": HERE}]
DELETED: list[JSON] = [
    {"kind": "Status", "status": "Success"},
    # A real server says so little of an object that its deletion has removed.
    {"kind": "Pod", "metadata": {}, "spec": {}},
]
STRANGE: list[JSON] = [
    {},
    {"kind": "Pod"},
    {"kind": "Pod", "metadata": {"namespace": "shop", "name": "b"}},
    {"kind": "Pod", "metadata": {"namespace": "other", "name": "a"}},
    {"kind": "Node", "metadata": HERE},
    {"kind": "Node", "metadata": {}},
]


@pytest.mark.parametrize("may_be_status", [False, True])
def test_an_answer_about_the_object_is_believed(*, may_be_status: bool) -> None:
    assert not any(foreign(one, POD, "", may_be_status=may_be_status) for one in OURS)


@pytest.mark.parametrize("may_be_status", [False, True])
@pytest.mark.parametrize("answer", STRANGE, ids=str)
def test_an_answer_about_something_else_is_not(answer: JSON, *, may_be_status: bool) -> None:
    assert foreign(answer, POD, "", may_be_status=may_be_status)


@pytest.mark.parametrize("answer", DELETED, ids=str)
def test_what_a_deletion_may_answer_is_no_answer_to_anything_else(answer: JSON) -> None:
    assert not foreign(answer, POD, "", may_be_status=True)
    assert foreign(answer, POD, "", may_be_status=False)
