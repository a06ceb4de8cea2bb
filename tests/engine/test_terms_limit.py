"""How many terms of one kind a pod may have: a limit that is named, and not one below it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.scenes import place, pod, scene, solve, spread, term
from unmoor.engine.refusal import Constraint
from unmoor.engine.wish import TERMS_MAX
from unmoor.model import names


def node_terms(count: int) -> dict[str, Any]:
    one = {"matchExpressions": [{"key": names.OS, "operator": "DoesNotExist"}]}
    required = {"nodeSelectorTerms": [one] * count}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }


def pod_terms(kind: str, count: int) -> dict[str, Any]:
    wish = {"weight": 1, "podAffinityTerm": term(names.HOSTNAME)}
    listed = {"preferredDuringSchedulingIgnoredDuringExecution": [wish] * count}
    return {"affinity": {kind: listed}}


def spreads(count: int) -> dict[str, Any]:
    return {"topologySpreadConstraints": [spread(names.HOSTNAME)] * count}


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("required node affinity terms", node_terms),
        ("pod affinity terms", lambda count: pod_terms("podAffinity", count)),
        ("pod anti-affinity terms", lambda count: pod_terms("podAntiAffinity", count)),
        ("topologySpreadConstraints", spreads),
    ],
)
def test_one_more_than_allowed_is_refused_by_its_name(what: str, fields: Any) -> None:
    on = scene(place("a"))
    allowed, refused = pod("allowed", **fields(TERMS_MAX)), pod("refused", **fields(TERMS_MAX + 1))

    plan = solve(on, [allowed, refused])

    assert dict(plan.placements) == {("default", "allowed"): "a"}
    ((reason,),) = plan.refused.values()
    assert (reason.constraint, reason.subject) == (Constraint.INVALID, what)
    assert f"{TERMS_MAX + 1} {what}, more than {TERMS_MAX}" in reason.missing
