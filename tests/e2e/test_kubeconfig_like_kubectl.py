"""Several kubeconfig files mean to us what they mean to kubectl."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import controlplane
from unmoor.kube import config
from unmoor.kube.auth import Secret, Token

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("context", ["", "one", "two"])
def test_several_files_are_merged_as_kubectl_merges_them(tmp_path: Path, context: str) -> None:
    paths = []
    for name in ("one", "two"):
        content = {
            "clusters": [{"name": "c", "cluster": {"server": f"https://{name}:6443"}}],
            "users": [{"name": f"u-{name}", "user": {"token": name}}],
            "contexts": [{"name": name, "context": {"cluster": "c", "user": f"u-{name}"}}],
            "current-context": name,
        }
        paths.append(tmp_path / name / "config")
        paths[-1].parent.mkdir()
        paths[-1].write_text(json.dumps(content))
    environ = {"KUBECONFIG": ":".join(map(str, [tmp_path / "missing", *paths]))}
    kubectl = [
        str(controlplane.binaries_or_skip() / "kubectl"),
        "config",
        "view",
        "--raw",
        "--minify",
        "-o=json",
    ]
    command = [*kubectl, f"--context={context}"]
    said = subprocess.run(command, env=environ, check=True, capture_output=True)
    theirs = json.loads(said.stdout)

    ours = config.load(context=context, environ=environ)

    assert ours.server == theirs["clusters"][0]["cluster"]["server"]
    assert ours.auth == Token(Secret(theirs["users"][0]["user"]["token"]))
