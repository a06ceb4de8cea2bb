"""Id tokens: when they are renewed, where the new ones go, and what an issuer may answer."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from aiohttp import web
from structlog.testing import capture_logs

from tests.kube.asking import client_of, get, tokens
from tests.kube.authority import Authority
from tests.kube.issuer import CLIENT_ID, CLIENT_SECRET, Issuer
from tests.kube.kubeconfigs import HIDDEN, kubeconfig, load_file, write
from tests.kube.server import START, ManualClock, Server, refuses
from tests.kube.tunnel import Tunnel
from unmoor.kube import token_store
from unmoor.kube.auth import Oidc, Secret, Token
from unmoor.kube.client import KubeApi, NoCredentials
from unmoor.kube.config import load
from unmoor.runtime.ports import ApiError


@pytest.fixture
async def issuer(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Issuer]:
    async with Issuer(tmp_path) as running:
        running.now = lambda: START + timedelta(seconds=clock.elapsed_s)
        yield running


def provider(file: Path) -> dict[str, str]:
    config: dict[str, str] = yaml.safe_load(file.read_text())["users"][0]["user"]["auth-provider"][
        "config"
    ]
    return config


async def test_a_valid_token_is_used_and_renewed_before_it_expires(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    first = issuer.id_token(100)
    async with client_of(server, issuer.user(first), clock, file) as api:
        for elapsed_s in (0, 89, 90, 600, 680):
            clock.elapsed_s = elapsed_s
            await get(api)

    sent = tokens(server)
    assert sent[:2] == [first, first]
    assert sent[2] == sent[3] != first
    assert sent[4] not in sent[:4]
    assert issuer.refreshes == 2


async def test_the_client_logs_in_by_a_header(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    async with client_of(server, issuer.user(), clock, file) as api:
        await get(api)

    ((login, form),) = issuer.requests
    assert login == "Basic dW5tb29yLXRlc3RzOmNsaWVudCUzQXMzY3JldA=="  # the colon is escaped
    assert form == {"grant_type": "refresh_token", "refresh_token": "refresh-0"}


@pytest.mark.parametrize("is_public", [True, False])
async def test_the_client_logs_in_in_the_form(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path, *, is_public: bool
) -> None:
    issuer.methods = ["client_secret_basic"] if is_public else ["client_secret_post"]
    user = issuer.user(client_secret="" if is_public else CLIENT_SECRET)
    async with client_of(server, user, clock, file) as api:
        await get(api)

    ((login, form),) = issuer.requests
    assert login == ""
    assert form["client_id"] == CLIENT_ID
    assert form.get("client_secret") == (None if is_public else CLIENT_SECRET)


async def test_a_refused_token_is_renewed_and_the_request_sent_once_more(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    first = issuer.id_token(100)
    server.answers.append(refuses(401, "Unauthorized"))
    async with client_of(server, issuer.user(first), clock, file) as api:
        await get(api)

    assert len(server.seen) == 2
    assert tokens(server)[0] == first != tokens(server)[1]


async def test_an_issuer_that_only_gives_what_is_refused_is_left_in_peace(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    server.otherwise = refuses(401, "Unauthorized")
    async with client_of(server, issuer.user(issuer.id_token(100)), clock, file) as api:
        for _ in range(5):
            with pytest.raises(ApiError, match="401"):
                await get(api)

    assert issuer.refreshes == 1


async def test_many_requests_at_once_ask_the_issuer_once(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    async with client_of(server, issuer.user(), clock, file) as api:
        await asyncio.gather(*(get(api) for _ in range(20)))

    assert issuer.refreshes == 1
    assert len(set(tokens(server))) == 1


# --------------------------------------------------------------------------------------- the file


def annotate(file: Path) -> str:
    """Comments and a mode of its owner's choice."""
    text = "# mine\n" + file.read_text() + "# the end\n"
    file.write_text(text)
    file.chmod(0o640)
    return text


def facts(file: Path) -> tuple[str, int, list[str]]:
    beside = sorted(path.name for path in file.parent.glob("config*"))
    return file.read_text(), file.stat().st_mode & 0o777, beside


def spoil(file: Path, how: str) -> None:
    match how:
        case "locked":
            file.with_name("config.lock").touch()
        case "gone":
            file.unlink()
        case _:
            write(file, kubeconfig(users=[]))


async def test_new_tokens_are_written_where_the_old_ones_stood_and_nothing_else_changes(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    old = issuer.id_token(-5)
    async with client_of(server, issuer.user(old), clock, file) as api:
        text = annotate(file)
        await get(api)

    (new,) = tokens(server)
    expected = text.replace(old, new).replace(
        "refresh-token: refresh-0", "refresh-token: refresh-1"
    )
    assert facts(file) == (expected, 0o640, ["config"])


async def test_a_file_without_the_old_tokens_gets_them_too(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    user = issuer.user()
    del user["auth-provider"]["config"]["id-token"]
    async with client_of(server, user, clock, file) as api:
        await get(api)

    assert provider(file)["id-token"] == tokens(server)[0]
    assert provider(file)["refresh-token"] == "refresh-1"


async def test_a_link_stays_a_link(
    server: Server, issuer: Issuer, clock: ManualClock, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("real")
    async with client_of(server, issuer.user(), clock, tmp_path / "link") as api:
        await get(api)

    assert (tmp_path / "link").is_symlink()
    assert provider(tmp_path / "real")["refresh-token"] == "refresh-1"


async def test_who_was_first_is_believed(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    """As kubectl has renewed them, the old refresh token is worth nothing any more."""
    old, new = issuer.id_token(100), issuer.id_token(5000)
    async with client_of(server, issuer.user(old), clock, file) as api:
        await get(api)
        write(file, kubeconfig(issuer.user(new, refresh_token="refresh-x"), {"server": "x"}))
        issuer.valid = {"refresh-x"}
        clock.elapsed_s = 100
        await get(api)
        assert issuer.refreshes == 0
        clock.elapsed_s = 5000
        await get(api)

    assert tokens(server)[:2] == [old, new]
    assert issuer.requests[0][1]["refresh_token"] == "refresh-x"


@pytest.mark.parametrize("trouble", ["locked", "gone", "another user"])
async def test_a_file_that_cannot_be_written_is_told_and_we_go_on(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path, trouble: str
) -> None:
    async with client_of(server, issuer.user(), clock, file) as api:
        spoil(file, trouble)
        with capture_logs() as logs:
            await get(api)
            clock.elapsed_s = 600
            await get(api)

    assert [log["log_level"] for log in logs] == ["warning"] * 2
    assert {log["file"] for log in logs} == {str(file)}
    assert all(token not in str(logs) for token in [*tokens(server), "refresh-"])
    assert issuer.refreshes == 2


def test_tokens_that_stand_elsewhere_too_change_in_one_place(tmp_path: Path) -> None:
    content = kubeconfig({"auth-provider": {"config": {"id-token": "a", "refresh-token": "b"}}})
    file = write(tmp_path / "config", content)

    assert (
        token_store.write(file, "alice", {"id-token": Secret("x"), "refresh-token": Secret("")})
        == ""
    )

    wanted = content | {
        "users": [
            {
                "name": "alice",
                "user": {"auth-provider": {"config": {"id-token": "x", "refresh-token": "b"}}},
            }
        ]
    }
    assert yaml.safe_load(file.read_text()) == wanted


# --------------------------------------------------------------------------------- wrong answers


def answer(code: int, body: Any) -> web.Response:
    return web.Response(status=code, text=body if isinstance(body, str) else json.dumps(body))


WRONG: dict[str, tuple[web.Response, str]] = {
    "not JSON": (answer(200, HIDDEN), "does not answer as an issuer"),
    "a list": (answer(200, [HIDDEN]), "does not answer as an issuer"),
    "no id token": (answer(200, {"access_token": HIDDEN}), "renewed no id token.*scope openid"),
    "no JWT": (answer(200, {"id_token": HIDDEN}), "renewed no id token"),
    "spaces": (answer(200, {"id_token": f"a b {HIDDEN}"}), "renewed no id token"),
    "refused": (
        answer(400, {"error": "invalid_grant", "error_description": f"{HIDDEN} is not known"}),
        r"answers 400 \(invalid_grant\); log in again",
    ),
    "refused oddly": (answer(401, {"error": f"no {HIDDEN}"}), "answers 401; log in again"),
    "broken": (answer(500, f"<html>{HIDDEN}"), "answers 500; "),
    "moved": (web.Response(status=307, headers={"Location": "http://127.0.0.1:1/"}), "answers 307"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_answer_is_told_without_a_secret(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path, case: str
) -> None:
    issuer.override, problem = WRONG[case]
    async with client_of(server, issuer.user(refresh_token=HIDDEN), clock, file) as api:
        with pytest.raises(NoCredentials, match=problem) as refused:
            await get(api)
        with pytest.raises(NoCredentials, match=problem):
            await get(api)

    text = str(refused.value)
    assert f"{file}: context 'prod': user 'alice': auth-provider: " in text
    assert HIDDEN not in text
    assert CLIENT_SECRET not in text
    assert issuer.refreshes == 1
    assert server.seen == []


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"token_endpoint": "http://127.0.0.1:1/token"}, "token_endpoint that is not https"),
        ({"token_endpoint": None}, "names no token_endpoint"),
    ],
)
async def test_an_issuer_that_would_have_it_in_the_clear(
    server: Server,
    issuer: Issuer,
    clock: ManualClock,
    file: Path,
    metadata: dict[str, Any],
    problem: str,
) -> None:
    issuer.metadata = metadata
    async with client_of(server, issuer.user(), clock, file) as api:
        with pytest.raises(NoCredentials, match=problem):
            await get(api)

    assert issuer.requests == []


async def test_an_issuer_that_nobody_vouches_for(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    user = issuer.user(idp_certificate_authority_data="")
    async with client_of(server, user, clock, file) as api:
        with pytest.raises(NoCredentials, match="CERTIFICATE_VERIFY_FAILED"):
            await get(api)


async def test_the_authority_of_an_issuer_by_path_is_read_again(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    authority = file.parent / "issuer.crt"
    write(authority, Authority("strangers").certificate)
    user = issuer.user(idp_certificate_authority_data="", idp_certificate_authority="issuer.crt")
    async with client_of(server, user, clock, file) as api:
        with pytest.raises(NoCredentials, match="CERTIFICATE_VERIFY_FAILED"):
            await get(api)
        write(authority, issuer.authority.certificate)
        clock.elapsed_s = 61
        await get(api)

    assert issuer.refreshes == 1


async def test_expired_and_nothing_to_renew_it_with(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    user = issuer.user(issuer.id_token(-1), refresh_token="")
    async with client_of(server, user, clock, file) as api:
        with pytest.raises(NoCredentials, match="id-token has expired, and there is no refresh"):
            await get(api)


async def test_an_issuer_behind_a_proxy_of_the_environment(
    server: Server, issuer: Issuer, clock: ManualClock, file: Path
) -> None:
    user = issuer.user(idp_issuer_url="https://issuer.internal")
    issuer.metadata = {"token_endpoint": "https://issuer.internal/token"}
    write(file, kubeconfig(user, {"server": server.url}))
    async with Tunnel(issuer.port) as tunnel:
        config = load(path=str(file), environ={"HTTPS_PROXY": tunnel.url})
        async with KubeApi(config, clock=clock, random=Random(1)) as api:
            with pytest.raises(NoCredentials, match=r"CERTIFICATE_VERIFY_FAILED.*issuer\.internal"):
                await get(api)

    assert set(tunnel.asked) == {"CONNECT issuer.internal:443 HTTP/1.1"}
    assert config.proxy is None  # the API server is on this machine


def test_a_token_in_the_file_comes_before_the_provider(file: Path) -> None:
    user = {"token": "t", "auth-provider": {"name": "oidc", "config": {}}}

    assert load_file(write(file, kubeconfig(user))).auth == Token(Secret("t"))


def test_a_certificate_does_not_replace_the_provider(tmp_path: Path, file: Path) -> None:
    user = Issuer(tmp_path).user() | {
        "client-certificate": "client.crt",
        "client-key": "client.key",
    }

    assert isinstance(load_file(write(file, kubeconfig(user))).auth, Oidc)
