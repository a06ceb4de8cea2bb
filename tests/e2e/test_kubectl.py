"""An unmodified kubectl cannot tell the embedded cluster from a real one.

Every verb of it is on one of three lists: it says the same on both clusters (``SAME``; the first
line of a script says what is tried), the embedded one refuses it in words (``REFUSED``), or it asks
no cluster anything (``LOCAL``).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests import controlplane
from tests.controlplane import ControlPlane
from tests.e2e import clusters, kubectl
from tests.e2e.clusters import Script
from tests.e2e.verbs import asking, exposing, objects, reading, running, writing
from unmoor.model.crds import all_crds
from unmoor.model.kinds import INSTANCES
from unmoor.sim.stored import SERVED

pytestmark = pytest.mark.e2e

SAME: dict[str, tuple[Script, ...]] = {
    "annotate": (writing.annotate,),
    "api-resources": (asking.api_resources,),
    "api-versions": (asking.api_versions,),
    "apply": (writing.apply, writing.apply_server_side),
    "auth": (asking.asking,),
    "cluster-info": (asking.asking,),
    "cordon": (running.cordon,),
    "create": (
        writing.create,
        writing.create_storage,
        writing.create_custom,
        exposing.create_stored,
    ),
    "delete": (writing.delete, writing.delete_pods, writing.delete_cascade),
    "describe": (reading.describe,),
    "diff": (writing.diff,),
    "drain": (running.drain,),
    "edit": (writing.edit,),
    "events": (reading.events,),
    "expose": (exposing.expose,),
    "explain": (asking.explain,),
    "get": (reading.get, reading.get_watch, reading.get_fleet),
    "label": (writing.label,),
    "patch": (writing.patch,),
    "proxy": (asking.proxy,),
    "replace": (writing.replace,),
    "rollout": (running.rollout, running.rollout_pause, running.rollout_of_sets),
    "run": (writing.run,),
    "scale": (running.scale,),
    "set": (running.set_,),
    "taint": (running.taint,),
    "top": (asking.asking,),
    "uncordon": (running.cordon,),
    "version": (asking.asking,),
    "wait": (reading.wait,),
}
CONTAINERS = "containers do not run in a simulated cluster"
REFUSED = {
    "attach one": f"there is nothing to attach to: {CONTAINERS}",
    "autoscale deployment web --max=3 --cpu=50%": "kubectl scale works",
    "certificate approve one": "doesn't have a resource type",
    "cluster-info dump": "there are no replicationcontrollers in a simulated cluster",
    "cp one:/etc/hosts hosts": f"nothing can be executed: {CONTAINERS}",
    "cp kubeconfig one:/tmp/kubeconfig": f"nothing can be executed: {CONTAINERS}",
    "create cronjob one --image=img:1 --schedule='* * * * *'": "there are no cronjobs",
    "create token default": "there are no tokens",
    "debug one --image=img:1": f"pods cannot be debugged: {CONTAINERS}",
    "exec one -- ls": f"nothing can be executed: {CONTAINERS}",
    "get --raw /apis/metrics.k8s.io/v1beta1/nodes": "nothing is measured",
    "logs one": f"there are no logs: {CONTAINERS}",
    "logs deployment/web": f"there are no logs: {CONTAINERS}",
    "port-forward one 8080:80": f"no port can be forwarded: {CONTAINERS}",
    "top nodes": "Metrics API not available",
}
LOCAL = {"completion", "config", "kuberc", "kustomize", "plugin"}

SCRIPTS = tuple(dict.fromkeys(script for scripts in SAME.values() for script in scripts))


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


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
async def test_the_same_is_said(script: Script, plane: ControlPlane, tmp_path: Path) -> None:
    name = script.__name__.strip("_").replace("_", "-")
    async with asyncio.TaskGroup() as both:
        ours = both.create_task(clusters.told(clusters.embedded(tmp_path, name), script))
        theirs = both.create_task(clusters.told(clusters.real(plane, tmp_path, name), script))

    found = kubectl.differences(ours.result(), theirs.result())
    assert not found, found
    promised = {verb for verb, scripts in SAME.items() if script in scripts}
    assert promised <= {said.verb for said in ours.result()}


async def test_what_a_simulation_has_not_is_refused_in_words(tmp_path: Path) -> None:
    async with clusters.embedded(tmp_path, "refused") as k:
        await objects.fleet(k, "node-refused")
        made = (objects.pod("one"), objects.workload("Deployment", "web", replicas=1))
        await k.quietly("create -f -", given=objects.text(*made))
        await k.quietly("wait pod/one --for=condition=Ready --timeout=20s")
        await objects.counted(k, "deployment web", "availableReplicas", 1)
        said = {line: await k.quietly(line) for line in REFUSED}

    assert [line for line, one in said.items() if one.code == 0] == []
    wrong = {line: one.err for line, one in said.items() if REFUSED[line] not in one.err}
    assert wrong == {}


async def test_every_verb_is_on_a_list(plane: ControlPlane) -> None:
    told = plane.kubectl("--help").stdout
    commands, _, _ = told.partition("\nUsage:")
    verbs = set(re.findall(r"^  ([a-z-]+) {2,}\S", commands, re.MULTILINE))

    assert len(verbs) > 40, told
    assert verbs - LOCAL - {line.split()[0] for line in REFUSED} - SAME.keys() == set()


def test_explain_is_asked_about_every_kind() -> None:
    asked = {name.partition(".")[0] for name in asking.EXPLAINED}

    assert {one.plural for one in SERVED.values()} - asked == {INSTANCES.plural}
