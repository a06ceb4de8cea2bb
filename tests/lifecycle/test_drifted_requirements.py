"""When do a provisioner's requirements make a machine drift? (11.14, R11)"""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import machine
from tests.lifecycle.test_drifted import LABELS, UP, drift, image, owner, said, world_of
from tests.lifecycle.worlds import the_machine
from unmoor.model import names
from unmoor.model.machine import MACHINE_DRIFTED


def need(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


REQUIREMENTS: dict[str, tuple[dict[str, Any], bool]] = {
    "T096 spot only": (need(names.CAPACITY_TYPE, "In", "spot"), True),
    "T097 a key that it lacks": (need("team", "In", "shop"), True),
    "T098 windows only": (need(names.OS, "In", "windows"), True),
    "T099 one more value": (need(names.CAPACITY_TYPE, "In", "on-demand", "spot"), False),
    "T099 one more system": (need(names.OS, "In", "linux", "windows"), False),
    "T100 exists": (need(names.OS, "Exists"), False),
    "T101 does not exist": (need(names.OS, "DoesNotExist"), True),
    "T102 greater than what it is": (need(names.INSTANCE_TYPE, "Gt", "5"), True),
    "T103 less than what it is": (need(names.INSTANCE_TYPE, "Lt", "5"), True),
    "greater than less": (need(names.INSTANCE_TYPE, "Gt", "4"), False),
    "R11 absent and not in": (need("team", "NotIn", "shop"), False),
    "R11 absent and need not exist": (need("team", "DoesNotExist"), False),
    "R11 absent and must exist": (need("team", "Exists"), True),
}


# T097
# T098
# T099
# T100
# T101
# T102
# T103
@pytest.mark.parametrize(("one", "is_drift"), REQUIREMENTS.values(), ids=list(REQUIREMENTS))
def test_t096_to_t103_requirements(one: dict[str, Any], *, is_drift: bool) -> None:
    reason, _ = said(world_of(now=owner(requirements=[one])))

    assert reason == ("RequirementsDrifted" if is_drift else "")


def test_t089_requirements_come_before_what_the_cloud_says() -> None:
    wanted = [need(names.OS, "In", "windows")]

    assert said(world_of(now=owner(requirements=wanted), selection=image("ami-3")))[0] == (
        "RequirementsDrifted"
    )


def test_t104_only_the_machine_that_does_not_suit_drifts() -> None:
    other = machine(
        "m-b",
        node_name="b",
        conditions=UP,
        labels=LABELS | {names.OS: "windows"},
        annotations={names.LAUNCH_ATTEMPT: "1"},
    )
    world = world_of(other, now=owner(requirements=[need(names.OS, "In", "linux")]))

    assert drift(world) is None
    assert the_machine(world, "m-b").has(MACHINE_DRIFTED)
