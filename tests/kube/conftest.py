"""What several tests of the client need on disk."""

from pathlib import Path

import pytest

from tests.kube.kubeconfigs import KEY, PEM, write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the kubeconfig goes; certificates and a token lie beside it."""
    write(tmp_path / "ca.crt", PEM)
    write(tmp_path / "client.crt", PEM)
    write(tmp_path / "client.key", KEY)
    write(tmp_path / "token", "t0ken\n")
    return tmp_path / "config"
