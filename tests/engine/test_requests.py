"""What a pod holds on its node while it is resized in place (KEP 1287).

What it asks for is in ``test_judge``, with what comes of it.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests import builders
from tests.engine.pieces import view_of
from unmoor.engine import requests
from unmoor.engine.scenery import scene_of
from unmoor.engine.sites import Standing
from unmoor.model.pod import Pod, PodSpec
from unmoor.model.scheduling import Container, ResourceRequirements


def asks(cpu: str) -> ResourceRequirements:
    return ResourceRequirements(requests={"cpu": cpu})


def runs_with(cpu: str, allocated: str = "", name: str = "main") -> dict[str, Any]:
    granted = {"allocatedResources": {"cpu": allocated}} if allocated else {}
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **granted}


MAIN = PodSpec(containers=(Container(name="main", resources=asks("1")),))
SIDECAR = PodSpec(
    containers=MAIN.containers,
    init_containers=(Container(name="side", restart_policy="Always", resources=asks("1")),),
)
FIRST = PodSpec(
    containers=MAIN.containers, init_containers=(Container(name="first", resources=asks("2")),)
)
WHOLE = PodSpec(containers=MAIN.containers, resources=asks("2"))
NEVER = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
LATER = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
UNDER_WAY = {"type": "PodResizeInProgress", "status": "True"}


@pytest.mark.parametrize(
    ("spec", "given", "cpu_milli"),
    [
        pytest.param(MAIN, {}, 1000, id="nobody says"),
        pytest.param(MAIN, {"containerStatuses": [runs_with("1", "1")]}, 1000, id="as it asks"),
        pytest.param(MAIN, {"containerStatuses": [{"name": "main"}]}, 1000, id="without amounts"),
        pytest.param(
            MAIN, {"containerStatuses": [runs_with("9", name="other")]}, 1000, id="somebody else's"
        ),
        pytest.param(
            MAIN,
            {"containerStatuses": [runs_with("3", "1")], "conditions": [UNDER_WAY]},
            3000,
            id="it runs with more: it is being made smaller",
        ),
        pytest.param(
            MAIN,
            {"containerStatuses": [runs_with("500m", "4")], "conditions": [UNDER_WAY]},
            4000,
            id="it is granted more, and is asked to be smaller again",
        ),
        pytest.param(
            MAIN, {"containerStatuses": [runs_with("500m", "500m")]}, 1000, id="it asks for more"
        ),
        pytest.param(
            MAIN,
            {"containerStatuses": [runs_with("500m", "500m")], "conditions": [LATER]},
            1000,
            id="it will get more, later",
        ),
        pytest.param(
            MAIN,
            {"containerStatuses": [runs_with("250m", "500m")], "conditions": [NEVER]},
            500,
            id="it will never get more",
        ),
        pytest.param(
            SIDECAR, {"initContainerStatuses": [runs_with("3", name="side")]}, 4000, id="a sidecar"
        ),
        pytest.param(
            FIRST, {"initContainerStatuses": [runs_with("9", name="first")]}, 2000, id="it is over"
        ),
        pytest.param(
            WHOLE,
            {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2500m"}},
            3000,
            id="the pod as a whole is made smaller",
        ),
        pytest.param(
            WHOLE,
            {"resources": {"requests": {"cpu": "1500m"}}, "conditions": [NEVER]},
            1500,
            id="the pod as a whole never gets more",
        ),
        pytest.param(
            WHOLE,
            {"containerStatuses": [runs_with("8")]},
            2000,
            id="the whole says, whatever its containers have",
        ),
    ],
)
def test_a_pod_that_is_resized_holds_what_it_has(
    spec: PodSpec, given: dict[str, Any], cpu_milli: int
) -> None:
    """KEP 1287; what its successor will ask for is in its spec."""
    body = {"metadata": {"name": "p", "uid": "u"}, "status": {"phase": "Running", **given}}
    spec = msgspec.structs.replace(spec, node_name="a")
    resized = msgspec.structs.replace(msgspec.convert(body, Pod, strict=False), spec=spec)
    [place] = scene_of(view_of(builders.node("a"), resized), ()).places

    assert requests.used_by(resized) == {"cpu": cpu_milli, "pods": 1}
    assert requests.requests_of(resized) == requests.requests_of(Pod(spec=spec))
    assert place.allocatable["cpu"] - Standing(place, view_of()).free["cpu"] == cpu_milli
