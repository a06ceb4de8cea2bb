"""``unmoor sim cluster``: what it prints can be loaded, and is what was asked for."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from unmoor.app import loading, manifests
from unmoor.app.cli import main
from unmoor.app.manifests import Notes, Objects
from unmoor.app.simulated_instances import with_instances
from unmoor.model import kinds
from unmoor.sim.apiserver import FAITHFUL, Server
from unmoor.sim.clusters.mix import Kind

SMALL = ("--nodes", "6", "--pods", "30", "--seed", "7")


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ("sim", "cluster", *args))
    return result.exit_code, result.stdout, result.stderr


def read(tmp_path: Path, *args: str) -> Objects:
    code, out, _ = run(*args)
    assert code == 0
    (file := tmp_path / "cluster").write_text(out)
    notes = Notes()
    objects = manifests.read(file, notes=notes)
    assert notes.told == ""
    return objects


def test_both_forms_say_the_same_and_the_same_each_time() -> None:
    _, listed, _ = run(*SMALL, "-o", "json")
    _, text, _ = run(*SMALL)

    assert json.loads(listed)["kind"] == "List"
    assert list(yaml.safe_load_all(text)) == json.loads(listed)["items"]
    assert run(*SMALL, "-o", "json")[1] == listed


def test_machines_on_their_way_are_said_to_come_on_top() -> None:
    _, listed, said = run("--nodes", "20", "-o", "json")

    kinds_of = Counter(one["kind"] for one in json.loads(listed)["items"])
    assert kinds_of["Node"] == 20
    assert said.startswith(
        f"unmoor: 20 nodes and {kinds_of['Pod']} pods made up; 1 Machine besides"
    )


@pytest.mark.parametrize("args", [SMALL, (*SMALL, "-o", "json"), ("--hard", "--seed", "4")])
async def test_it_can_be_loaded(args: tuple[str, ...], tmp_path: Path) -> None:
    """As `unmoor sim up --load` does it."""
    objects = read(tmp_path, *args)
    cluster = manifests.cluster_of(objects, "")
    complete, replaced = with_instances(objects, cluster=cluster)
    server = Server(lambda: datetime(2026, 1, 6, tzinfo=UTC), manners=FAITHFUL)
    await loading.load(server, complete, cluster=cluster)

    assert cluster == "sim"
    assert not replaced
    wanted = Counter(ref.kind for ref, _ in objects)
    for resource in (kinds.NODES, kinds.PODS, kinds.MACHINES, kinds.REPLICA_SETS, kinds.CLAIMS):
        assert len(server.list(resource).items) == wanted[resource.kind]
    launched = sum("providerID" in body["status"] for ref, body in objects if ref.kind == "Machine")
    assert len(server.list(kinds.INSTANCES).items) == launched


def test_it_is_of_the_size_and_of_the_kinds_that_were_asked_for(tmp_path: Path) -> None:
    objects = read(tmp_path, *SMALL, "--only", "host-port, cordon")
    nodes = [body for ref, body in objects if ref.kind == "Node"]
    pods = [body for ref, body in objects if ref.kind == "Pod" and ref.namespace != "kube-system"]

    assert (len(nodes), len(pods)) == (6, 30)
    assert sum(node["spec"].get("unschedulable", False) for node in nodes) == 2
    assert any("ports" in pod["spec"]["containers"][0] for pod in pods)
    assert not any("affinity" in pod["spec"] for pod in pods)


def test_the_kinds_are_listed() -> None:
    code, out, _ = run("--only", "help")

    assert code == 0
    assert set(out.replace(":", ",").replace("\n", ", ").split(", ")) >= set(Kind)


def test_a_misspelt_kind_is_refused_with_a_hint() -> None:
    code, out, err = run("--only", "hostport")

    assert (code, out) == (2, "")
    assert "'hostport' is no kind: write host-port, or see `unmoor sim cluster --only help`" in err
