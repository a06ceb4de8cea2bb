"""What shrinks in the evening of a rehearsal, and what consolidation is said to have saved."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from unmoor.app import evening
from unmoor.model.base import Ref
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.snapshot import View


def command(name: str, phase: DisruptionPhase, saving: str = "0.25") -> Any:
    made = builders.disruption(name, phase=phase)
    spec = builders.changed(made.spec, saving_per_hour=saving, moved_pods=3)
    return builders.changed(made, spec=spec)


@pytest.mark.parametrize(
    ("kind", "said", "replicas"),
    [
        ("Deployment", "3", 3),
        ("Deployment", "0", 0),
        ("Deployment", "-1", None),
        ("Deployment", "few", None),
        ("Deployment", None, None),
        ("StatefulSet", "3", None),
    ],
)
def test_a_deployment_says_how_many_it_needs(
    kind: str, said: str | None, replicas: int | None
) -> None:
    annotations = {} if said is None else {evening.REPLICAS: said}
    ref = Ref(kind, "web", "shop")
    body = {"metadata": {"name": "web", "annotations": annotations}}

    found = evening.wanted([(ref, body)])

    assert found == (() if replicas is None else ((ref, replicas),))


def test_only_what_consolidation_has_done_is_saved() -> None:
    view = View.of(
        command("consolidation-1", DisruptionPhase.SUCCEEDED),
        command("consolidation-2", DisruptionPhase.SUCCEEDED),
        command("consolidation-3", DisruptionPhase.CANCELLED),
        command("emptiness-1", DisruptionPhase.SUCCEEDED, ""),
    )

    assert str(evening.saved(view)) == "consolidation: 2 commands save 0.5 USD/h and moved 6 pods"
    assert evening.saved(View()) == evening.Saved()
