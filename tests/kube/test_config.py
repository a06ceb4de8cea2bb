"""Kubeconfig files and service accounts: where they are found and what is read."""

from pathlib import Path
from typing import Any

import pytest

from tests.kube.kubeconfigs import HIDDEN, KEY, PEM, inline, kubeconfig, load_file, write
from unmoor.kube.auth import Anonymous, Basic, Secret, Token, TokenFile
from unmoor.kube.config import Config, ConfigError, in_cluster, load

# ------------------------------------------------------------------------------------ what is read


def test_a_token(file: Path) -> None:
    config = load_file(write(file, kubeconfig({"token": "t0ken"})))

    assert config.server == "https://api:6443"
    assert config.auth == Token(Secret("t0ken"))
    assert config.namespace == "default"
    assert config.origin == f"{file}: context 'prod'"


def test_a_token_file_is_kept_as_a_path_because_it_rotates(file: Path) -> None:
    config = load_file(write(file, kubeconfig({"tokenFile": "token", "token": "older"})))

    assert config.auth == TokenFile(file.parent / "token")


def test_name_and_password(file: Path) -> None:
    config = load_file(write(file, kubeconfig({"username": "ann", "password": HIDDEN})))

    assert config.auth == Basic("ann", Secret(HIDDEN))


def test_certificates_by_path_are_relative_to_the_file(file: Path) -> None:
    user = {"client-certificate": "client.crt", "client-key": str(file.parent / "client.key")}

    config = load_file(write(file, kubeconfig(user, {"certificate-authority": "./ca.crt"})))

    assert (config.certificate, config.key) == (PEM, Secret(KEY))
    assert config.authority == PEM
    assert config.auth == Anonymous()


def test_inline_certificates_win_over_paths(file: Path) -> None:
    user = {
        "client-certificate-data": inline(PEM),
        "client-certificate": "missing.crt",
        "client-key-data": inline(KEY),
        "client-key": "missing.key",
    }
    cluster = {"certificate-authority-data": inline(PEM), "certificate-authority": "missing"}

    config = load_file(write(file, kubeconfig(user, cluster)))

    assert (config.certificate, config.key, config.authority) == (PEM, Secret(KEY), PEM)


def test_the_rest_of_a_context(file: Path) -> None:
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "api.internal"}

    config = load_file(write(file, kubeconfig({}, cluster, {"namespace": "shop"})))

    assert (config.is_insecure, config.tls_server_name) == (True, "api.internal")
    assert config.namespace == "shop"


def test_a_path_in_the_server_is_kept_without_its_last_slash(file: Path) -> None:
    config = load_file(
        write(file, kubeconfig(cluster={"server": "https://r.io/k8s/clusters/c-1/"}))
    )

    assert config.server == "https://r.io/k8s/clusters/c-1"


def test_another_context(file: Path) -> None:
    both = kubeconfig({"token": "t0ken"})
    both["clusters"].append({"name": "c2", "cluster": {"server": "http://dev:8080"}})
    both["contexts"].append({"name": "dev", "context": {"cluster": "c2", "user": "alice"}})

    assert load_file(write(file, both), "dev").server == "http://dev:8080"


def test_a_context_without_a_user_is_anonymous(file: Path) -> None:
    config = load_file(write(file, kubeconfig(context={"user": None})))

    assert config.auth == Anonymous()


def test_nulls_and_unknown_fields_are_passed_over(file: Path) -> None:
    user: dict[str, Any] = {
        "token": "t",
        "exec": None,
        "client-certificate-data": "",
        "as-groups": [],
    }
    cluster = {"proxy-url": "", "extensions": [{"name": "x"}], "disable-compression": True}

    config = load_file(write(file, kubeconfig(user, cluster, preferences={}, extensions=None)))

    assert config.auth == Token(Secret("t"))


# -------------------------------------------------------------------------------- where it is found


def test_several_files_the_first_one_wins(tmp_path: Path) -> None:
    one = write(
        tmp_path / "one" / "config",
        {"users": [{"name": "alice", "user": {"tokenFile": "token"}}], "clusters": None},
    )
    write(tmp_path / "one" / "token", "t0ken")
    two = write(tmp_path / "two", kubeconfig({"token": "other", "exec": {"command": "x"}}))
    three = write(tmp_path / "three", kubeconfig(cluster={"server": "https://late"}))
    paths = f"{tmp_path}/missing:{one}::{two}:{three}"

    config = load(environ={"KUBECONFIG": paths})

    assert config.server == "https://api:6443"
    assert config.auth == TokenFile(one.parent / "token")


def test_the_named_file_comes_before_everything(file: Path) -> None:
    write(file, kubeconfig())

    assert load(path=str(file), environ={"KUBECONFIG": "/nowhere"}).server == "https://api:6443"


def test_in_a_pod_the_service_account_comes_before_the_home_directory(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", kubeconfig())
    account = service_account(tmp_path)
    environ = POD_ENVIRONMENT | {"HOME": str(tmp_path)}

    assert load(environ=environ, service_account=account).server == "https://10.0.0.1:443"
    named = load(environ=environ, service_account=account, context="prod")
    assert named.server == "https://api:6443"


def test_the_home_directory_comes_last(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", kubeconfig())

    assert load(environ={"HOME": str(tmp_path)}).server == "https://api:6443"


def test_nothing_found_says_where_we_looked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"KUBECONFIG: it is not set.*--kubeconfig"):
        load(environ={"HOME": str(tmp_path)})


# ----------------------------------------------------------------------------------- in a cluster

POD_ENVIRONMENT = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def service_account(tmp_path: Path) -> Path:
    directory = tmp_path / "account"
    write(directory / "token", "t0ken")
    write(directory / "ca.crt", PEM)
    write(directory / "namespace", "kube-system\n")
    return directory


def test_a_service_account(tmp_path: Path) -> None:
    directory = service_account(tmp_path)

    config = in_cluster(POD_ENVIRONMENT, directory)

    assert config == Config(
        server="https://10.0.0.1:443",
        origin="service account of this pod",
        namespace="kube-system",
        auth=TokenFile(directory / "token"),
        authority=PEM,
        authority_file=directory / "ca.crt",
    )


def test_a_service_account_on_ipv6(tmp_path: Path) -> None:
    environ = POD_ENVIRONMENT | {"KUBERNETES_SERVICE_HOST": "fd00::1"}

    assert in_cluster(environ, service_account(tmp_path)).server == "https://[fd00::1]:443"


@pytest.mark.parametrize("missing", ["token", "ca.crt", "namespace"])
def test_a_service_account_with_a_hole(tmp_path: Path, missing: str) -> None:
    directory = service_account(tmp_path)
    (directory / missing).unlink()
    if missing == "namespace":
        assert in_cluster(POD_ENVIRONMENT, directory).namespace == "default"
        return

    with pytest.raises(
        ConfigError, match=f"service account of this pod: {missing}: .*No such file"
    ):
        in_cluster(POD_ENVIRONMENT, directory)


def test_not_in_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="KUBERNETES_SERVICE_HOST"):
        in_cluster({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)
