"""``unmoor sim up`` called wrongly: what is wrong, which value, and what to do instead."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unmoor.app.cli import main
from unmoor.sim import trouble


def call(*args: str, stdin: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(main, ["sim", "up", "--port=0", *args], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--faults=api,nodedies"], 2, "'nodedies' is no fault: write node-dies, or see"),
        (["--faults=x"], 2, "'x' is no fault: see `unmoor sim up --faults help`"),
        (["--faults=node,unmoor", "--no-controller"], 2, "unmoor-restart befalls unmoor"),
        (["--speed=0"], 2, "--speed"),
        (["--speed=nan"], 2, "--speed"),
        (["--port=70000"], 2, "--port"),
        (["--empty", "--load=x"], 2, "--empty and --load exclude each other"),
        (["--load=nowhere"], 1, "nowhere does not exist"),
        (["--kubeconfig=/dev/null"], 1, "/dev/null is no file: give --kubeconfig another path"),
        (["--kubeconfig=/nowhere/a"], 1, "/nowhere/a cannot be written: No such file"),
        (["--faults="], 2, "'' names no fault: see `unmoor sim up --faults help`, or leave it out"),
        (["--faults= ,"], 2, "' ,' names no fault"),
        (["--load=-"], 1, "standard input holds no objects: pipe manifests in"),
        (["--host=192.0.2.1"], 1, "--host: 192.0.2.1:0 cannot be listened on: Cannot assign"),
        (["--host=nowhere.invalid"], 1, "--host: nowhere.invalid:0 cannot be listened on"),
    ],
)
def test_a_wrong_call(
    args: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    found = call(*args)

    assert found[0] == code
    assert said in found[1]
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(
            main, ["sim", "up", f"--port={port}", f"--kubeconfig={tmp_path / 'k'}"]
        )

    assert result.exit_code == 1
    assert f"--port: 127.0.0.1:{port} cannot be listened on: Address already in use" in (
        result.output
    )


def test_somebody_elses_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("apiVersion: v1\nkind: Config\n")

    code, said = call(f"--kubeconfig={path}")

    assert code == 1
    assert f"{path} is there and was not written by `unmoor sim up`" in said
    assert path.read_text() == "apiVersion: v1\nkind: Config\n"


def test_the_faults_are_listed() -> None:
    code, said = call("--faults=help")

    assert code == 0
    assert all(f"  {name} " in said for name in trouble.ABOUT)


def pod(**metadata: Any) -> dict[str, Any]:
    meta = {"name": "web-1", "namespace": "default", "uid": "u-1", **metadata}
    spec = {"containers": [{"name": "c", "image": "c"}], "nodeName": "a"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def test_a_dump_without_owners_is_refused(tmp_path: Path) -> None:
    """The garbage collector would take its pods away at once."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-0"}
    dump = {"kind": "List", "apiVersion": "v1", "items": [pod(ownerReferences=[owner])]}

    code, said = call("--load=-", f"--kubeconfig={tmp_path / 'k'}", stdin=json.dumps(dump))

    assert code == 1
    assert "pod/default/web-1 belongs to replicaset/web, which is not loaded: dump all" in said
    assert "kubectl get replicasets,deployments -A -o json" in said


def test_all_owners_that_are_missing_are_named_at_once(tmp_path: Path) -> None:
    """With the owners of those owners: nobody can say who they are."""
    web = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-0"}
    machine = {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Machine", "name": "m", "uid": "u-9"}
    meta = {"name": "a", "uid": "u-2", "ownerReferences": [machine]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": meta}
    items = [pod(ownerReferences=[web]), node]
    dump = {"kind": "List", "apiVersion": "v1", "items": items}

    code, said = call("--load=-", f"--kubeconfig={tmp_path / 'k'}", stdin=json.dumps(dump))

    assert code == 1
    assert "pod/default/web-1 belongs to replicaset/web" in said
    assert "node/a belongs to machine/m, which are not loaded" in said
    assert "kubectl get replicasets,deployments,machines,provisioners -A -o json" in said


def test_what_is_no_object_is_told_as_such(tmp_path: Path) -> None:
    code, said = call("--load=-", f"--kubeconfig={tmp_path / 'k'}", stdin="{}")

    assert code == 1
    assert "standard input, document 1 is no Kubernetes object: it has no kind" in said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"spec": {"containers": "none"}},
            "pod.json, document 1: pod/default/web-1 cannot be loaded: Pod in",
        ),
        ({"metadata": {"name": "web-1", "uid": "u", "labels": 3}}, "metadata.labels is 3"),
        ({"metadata": {"uid": "u"}}, "Pod without metadata.name"),
        ({"apiVersion": "v2"}, "apiVersion 'v2' of Pod: write v1"),
    ],
    ids=["types", "metadata", "no name", "version"],
)
def test_a_bad_object_is_named(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    file = tmp_path / "pod.json"
    file.write_text(json.dumps({**pod(), **wrong}))

    code, found = call(f"--load={file}", f"--kubeconfig={tmp_path / 'k'}")

    assert code == 1
    assert said in found
