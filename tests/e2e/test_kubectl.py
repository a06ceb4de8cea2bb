"""An unmodified kubectl cannot tell the embedded cluster from a real one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import controlplane
from tests.controlplane import ControlPlane
from tests.e2e import fleet_scripts, kubectl, more_scripts, scripts
from unmoor.model.crds import all_crds

pytestmark = pytest.mark.e2e


def _is_served(plane: ControlPlane, kind: str) -> bool:
    return plane.kubectl("get", kind, check=False).returncode == 0


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(directory=tmp_path_factory.mktemp("plane")) as up:
        up.create(*all_crds())
        up.kubectl("wait", "--for=condition=Established", "--all", "crd", "--timeout=20s")
        for definition in all_crds():
            name = definition["metadata"]["name"]
            controlplane.eventually(f"served {name}", partial(_is_served, up, name))
        yield up


@pytest.mark.parametrize(
    "script",
    [*scripts.SCRIPTS, *fleet_scripts.SCRIPTS, *more_scripts.SCRIPTS],
    ids=lambda script: script.__name__,
)
async def test_the_same_is_said(script: Any, plane: ControlPlane, tmp_path: Path) -> None:
    name = script.__name__
    ours = await kubectl.told(kubectl.embedded(tmp_path, name), script)
    theirs = await kubectl.told(kubectl.real(plane, tmp_path, name), script)

    for mine, real in zip(ours, theirs, strict=True):
        assert mine == real


REFUSED: dict[tuple[str, ...], str] = {
    ("logs", "one"): "there are no logs: containers do not run in a simulated cluster",
    ("exec", "one", "--", "ls"): "nothing can be executed",
    ("attach", "one"): "there is nothing to attach to",
    ("port-forward", "one", "8080:80"): "no port can be forwarded",
    ("debug", "one", "--image=img:1"): "pods cannot be debugged",
    ("top", "nodes"): "Metrics API not available",
    ("autoscale", "deployment", "web", "--max=3", "--cpu=50%"): "kubectl scale works",
    ("get", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes"): "nothing is measured",
    ("create", "token", "default"): "there are no serviceaccounts in a simulated cluster",
}


@pytest.mark.parametrize("command", REFUSED, ids=lambda command: command[0])
async def test_what_a_simulation_has_not_is_refused_in_words(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    async with kubectl.embedded(tmp_path, "refused") as k:
        await fleet_scripts.fleet(k, "node-one")
        await k.quietly("create", "-f", "-", given=scripts.text(fleet_scripts.pod("one")))
        await k.until("Running", "get", "pod", "one", "-o=jsonpath={.status.phase}")
        await k.quietly("create", "deployment", "web", "--image=img:1")

        said = await k.quietly(*command)

    assert said.code != 0
    assert REFUSED[command] in said.err


async def test_explain_knows_every_field(tmp_path: Path) -> None:
    async with kubectl.embedded(tmp_path, "explained") as k:
        pod = await k.quietly("explain", "pods.spec.nodeName")
        machine = await k.quietly("explain", "machines.spec.requirements", "--recursive")
        nothing = await k.quietly("explain", "pods.spec.color")

    assert "FIELD: nodeName <string>" in pod.out
    assert "operator" in machine.out
    assert nothing.code != 0
