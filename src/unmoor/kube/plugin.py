"""What does a credential plugin say? A program is run, and its answer is read.

The contract is Kubernetes' own: the program finds a question in ``KUBERNETES_EXEC_INFO`` and
prints an ``ExecCredential``. What it writes to standard error goes to ours, for the person who can
act on it; what it prints is never shown, as it is a secret.

Must not: keep anything, or decide when to ask again.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime

import msgspec

from unmoor.kube.auth import AuthError, Exec, is_token
from unmoor.kube.renewal import Fetch, Grant, Proof
from unmoor.kube.secret import Secret
from unmoor.kube.tls import is_pair

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
QUESTION = "KUBERNETES_EXEC_INFO"
TIMEOUT_S = 60.0
PERSON_TIMEOUT_S = 600.0
"""When the program may ask a person, who may have to find a second factor."""
LAST_WORDS_S = 1.0
"""For the rest of what a program printed before it was ended."""
OUTPUT_LIMIT_BYTES = 2**20


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Credential(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


def source(
    plugin: Exec,
    environ: Mapping[str, str],
    is_terminal: Callable[[], bool],
    timeout_s: float = TIMEOUT_S,
) -> Fetch:
    """A way to ask ``plugin``. ``environ``: what it inherits; ``is_terminal``: a person is here."""

    async def fetch() -> Grant:
        has_person = is_terminal()
        if plugin.interactive == "Always" and not has_person:
            raise _failure(
                plugin,
                "interactiveMode is Always, and standard input is not a terminal",
                "run unmoor in a terminal, or use a plugin that needs no person",
            )
        is_interactive = has_person and plugin.interactive != "Never"
        env = dict(environ) | {name: value.reveal() for name, value in plugin.environment}
        env[QUESTION] = question(plugin, is_interactive=is_interactive)
        limit_s = PERSON_TIMEOUT_S if is_interactive else timeout_s
        process = await _started(plugin, env, is_interactive=is_interactive)
        output = await _output(plugin, process, limit_s, has_group=not is_interactive)
        return grant_of(plugin, output)

    return fetch


def question(plugin: Exec, *, is_interactive: bool) -> str:
    """What the program is asked."""
    spec: dict[str, object] = {"interactive": is_interactive}
    if plugin.cluster:
        spec["cluster"] = json.loads(plugin.cluster.reveal())
    return json.dumps({"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec})


def grant_of(plugin: Exec, output: bytes) -> Grant:
    """What the program's answer means. Raises AuthError, which does not quote it."""
    remedy = "run it by hand and compare its output with ExecCredential"
    try:
        answer = msgspec.json.decode(output, type=_Credential)
    except msgspec.ValidationError as error:
        # msgspec names types and the path, never the value.
        raise _failure(plugin, f"its answer is not an ExecCredential: {error}", remedy) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _failure(plugin, "its answer is not JSON", remedy) from None
    if answer.kind != "ExecCredential":
        raise _failure(plugin, f"its answer is of kind {answer.kind!r}", remedy)
    if answer.api_version != plugin.api_version:
        raise _failure(
            plugin,
            f"asked in {plugin.api_version!r}, it answers in {answer.api_version!r}",
            "set apiVersion to what the plugin speaks",
        )
    status = answer.status or _Status()
    pair = status.client_certificate_data, Secret(status.client_key_data)
    if bool(pair[0]) != bool(pair[1]):
        raise _failure(plugin, "it gives only one of certificate and key", remedy)
    if pair[0] and not is_pair(*pair):
        raise _failure(plugin, "its certificate and key do not make a pair in PEM", remedy)
    if status.token and not is_token(status.token):
        raise _failure(plugin, "its token has spaces or odd characters inside", remedy)
    if not status.token and not pair[0]:
        raise _failure(plugin, "it gives neither a token nor a certificate", remedy)
    expires_at = status.expiration_timestamp
    if expires_at is not None and expires_at.tzinfo is None:
        raise _failure(plugin, "its expirationTimestamp has no time zone", remedy)
    header = Secret(f"Bearer {status.token}" if status.token else "")
    proof = Proof(header=header, certificate=pair[0], key=pair[1])
    return Grant(proof=proof, expires_at=expires_at)


async def _output(
    plugin: Exec, process: asyncio.subprocess.Process, limit_s: float, *, has_group: bool
) -> bytes:
    try:
        async with asyncio.timeout(limit_s):
            output = await _read(process)
            has_end = len(output) <= OUTPUT_LIMIT_BYTES
            code = await process.wait() if has_end else 0
    except TimeoutError:
        raise _failure(
            plugin, f"no answer within {limit_s:g} s", "run it by hand and see what it waits for"
        ) from None
    finally:
        if process.returncode is None:
            await _end(process, has_group=has_group)
    if not has_end:
        raise _failure(plugin, "it prints without end", "is this the right program?")
    if code:
        how = f"exit code {code}" if code > 0 else signal.Signals(-code).name
        raise _failure(plugin, f"it failed with {how}", "it says why on standard error")
    return output


async def _started(
    plugin: Exec, env: dict[str, str], *, is_interactive: bool
) -> asyncio.subprocess.Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            plugin.command,
            *(argument.reveal() for argument in plugin.arguments),
            stdin=None if is_interactive else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env=env,
            # So that its children can be ended with it; who talks to a person needs the terminal.
            start_new_session=not is_interactive,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # asyncio would end the program, but not what that has started meanwhile.
        process = await starting
        await _end(process, has_group=not is_interactive)
        raise
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it cannot be started"
        raise _failure(
            plugin, str(why), plugin.hint or "install it, and put it on the PATH of unmoor"
        ) from None


async def _read(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    output = b""
    while len(output) <= OUTPUT_LIMIT_BYTES and (chunk := await process.stdout.read(2**16)):
        output += chunk
    return output


async def _end(process: asyncio.subprocess.Process, *, has_group: bool) -> None:
    with suppress(ProcessLookupError):
        if has_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    await process.wait()
    with suppress(TimeoutError):  # who has left the group may hold its output open for ever
        async with asyncio.timeout(LAST_WORDS_S):
            while await _read(process):
                pass


def _failure(plugin: Exec, problem: str, remedy: str) -> AuthError:
    return AuthError(f"{plugin.origin}: exec: {plugin.command}: {problem}; {remedy}")
