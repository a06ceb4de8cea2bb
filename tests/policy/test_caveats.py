"""What a person should know before a pod is evicted."""

from __future__ import annotations

import pytest

from tests.builders import daemon_pod, mirror_pod, moment, pod
from unmoor.model import names
from unmoor.model.pod import Pod
from unmoor.model.scheduling import EmptyDirSource, Volume
from unmoor.policy import caveats
from unmoor.policy.caveats import Caveat
from unmoor.policy.pods import Patience

SCRATCH = Volume(empty_dir=EmptyDirSource())
KEEPS = {names.DO_NOT_EVICT: "true"}
PATIENCE = Patience(60.0)


@pytest.mark.parametrize(
    ("one", "known"),
    [
        (pod(volumes=(Volume(),)), ()),
        (pod(owners=()), (Caveat.BARE,)),
        (pod(volumes=(Volume(), SCRATCH)), (Caveat.EMPTY_DIR,)),
        (pod(annotations=KEEPS), (Caveat.DO_NOT_EVICT,)),
        (pod(owners=(), volumes=(SCRATCH,), annotations=KEEPS), tuple(Caveat)),
    ],
    ids=["ordinary", "bare", "emptyDir", "do-not-evict", "all"],
)
def test_what_is_known_of_a_pod(one: Pod, known: tuple[Caveat, ...]) -> None:
    assert caveats.caveats_of(one) == known


def test_only_pods_that_are_evicted_are_told_and_the_first_are_named() -> None:
    on_node = [
        *(pod(f"bare-{number}", owners=()) for number in range(5)),
        pod("scratch", volumes=(SCRATCH,)),
        pod("done", owners=(), phase="Succeeded"),
        daemon_pod(),
        mirror_pod(),
    ]

    found = caveats.by_caveat(on_node, moment(), PATIENCE)

    assert [(caveat, len(those)) for caveat, those in found.items()] == [
        (Caveat.BARE, 5),
        (Caveat.EMPTY_DIR, 1),
    ]
    assert caveats.about(found) == (
        "evicted all the same: 5 that nobody makes again "
        "(shop/bare-0, shop/bare-1, shop/bare-2 and 2 more); "
        "1 whose emptyDir data are lost (shop/scratch)"
    )


def test_of_ordinary_pods_nothing_is_said() -> None:
    found = caveats.by_caveat([pod()], moment(), PATIENCE)

    assert found == {}
    assert caveats.about(found) == ""
