"""Is a pod on its way to a node? (T114)"""

from __future__ import annotations

import pytest

from tests.builders import at, node, pod
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.policy import nomination


@pytest.mark.parametrize(
    ("one", "is_coming"),
    [
        (pod(on="", nominated_to="a", phase="Pending"), True),
        (pod(on="", nominated_to="b", phase="Pending"), False),
        (pod(on="", phase="Pending"), False),
        (pod(on="b", nominated_to="a"), False),
        (pod(on="", nominated_to="a", phase="Pending", gone_by=at(20)), False),
        (pod(on="", nominated_to="a", phase="Failed"), False),
    ],
    ids=["nominated", "to another", "to none", "placed elsewhere", "deleted", "finished"],
)
def test_who_is_coming(one: Pod, *, is_coming: bool) -> None:
    found = nomination.nominated_for(View.of(node(), one), node())

    assert found == (one if is_coming else None)
