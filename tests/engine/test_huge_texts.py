"""However much a pod asks for, what is said of it stays a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.scenes import ZONES, instance_type, place, pod, scene, solve, template
from unmoor.model import names
from unmoor.model.wording import JOINED_CHARS_MAX

MANY = [f"value-{number:05}" for number in range(10_000)]
TYPES = (instance_type("t", cpu=4),)


def required(*terms: Any) -> Any:
    must = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"nodeAffinity": {must: {"nodeSelectorTerms": list(terms)}}}


def expressions(*those: tuple[str, str, list[str]]) -> Any:
    return {
        "matchExpressions": [
            {"key": key, "operator": operator, "values": values} for key, operator, values in those
        ]
    }


HUGE: dict[str, Any] = {
    "values": {"affinity": required(expressions(("rack", "In", MANY)))},
    "zones": {"affinity": required(expressions((names.ZONE, "In", MANY)))},
    "a bound": {"affinity": required(expressions(("rack", "Gt", MANY)))},
    "expressions": {
        "affinity": required(expressions(*((one, "In", MANY[:20]) for one in MANY[:200])))
    },
    "terms": {"affinity": required(*(expressions(("rack", "In", [one])) for one in MANY[:60]))},
    "one value": {"affinity": required(expressions((names.ZONE, "In", ["x" * 1_000_000])))},
    "resources": {"requests": {f"example.com/{one}": "1" for one in MANY[:2000]}},
    "a claim": {
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x" * 1_000_000}}]
    },
}


@pytest.mark.parametrize("what", HUGE)
def test_a_refusal_says_the_first_and_counts_the_others(what: str) -> None:
    pods = [pod("p", **HUGE[what])]

    for on in (scene(template(types=TYPES)), scene(place("n", ZONES[0]))):
        (refusals,) = solve(on, pods).refused.values()
        longest = max(len(str(one)) for one in refusals)

        assert longest <= 3 * JOINED_CHARS_MAX
