"""The official client's loader understands the same files in the same way.

It differs from kubectl in one point, where we follow kubectl: with several files, its
``current-context`` is the last one's.
"""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.config import kube_config

from tests.kube.authority import Authority
from tests.kube.issuer import Issuer
from tests.kube.plugins import V1, V1BETA1, Plugin
from tests.kube.plugins import says as prints
from tests.kube.server import START, ManualClock
from unmoor.kube.config import Config, load
from unmoor.kube.credentials import credentials
from unmoor.kube.renewal import Proof

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
    "proxy": ({"proxy-url": "http://proxy:3128"}, {}),
    "proxy with TLS": ({"proxy-url": "https://proxy:443"}, {}),
}


def official(paths: str, context: str | None) -> Any:
    configuration = client.Configuration()
    load_kube_config: Any = kube_config.load_kube_config
    load_kube_config(paths, context, configuration, persist_config=False)
    return configuration


async def proof_of(config: Config) -> Proof:
    """What the first request carries."""
    found = credentials(config, ManualClock())
    try:
        return await found.proof()
    finally:
        await found.close()


def contents(path: str | None) -> str:
    return Path(path).read_text() if path else ""


async def facts_of_ours(config: Config) -> dict[str, Any]:
    proof = await proof_of(config)
    return {
        "server": config.server,
        "header": proof.header.reveal() or None,
        "verify": not config.is_insecure,
        "authority": config.authority if config.server.startswith("https") else "",
        "certificate": proof.certificate,
        "key": proof.key.reveal(),
        "name": config.tls_server_name or None,
        "proxy": config.proxy.url if config.proxy else None,
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
        "proxy": theirs.proxy,
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
async def test_each_form_alone(tmp_path: Path, form: str) -> None:
    file = write(tmp_path, "prod", *FORMS[form])

    ours = load(path=str(file), environ={})

    assert await facts_of_ours(ours) == facts_of_theirs(official(str(file), None))


@pytest.mark.parametrize("context", ["one", "two"])
async def test_two_files_together(tmp_path: Path, context: str) -> None:
    relative = ({"certificate-authority": "ca.crt"}, {"tokenFile": "token"})
    paths = ":".join(str(write(tmp_path / name, name, *relative)) for name in ("one", "two"))

    ours = load(context=context, environ={"KUBECONFIG": paths})

    assert await facts_of_ours(ours) == facts_of_theirs(official(paths, context))


# ------------------------------------------------------------------------- plugins and issuers


async def both_with(tmp_path: Path, user: Any, **cluster: Any) -> tuple[Any, Any]:
    """What both make of one file, ours first."""
    file = write(tmp_path, "prod", cluster, user)
    ours = await facts_of_ours(load(path=str(file), environ={}))
    theirs = await asyncio.to_thread(official, str(file), None)  # it blocks
    return ours, facts_of_theirs(theirs)


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_plugin_is_asked_alike(tmp_path: Path, version: str) -> None:
    plugin = Plugin(tmp_path / "bin", prints(version, token="t1"))
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    cluster = {"certificate-authority-data": DATA, "extensions": [extension]}
    user = plugin.user(
        version,
        command="bin/plugin",
        args=["a", "b c"],
        env=[{"name": "REGION", "value": "eu"}],
        provideClusterInfo=True,
    )

    ours, theirs = await both_with(tmp_path, user, **cluster)

    assert ours == theirs
    first, second = plugin.asked()
    assert first[0] == second[0]
    assert first[2]["REGION"] == second[2]["REGION"]
    # They also pass on the extensions as they stand in the file.
    del second[1]["spec"]["cluster"]["extensions"]
    assert first[1] == second[1]


async def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    pair = Authority("ours").issue("ann")
    answer = prints(clientCertificateData=pair.certificate, clientKeyData=pair.key)
    plugin = Plugin(tmp_path / "bin", answer)

    ours, theirs = await both_with(tmp_path, plugin.user())

    assert ours == theirs
    assert ours["certificate"] == pair.certificate


async def test_a_valid_id_token(tmp_path: Path) -> None:
    issuer = Issuer(tmp_path)
    issuer.port = 1

    ours, theirs = await both_with(tmp_path, issuer.user(issuer.id_token(10**9)))

    assert ours == theirs
    assert ours["header"].startswith("Bearer ey")


async def test_an_expired_id_token_is_renewed_by_the_same_request(tmp_path: Path) -> None:
    async with Issuer(tmp_path) as issuer:
        issuer.now, issuer.rotates = (lambda: START), False
        ours, theirs = await both_with(tmp_path, issuer.user(issuer.id_token(-100)))

    assert ours["header"].startswith("Bearer ey")
    (our_login, our_form), (their_login, their_form) = issuer.requests
    assert {key: our_form[key] for key in our_form} == {key: their_form[key] for key in our_form}
    # Theirs does not escape the colon in the secret, which RFC 6749 asks for.
    assert our_login.split()[0] == their_login.split()[0] == "Basic"
    assert theirs["header"].startswith("Bearer ey")
