"""Kubeconfig files and service accounts: read like the official client does, refused by name."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from unmoor.kube.auth import Anonymous, Basic, Secret, Token, TokenFile
from unmoor.kube.config import Config, ConfigError, in_cluster, load

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"
HIDDEN = "hunter2"
"""In every secret of these tests; it must never show."""


def inline(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(
    user: Mapping[str, Any] | None = None,
    cluster: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    current: str = "prod",
    **top: Any,
) -> dict[str, Any]:
    """A whole file with one context, named prod."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c1", "cluster": {"server": "https://api:6443"} | dict(cluster or {})}
        ],
        "users": [{"name": "alice", "user": dict(user or {})}],
        "contexts": [
            {"name": "prod", "context": {"cluster": "c1", "user": "alice"} | dict(context or {})}
        ],
        "current-context": current,
    } | top


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the kubeconfig goes; certificates and a token lie beside it."""
    write(tmp_path / "ca.crt", PEM)
    write(tmp_path / "client.crt", PEM)
    write(tmp_path / "client.key", KEY)
    write(tmp_path / "token", "t0ken\n")
    return tmp_path / "config"


def load_file(path: Path, context: str = "") -> Config:
    return load(path=str(path), context=context, environ={})


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


# --------------------------------------------------------------------------------- what is refused

REFUSED: dict[str, tuple[Any, str, str, str]] = {
    # name: (file, field, part of the problem, part of the remedy)
    "exec": (
        kubeconfig({"exec": {"command": "aws", "env": [{"name": "K", "value": HIDDEN}]}}),
        "exec",
        "credential plugins are not supported yet",
        "use a token",
    ),
    "auth-provider": (
        kubeconfig({"auth-provider": {"name": "oidc", "config": {"client-secret": HIDDEN}}}),
        "auth-provider",
        "left Kubernetes in 1.26",
        "use a token",
    ),
    "impersonation": (kubeconfig({"as": "root"}), "as", "impersonation", "rights itself"),
    "impersonated groups": (
        kubeconfig({"as-groups": ["x"]}),
        "as-groups",
        "impersonation",
        "rights",
    ),
    "impersonated uid": (kubeconfig({"as-uid": "x"}), "as-uid", "impersonation", "rights"),
    "impersonated extra": (
        kubeconfig({"as-user-extra": {"x": ["y"]}}),
        "as-user-extra",
        "impersonation",
        "rights",
    ),
    "proxy": (
        kubeconfig(cluster={"proxy-url": f"http://u:{HIDDEN}@proxy"}),
        "proxy-url",
        "proxies are not supported yet",
        "reaches the server directly",
    ),
    "no server": (kubeconfig(cluster={"server": ""}), "server", "not set", "https://host:port"),
    "no scheme": (kubeconfig(cluster={"server": "api:6443"}), "server", "'api:6443'", "https://"),
    "other scheme": (
        kubeconfig(cluster={"server": "ftp://api"}),
        "server",
        "'ftp://api'",
        "https://",
    ),
    "no host": (kubeconfig(cluster={"server": "https://"}), "server", "not a URL", "https://"),
    "bad port": (kubeconfig(cluster={"server": "https://a:x"}), "server", "not a URL", "https://"),
    "query": (kubeconfig(cluster={"server": "https://a?b=c"}), "server", "query", "https://"),
    "user in URL": (
        kubeconfig(cluster={"server": f"https://u:{HIDDEN}@api"}),
        "server",
        "user name in it",
        "move",
    ),
    "token is a number": (kubeconfig({"token": 12345}), "token", "Expected `str", "quotes"),
    "token is a list": (kubeconfig({"token": [HIDDEN]}), "token", "Expected `str", "quotes"),
    "token with spaces": (kubeconfig({"token": f"a {HIDDEN}"}), "token", "spaces", "copy"),
    "token over lines": (kubeconfig({"token": f"a\n{HIDDEN}"}), "token", "odd", "copy"),
    "no token file": (
        kubeconfig({"tokenFile": "none"}),
        "tokenFile",
        "No such file",
        "check the path",
    ),
    "empty token file": (kubeconfig({"tokenFile": "config.empty"}), "tokenFile", "empty", "write"),
    "authority missing": (
        kubeconfig(cluster={"certificate-authority": "none.crt"}),
        "certificate-authority",
        "none.crt: No such file",
        "check the path",
    ),
    "authority not base64": (
        kubeconfig(cluster={"certificate-authority-data": "%%%"}),
        "certificate-authority-data",
        "not PEM in base64",
        "base64 -w0",
    ),
    "key not base64": (
        kubeconfig({"client-certificate-data": inline(PEM), "client-key-data": f"{HIDDEN}!"}),
        "client-key-data",
        "not PEM in base64",
        "base64 -w0",
    ),
    "key missing": (
        kubeconfig({"client-certificate": "client.crt"}),
        "client-key",
        "it is missing",
        "needs its key",
    ),
    "certificate missing": (
        kubeconfig({"client-key-data": inline(HIDDEN)}),
        "client-certificate",
        "it is missing",
        "needs its key",
    ),
    "trust and no trust": (
        kubeconfig(
            cluster={"insecure-skip-tls-verify": True, "certificate-authority-data": inline(PEM)}
        ),
        "insecure-skip-tls-verify",
        "contradicts certificate-authority",
        "remove one",
    ),
    "insecure is a text": (
        kubeconfig(cluster={"insecure-skip-tls-verify": "yes"}),
        "insecure-skip-tls-verify",
        "Expected `bool",
        "",
    ),
    "no such user": (kubeconfig(context={"user": "bob"}), "user", "no user 'bob'", "alice"),
    "no such cluster": (kubeconfig(context={"cluster": "c9"}), "cluster", "no cluster 'c9'", "c1"),
    "no cluster": (kubeconfig(context={"cluster": ""}), "cluster", "not set", "c1"),
    "no current context": (
        kubeconfig(current=""),
        "current-context",
        "not set",
        "prod",
    ),
    "current context unknown": (
        kubeconfig(current="dev"),
        "current-context",
        "no context 'dev'",
        "prod",
    ),
    "a name twice": (
        kubeconfig(users=[{"name": "alice", "user": {"token": HIDDEN}}] * 2),
        "users",
        "'alice' is there twice",
        "rename",
    ),
    "users is a mapping": (kubeconfig(users={"alice": HIDDEN}), "users", "not a list", "list"),
    "a user without a name": (
        kubeconfig(users=[{"user": {}}]),
        "users[0].name",
        "not a text",
        "name",
    ),
    "not YAML": (f"a: [\ntoken: *{HIDDEN}", "line 2, column 8", "not YAML", "correct"),
    "a tag": (f"token: !{HIDDEN} x", "line 1, column 8", "not YAML", "correct"),
    "a control character": (f"token: \x01{HIDDEN}", "kubeconfig", "not YAML", "correct"),
    "not a mapping": (f"- {HIDDEN}", "kind", "no kubeconfig", "kind: Config"),
    "another kind": ({"kind": "Pod", "x": HIDDEN}, "kind", "no kubeconfig", "kind: Config"),
    "empty": ("", "current-context", "not set", "there are none"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_file_field_problem_and_remedy(file: Path, case: str) -> None:
    content, field, problem, remedy = REFUSED[case]
    write(file, content)
    write(file.parent / "config.empty", "")

    with pytest.raises(ConfigError) as refused:
        load_file(file)

    error = refused.value
    assert error.field == field
    assert problem in error.problem
    assert remedy in error.remedy
    assert str(file) in error.where
    assert HIDDEN not in str(error)


@pytest.mark.parametrize("case", ["exec", "auth-provider", "impersonation", "token is a number"])
def test_what_is_wrong_with_a_user_names_context_and_user(file: Path, case: str) -> None:
    with pytest.raises(ConfigError, match="context 'prod': user 'alice'"):
        load_file(write(file, REFUSED[case][0]))


def test_an_unknown_context_that_was_asked_for(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"context: there is no context 'dev'; .*: prod"):
        load_file(write(file, kubeconfig()), "dev")


@pytest.mark.parametrize("where", ["path", "KUBECONFIG"])
def test_a_missing_file(tmp_path: Path, where: str) -> None:
    missing = str(tmp_path / "none")

    with pytest.raises(ConfigError, match=r"none: .*: [Nn]o such file"):
        load(path=missing if where == "path" else "", environ={"KUBECONFIG": missing})


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        load(path=str(tmp_path), environ={})


def test_a_neighbours_broken_entry_does_not_hinder_us(file: Path) -> None:
    content = kubeconfig({"token": "t"})
    content["users"] += [{"name": "bob", "user": {"exec": {"command": "x"}}}, {"name": "eve"}]
    content["clusters"] += [{"name": "odd", "cluster": {"server": 7}}]

    assert load_file(write(file, content)).auth == Token(Secret("t"))


# ------------------------------------------------------------------------------------------ secrets


@pytest.mark.parametrize(
    "user",
    [
        {"token": HIDDEN},
        {"username": "ann", "password": HIDDEN},
        {"client-certificate-data": inline(PEM), "client-key-data": inline(HIDDEN)},
    ],
)
def test_secrets_do_not_show(file: Path, user: dict[str, str]) -> None:
    config = load_file(write(file, kubeconfig(user)))

    for text in (repr(config), str(config), f"{config}", repr(config.auth), f"{config.key}"):
        assert HIDDEN not in text
