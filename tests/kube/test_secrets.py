"""Secrets do not show: every secret that a kubeconfig can hold, in everything that can be said.

Each field gets a word of its own. The words are then looked for in whatever leaves us other than
towards its addressee: reprs, errors with their causes and notes, tracebacks, logs, warnings.
"""

import asyncio
import json
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from tests.kube.authority import Authority
from tests.kube.issuer import Issuer
from tests.kube.kubeconfigs import inline, kubeconfig, load_file, write
from tests.kube.plugins import Plugin, says
from tests.kube.server import ManualClock, Server, cuts, node, refuses
from tests.kube.server import says as answers
from unmoor.kube.client import KubeApi
from unmoor.kube.config import ConfigError
from unmoor.kube.secret import Secret
from unmoor.model.kinds import NODES
from unmoor.runtime.ports import PortError

WORD = "hunter2"
PAIR = Authority("ours").issue("ann")


def words(field: str) -> str:
    return f"{WORD}-{field}"


def plugin_user(directory: Path, answer: tuple[int, str]) -> dict[str, Any]:
    plugin = Plugin(directory / "bin", answer)
    return dict(
        plugin.user(
            args=["--secret", words("argument")],
            env=[{"name": "KEY", "value": words("variable")}],
            provideClusterInfo=True,
        )
    )


def oidc_user(directory: Path) -> dict[str, Any]:
    issuer = Issuer(directory)
    issuer.port = 1  # nobody is there
    config: dict[str, Any] = issuer.user(
        issuer.id_token(-1, note=words("claim")),
        refresh_token=words("refresh"),
        client_secret=words("client"),
    )
    return config


USERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "token": lambda _: {"token": words("token")},
    "token file": lambda at: {"tokenFile": str(write(at / "secret-token", words("file")))},
    "password": lambda _: {"username": "ann", "password": words("password")},
    "certificate": lambda _: {
        "client-certificate-data": inline(PAIR.certificate),
        "client-key-data": inline(PAIR.key),
    },
    "plugin": lambda at: plugin_user(at, says(token=words("plugin"))),
    "plugin's certificate": lambda at: plugin_user(
        at, says(clientCertificateData=PAIR.certificate, clientKeyData=PAIR.key)
    ),
    "plugin's nonsense": lambda at: plugin_user(at, (0, words("nonsense"))),
    "plugin's failure": lambda at: plugin_user(at, (1, words("failure"))),
    "issuer": oidc_user,
}

WRONG: dict[str, dict[str, Any]] = {
    "token": {"token": [words("token")]},
    "token with a space": {"token": f"a {words('token')}"},
    "password": {"username": "a", "password": [words("password")]},
    "key": {"client-certificate-data": inline(PAIR.certificate), "client-key-data": WORD + "!"},
    "key that is a list": {"client-key-data": [WORD]},
    "argument": {"exec": {"command": "x", "args": [[WORD]]}},
    "arguments": {"exec": {"command": "x", "args": WORD}},
    "variable": {"exec": {"command": "x", "env": [{"name": "A", "value": [WORD]}]}},
    "variables": {"exec": {"command": "x", "env": WORD}},
    "exec": {"exec": WORD},
    "provider": {"auth-provider": WORD},
    "settings": {"auth-provider": {"name": "oidc", "config": WORD}},
    "client secret": {"auth-provider": {"name": "oidc", "config": {"client-secret": [WORD]}}},
    "refresh token": {"auth-provider": {"name": "oidc", "config": {"refresh-token": [WORD]}}},
    "id token": {
        "auth-provider": {
            "name": "oidc",
            "config": {"idp-issuer-url": "https://i", "client-id": "c", "id-token": WORD},
        }
    },
    "gcp": {"auth-provider": {"name": "gcp", "config": {"access-token": WORD}}},
}


@pytest.fixture
def said(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[list[str]]:
    """Whatever was said; looked through at the end, with logs, warnings and output."""
    collected: list[str] = []
    caplog.set_level(logging.DEBUG)
    with capture_logs() as logs, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield collected
        collected += map(str, logs)
        collected += (str(warning.message) for warning in warned)
    collected += [caplog.text, *capfd.readouterr()]
    text = "\n".join(collected)
    secret_key = PAIR.key.splitlines()[1]
    for secret in (WORD, inline(WORD)[:8], secret_key, inline(PAIR.key)[:60], "PRIVATE KEY"):
        assert secret not in text


def told(error: BaseException) -> str:
    """The error as a crash report has it: with causes, without local variables."""
    return "".join((str(error), repr(error), repr(vars(error)), *traceback.format_exception(error)))


@pytest.mark.parametrize("user", USERS)
async def test_a_secret_goes_to_its_addressee_only(
    tmp_path: Path, clock: ManualClock, said: list[str], user: str
) -> None:
    asyncio.get_running_loop().set_debug(True)
    troubles = [
        refuses(401, "Unauthorized"),
        cuts(),
        answers(403, b"go away"),
        answers(200, b"no JSON"),
    ]
    async with Server() as server:
        cluster = {"server": server.url, "extensions": extensions(words("extension"))}
        content = kubeconfig(USERS[user](tmp_path), cluster)
        config = load_file(write(tmp_path / "config", content))
        said += [repr(config), str(config), f"{config}", repr(config.auth), repr([config])]
        async with KubeApi(config, clock=clock, random=Random(1)) as api:
            for trouble in troubles:
                server.otherwise = trouble
                clock.elapsed_s += 61
                with pytest.raises(PortError) as failed:
                    await api.patch(NODES.ref("a"), {})
                said.append(told(failed.value))
            server.otherwise = answers(200, node("a"))
            said += [repr(api), repr(vars(api)), repr(vars(api._credentials))]


@pytest.mark.parametrize("case", WRONG)
def test_a_refusal_does_not_quote_a_secret(tmp_path: Path, said: list[str], case: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_file(write(tmp_path / "config", kubeconfig(WRONG[case])))

    said.append(told(refused.value))


@pytest.mark.parametrize(
    "cluster",
    [
        {"proxy-url": f"http://u:{WORD}@127.0.0.1:1"},
        {"proxy-url": f"https://u:{WORD}@127.0.0.1:1"},
    ],
)
async def test_the_password_of_a_proxy(
    tmp_path: Path, clock: ManualClock, said: list[str], cluster: dict[str, str]
) -> None:
    config = load_file(write(tmp_path / "config", kubeconfig({}, cluster)))
    said += [repr(config), str(config)]
    async with KubeApi(config, clock=clock, random=Random(1)) as api:
        with pytest.raises(PortError) as failed:
            await api.get(NODES.ref("a"))
        said += [told(failed.value), repr(vars(api))]


async def test_an_issuer_that_quotes_what_it_was_sent(
    tmp_path: Path, clock: ManualClock, said: list[str]
) -> None:
    async with Issuer(tmp_path) as issuer, Server() as server:
        body = {"error": "invalid_grant", "error_description": words("refresh")}
        issuer.override = web.json_response(body, status=400)
        user = issuer.user(refresh_token=words("refresh"), client_secret=words("client"))
        config = load_file(write(tmp_path / "config", kubeconfig(user, {"server": server.url})))
        async with KubeApi(config, clock=clock, random=Random(1)) as api:
            with pytest.raises(PortError, match="invalid_grant") as failed:
                await api.get(NODES.ref("a"))
            said.append(told(failed.value))


def extensions(word: str) -> list[dict[str, Any]]:
    return [{"name": "client.authentication.k8s.io/exec", "extension": {"key": word}}]


def test_a_secret_is_wrapped_in_every_form() -> None:
    secret = Secret(WORD)

    for text in (repr(secret), str(secret), f"{secret}", f"{secret!r:>20}", repr([secret])):
        assert WORD not in text
    with pytest.raises(TypeError):
        json.dumps(secret)
    assert secret == Secret(WORD) != Secret("")
    assert bool(secret)
    assert not Secret("")
