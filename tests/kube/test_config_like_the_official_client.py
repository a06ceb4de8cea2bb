"""The official client's loader understands the same files in the same way.

It differs from kubectl in one point, where we follow kubectl: with several files, its
``current-context`` is the last one's.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.config import kube_config

from unmoor.kube.auth import Anonymous, Auth, Basic, Token, TokenFile
from unmoor.kube.config import Config, load

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
DATA = base64.b64encode(PEM.encode()).decode()

FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # a cluster, a user
    "nobody": ({}, {}),
    "token": ({}, {"token": "t0ken"}),
    "token file": ({}, {"tokenFile": "token"}),
    "name and password": ({}, {"username": "ann", "password": "pa:ss word"}),
    "certificate by path": ({}, {"client-certificate": "a.crt", "client-key": "sub/a.key"}),
    "certificate inline": ({}, {"client-certificate-data": DATA, "client-key-data": DATA}),
    "certificate and token": (
        {},
        {"token": "t", "client-certificate-data": DATA, "client-key-data": DATA},
    ),
    "inline before path": (
        {"certificate-authority-data": DATA, "certificate-authority": "none"},
        {},
    ),
    "authority by path": ({"certificate-authority": "./ca.crt"}, {}),
    "authority inline": ({"certificate-authority-data": DATA}, {}),
    "no trust": ({"insecure-skip-tls-verify": True}, {}),
    "trust in words": ({"insecure-skip-tls-verify": False}, {}),
    "another name": ({"tls-server-name": "api.internal"}, {}),
    "plain": ({"server": "http://127.0.0.1:8080"}, {}),
    "under a path": ({"server": "https://r.io/k8s/clusters/c-1"}, {}),
    "with a slash": ({"server": "https://r.io/"}, {}),
}


def official(paths: str, context: str | None) -> Any:
    configuration = client.Configuration()
    load_kube_config: Any = kube_config.load_kube_config
    load_kube_config(paths, context, configuration, persist_config=False)
    return configuration


def header_of(auth: Auth) -> str | None:
    match auth:
        case Token():
            return f"Bearer {auth.token.reveal()}"
        case TokenFile():
            return f"Bearer {auth.path.read_text().strip()}"
        case Basic():
            pair = f"{auth.username}:{auth.password.reveal()}"
            return "Basic " + base64.b64encode(pair.encode()).decode()
        case Anonymous():
            return None


def contents(path: str | None) -> str:
    return Path(path).read_text() if path else ""


def facts_of_ours(config: Config) -> dict[str, Any]:
    return {
        "server": config.server,
        "header": header_of(config.auth),
        "verify": not config.is_insecure,
        "authority": config.authority if config.server.startswith("https") else "",
        "certificate": config.certificate,
        "key": config.key.reveal(),
        "name": config.tls_server_name or None,
    }


def facts_of_theirs(theirs: Any) -> dict[str, Any]:
    return {
        "server": theirs.host,
        "header": header_of_theirs(theirs),
        "verify": theirs.verify_ssl,
        "authority": contents(theirs.ssl_ca_cert),
        "certificate": contents(theirs.cert_file),
        "key": contents(theirs.key_file),
        "name": theirs.tls_server_name or None,
    }


def header_of_theirs(theirs: Any) -> str | None:
    """The header that a request would carry."""
    settings = theirs.auth_settings()
    return settings["BearerToken"]["value"] if "BearerToken" in settings else None


def write(directory: Path, name: str, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    for beside in ("a.crt", "sub/a.key", "ca.crt"):
        path = directory / beside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{PEM}# {beside} of {directory.name}\n")
    (directory / "token").write_text(f"token-of-{directory.name}")
    content = {
        "clusters": [{"name": f"c-{name}", "cluster": {"server": "https://api:6443"} | cluster}],
        "users": [{"name": f"u-{name}", "user": user}],
        "contexts": [{"name": name, "context": {"cluster": f"c-{name}", "user": f"u-{name}"}}],
        "current-context": name,
    }
    file = directory / "config"
    file.write_text(json.dumps(content))
    return file


@pytest.mark.parametrize("form", FORMS)
def test_each_form_alone(tmp_path: Path, form: str) -> None:
    file = write(tmp_path, "prod", *FORMS[form])

    ours = load(path=str(file), environ={})

    assert facts_of_ours(ours) == facts_of_theirs(official(str(file), None))


@pytest.mark.parametrize("context", ["one", "two"])
def test_two_files_together(tmp_path: Path, context: str) -> None:
    relative = ({"certificate-authority": "ca.crt"}, {"tokenFile": "token"})
    paths = ":".join(str(write(tmp_path / name, name, *relative)) for name in ("one", "two"))

    ours = load(context=context, environ={"KUBECONFIG": paths})

    assert facts_of_ours(ours) == facts_of_theirs(official(paths, context))
