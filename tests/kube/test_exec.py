"""Credential plugins: what they are asked, and how often."""

import asyncio
import os
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.kube.asking import client_of, get, tokens
from tests.kube.authority import Authority
from tests.kube.kubeconfigs import inline, kubeconfig, load_file, write
from tests.kube.plugins import V1, V1BETA1, Plugin, at, says
from tests.kube.server import ManualClock, Server, refuses
from unmoor.kube import plugin as plugin_module
from unmoor.kube.auth import AuthError, Basic, Exec, Secret, Token, TokenFile
from unmoor.kube.client import KubeApi, NoCredentials
from unmoor.runtime.ports import ApiError

OURS = Authority("ours")
NO = refuses(401, "Unauthorized")


# --------------------------------------------------------------------------------------- the ask


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_plugin_gives_the_token(
    server: Server, clock: ManualClock, tmp_path: Path, version: str
) -> None:
    plugin = Plugin(tmp_path, says(version, token="t1"))
    user = plugin.user(version, args=["get", "token"], env=[{"name": "REGION", "value": "eu"}])
    async with client_of(server, user, clock, tmp_path / "config") as api:
        await get(api, 2)

    assert tokens(server) == ["t1"] * 2
    ((arguments, question, env, has_terminal),) = plugin.asked()
    assert arguments == ["get", "token"]
    assert question == {
        "kind": "ExecCredential",
        "apiVersion": version,
        "spec": {"interactive": False},
    }
    assert env["REGION"] == "eu"
    assert "PATH" in env
    assert not has_terminal


async def test_a_plugin_may_know_the_cluster(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path, says(token="t1"))
    write(tmp_path / "ca.crt", OURS.certificate)
    cluster = {
        "certificate-authority": "ca.crt",
        "tls-server-name": "api.internal",
        "extensions": [
            {"name": "other", "extension": {"x": 1}},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": ["a", 1]}},
        ],
    }
    user = plugin.user(provideClusterInfo=True)
    async with client_of(server, user, clock, tmp_path / "config", **cluster) as api:
        await get(api)

    ((_, question, _, _),) = plugin.asked()
    assert question["spec"] == {
        "interactive": False,
        "cluster": {
            "server": server.url,
            "tls-server-name": "api.internal",
            "certificate-authority-data": inline(OURS.certificate),
            "config": {"audience": ["a", 1]},
        },
    }


async def test_a_relative_command_is_beside_the_kubeconfig_and_a_bare_one_on_the_path(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path / "bin", says(token="t1"))

    content = kubeconfig(plugin.user(command="./bin/plugin"), {"server": server.url})
    relative = load_file(write(tmp_path / "config", content))
    assert isinstance(relative.auth, Exec)
    assert relative.auth.command == str(tmp_path / "bin" / "plugin")

    bare = kubeconfig(plugin.user(command="python3"), {"server": server.url})
    found = load_file(write(tmp_path / "config", bare)).auth
    assert isinstance(found, Exec)
    assert found.command.endswith("/python3")

    async with KubeApi(relative, clock=clock, random=Random(1)) as api:
        await get(api)
    assert tokens(server) == ["t1"]


@pytest.mark.parametrize("mode", ["Never", "IfAvailable", "Always"])
@pytest.mark.parametrize("has_terminal", [True, False])
async def test_who_talks_to_a_person(tmp_path: Path, mode: str, *, has_terminal: bool) -> None:
    plugin = Plugin(tmp_path, says(token="t1"))
    config = load_file(write(tmp_path / "config", kubeconfig(plugin.user(interactiveMode=mode))))
    assert isinstance(config.auth, Exec)
    fetch = plugin_module.source(config.auth, {}, lambda: has_terminal)

    if mode == "Always" and not has_terminal:
        with pytest.raises(Exception, match=r"interactiveMode is Always.*not a terminal"):
            await fetch()
        assert plugin.asked() == []
        return
    await fetch()

    ((_, question, _, _),) = plugin.asked()
    assert question["spec"]["interactive"] == (has_terminal and mode != "Never")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"token": "t"}, Token(Secret("t"))),
        ({"tokenFile": "token"}, TokenFile),
        ({"username": "ann"}, Basic("ann", Secret(""))),
    ],
)
def test_what_stands_in_the_file_comes_before_a_plugin(
    tmp_path: Path, more: dict[str, str], expected: Any
) -> None:
    write(tmp_path / "token", "t")
    plugin = Plugin(tmp_path / "bin", says(token="t1"))

    config = load_file(write(tmp_path / "config", kubeconfig(dict(plugin.user()) | more)))

    assert config.auth == expected or isinstance(config.auth, expected)


# ------------------------------------------------------------------------------------- how often


async def test_what_expires_is_asked_for_again_a_little_before(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    plugin = Plugin(
        tmp_path,
        says(token="t1", expirationTimestamp=at(100)),
        says(token="t2", expirationTimestamp=at(10_000)),
    )
    async with client_of(server, plugin.user(), clock, tmp_path / "config") as api:
        for elapsed_s in (0, 89, 90, 9000):
            clock.elapsed_s = elapsed_s
            await get(api)

    assert tokens(server) == ["t1", "t1", "t2", "t2"]
    assert len(plugin.asked()) == 2


async def test_many_requests_at_once_run_it_once(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path, says(token="t1"))
    async with client_of(server, plugin.user(), clock, tmp_path / "config") as api:
        await asyncio.gather(*(get(api) for _ in range(20)))

    assert len(plugin.asked()) == 1
    assert tokens(server) == ["t1"] * 20


async def test_after_a_401_it_is_asked_again_and_the_request_sent_once_more(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path, says(token="t1"), says(token="t2"))
    async with client_of(server, plugin.user(), clock, tmp_path / "config") as api:
        await get(api)
        server.answers.append(NO)
        await get(api, 2)

    assert tokens(server) == ["t1", "t1", "t2", "t2"]


async def test_a_plugin_that_insists_on_what_is_refused_is_left_in_peace(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path, says(token="t1"))
    server.otherwise = NO
    async with client_of(server, plugin.user(), clock, tmp_path / "config") as api:
        for _ in range(5):
            with pytest.raises(ApiError, match="401"):
                await get(api)
        assert len(plugin.asked()) == 2
        clock.elapsed_s += 10
        with pytest.raises(ApiError, match="401"):
            await get(api)

    assert len(plugin.asked()) == 3
    assert len(server.seen) == 6


async def test_a_life_too_short_does_not_run_it_for_each_request(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path, says(token="t1", expirationTimestamp=at(-100)))
    async with client_of(server, plugin.user(), clock, tmp_path / "config") as api:
        await get(api, 5)

    assert len(plugin.asked()) == 1


async def test_what_is_still_valid_serves_while_the_plugin_fails(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    good = says(token="t1", expirationTimestamp=at(100))
    plugin = Plugin(tmp_path, good, (1, ""), says(token="t2"))
    async with client_of(server, plugin.user(), clock, tmp_path / "config") as api:
        await get(api)
        clock.elapsed_s = 95
        await get(api, 2)  # it fails, once
        assert len(plugin.asked()) == 2
        clock.elapsed_s = 101
        with pytest.raises(NoCredentials, match="exit code 1"):
            await get(api)
        clock.elapsed_s = 106
        await get(api)

    assert tokens(server) == ["t1"] * 3 + ["t2"]
    assert len(plugin.asked()) == 3


async def test_who_waits_may_be_cancelled_without_an_end_for_the_others(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path, says(token="t1"))
    async with client_of(server, plugin.user(), clock, tmp_path / "config") as api:
        first, second = (asyncio.create_task(get(api)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await second

    assert first.cancelled()
    assert len(plugin.asked()) == 1


def slow_program(directory: Path) -> tuple[Path, Path]:
    """A plugin that waits for what it has started; both hold a named pipe open while they live."""
    program, alive = directory / "slow", directory / "alive"
    os.mkfifo(alive)
    program.write_text(f"#!/bin/sh\nexec 3>{alive}\nsleep 1000 &\necho yes >&3\nwait\n")
    program.chmod(0o755)
    return program, alive


async def test_a_client_that_closes_ends_its_plugin_and_what_that_has_started(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    program, alive = slow_program(tmp_path)
    user = Plugin(tmp_path / "x").user(command=str(program))
    api = client_of(server, user, clock, tmp_path / "config")
    request = asyncio.create_task(get(api))
    with await asyncio.to_thread(alive.open) as pulse:
        assert await asyncio.to_thread(pulse.readline) == "yes\n"
        await api.close()

        assert await asyncio.to_thread(pulse.read) == ""  # the end comes when nobody has it open

    with pytest.raises(NoCredentials, match="closed"):
        await request


async def test_a_plugin_that_has_just_been_started_is_ended_with_all_its_children(
    tmp_path: Path,
) -> None:
    program, alive = slow_program(tmp_path)
    user = Plugin(tmp_path / "x").user(command=str(program))
    config = load_file(write(tmp_path / "config", kubeconfig(user)))
    assert isinstance(config.auth, Exec)
    before = children()
    fetch = asyncio.ensure_future(plugin_module.source(config.auth, {}, lambda: False)())
    for _ in range(100):
        await asyncio.sleep(0)
        if children() != before:
            break
    # The loop stands still meanwhile: it does not know yet that the program runs.
    with alive.open() as pulse:
        assert pulse.readline() == "yes\n"
        fetch.cancel()
        await asyncio.wait({fetch})

        assert await asyncio.to_thread(pulse.read) == ""

    assert fetch.cancelled()


async def test_a_plugin_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    program, alive = slow_program(tmp_path)
    user = Plugin(tmp_path / "x").user(command=str(program))
    config = load_file(write(tmp_path / "config", kubeconfig(user)))
    assert isinstance(config.auth, Exec)
    fetch = plugin_module.source(config.auth, {}, lambda: False, timeout_s=0.05)
    pulse = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(AuthError, match=r"no answer within 0\.05 s; run it by hand"):
            await fetch()

        os.set_blocking(pulse, True)
        while await asyncio.to_thread(os.read, pulse, 100):
            pass  # the end comes when nobody has the other end
    finally:
        os.close(pulse)


def children() -> str:
    """The processes that this thread has started."""
    return Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text()
