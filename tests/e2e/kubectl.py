"""The real kubectl before two clusters: the embedded one behind its HTTP face, and a real one.

A script says what to run; what was answered is kept without what may differ: names that were drawn,
times, ages, versions, addresses. On both clusters hollow kubelets run the pods.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager as Opened
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests import controlplane
from tests.controlplane import ControlPlane
from unmoor.cloud.catalogue import ec2_types
from unmoor.kube import config
from unmoor.kube.client import KubeApi
from unmoor.runtime.clock import SystemClock
from unmoor.sim.actors.actor import Stage
from unmoor.sim.actors.cast import controllers
from unmoor.sim.actors.garbage import GarbageCollector
from unmoor.sim.actors.kubelet import HollowKubelets, KubeletDelays
from unmoor.sim.apiserver import FAITHFUL, Server
from unmoor.sim.direct import DirectApi
from unmoor.sim.http import HttpFace

PATIENCE_S = 30.0
LOOK_AGAIN_S = 0.2
CLOSING_S = 0.1
QUICK = KubeletDelays(
    boot_s=(0.1, 0.1), ready_s=(0.1, 0.1), start_s=(0.05, 0.1), stop_s=(0.05, 0.1)
)
_DRAWN = "[bcdfghjklmnpqrstvwxz2456789]"
_MAY_DIFFER: tuple[tuple[str, str], ...] = (
    (r'Invalid value: "\{\\".*\}": ', "Invalid value: OBJECT: "),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"^W\d{4} \S+ +\d+ ", "LOGGED "),
    # Admission of service accounts, and a hint to old kubelets: ours has neither.
    (r"^Service Account: .*\n", ""),
    ("node.alpha.kubernetes.io/ttl: 0", "<none>"),
    (r"/tmp/(LIVE|MERGED)-\d+/", r"\1/"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "TIME"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "TIME"),
    (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"\b127\.0\.0\.1:\d+\b", "SERVER"),
    (rf"\b([a-z]+)-(?:[0-9a-f]{{10}}|{_DRAWN}{{7,10}})-(?:\d+|{_DRAWN}{{5}})\b", r"\1-SET-POD"),
    (rf"\b([a-z]+)-(?:[0-9a-f]{{10}}|{_DRAWN}{{7,10}})\b", r"\1-SET"),
    (rf"\bagent-(?:node-\w+|{_DRAWN}{{5}})\b", "agent-POD"),
    (r"Resource Version:\s+\d+", "Resource Version: VERSION"),
    (rf"pod-template-hash=(?:[0-9a-f]{{10}}|{_DRAWN}{{7,10}})", "pod-template-hash=SET"),
    (r'("?resourceVersion"?: ")\d+"', r'\1VERSION"'),
    (r"(?<![\w.:-])(\d+[smhd]){1,2}(?![\w.:-])", "AGE"),
    (r"[ \t]{2,}", "  "),
    (r"[ \t]+$", ""),
)


_FIELD = re.compile(r"^(GROUP|KIND|VERSION|FIELD):|^ {2,}\w+\t<")
"""The lines of ``kubectl explain`` that say what there is."""


class Said(NamedTuple):
    """What one command answered."""

    command: str
    code: int
    out: str
    err: str


class Kubectl:
    """Runs commands in one namespace and keeps what they said."""

    def __init__(self, binary: Path, kubeconfig: Path, namespace: str) -> None:
        self._binary, self._namespace = binary, namespace
        self._environ = {
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(kubeconfig.parent),
            "PATH": os.defpath,
        }
        self.said: list[Said] = []

    async def __call__(self, *args: str, given: str = "", shuffled: bool = False) -> Said:
        """``given``: standard input. ``shuffled``: lines may come in any order."""
        found = await self.quietly(*args, given=given)
        out, err = plain(found.out), plain(found.err)
        if shuffled:
            out, err = _in_order(out), _in_order(err)
        self.said.append(Said(found.command, found.code, out, err))
        return found

    async def quietly(self, *args: str, given: str = "") -> Said:
        """Run without keeping anything."""
        command = [str(self._binary), f"--namespace={self._namespace}", *args]
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**self._environ, "KUBE_EDITOR": "sed -i s/before/after/"},
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                out, err = await process.communicate(given.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Said(" ".join(args), process.returncode or 0, out.decode(), err.decode())

    async def shows(self, *args: str, drop: tuple[str, ...] = ()) -> None:
        """Run a command that prints JSON; keep it without what may differ or is dropped."""
        found = await self.quietly(*args)
        assert found.code == 0, found
        shown = _without(json.loads(found.out), drop)
        text = plain(json.dumps(shown, indent=1, sort_keys=True))
        self.said.append(Said(found.command, found.code, text, plain(found.err)))

    async def explains(self, *args: str) -> None:
        """Run explain; keep fields and types, and no description."""
        found = await self.quietly("explain", *args)
        fields = [line.split() for line in found.out.splitlines() if _FIELD.match(line)]
        text = "\n".join(" ".join(one) for one in fields)
        assert found.code == 0, found
        assert fields, found
        self.said.append(Said(found.command, 0, text, plain(found.err)))

    async def until(self, wanted: str, *args: str) -> None:
        """Repeat a command, without keeping it, until it prints this."""
        found = Said("", 0, "", "")
        try:
            async with asyncio.timeout(PATIENCE_S):
                while wanted not in found.out:
                    await asyncio.sleep(LOOK_AGAIN_S)
                    found = await self.quietly(*args)
        except TimeoutError:
            raise AssertionError(f"never said {wanted!r}: {found}") from None

    async def follow(self, *args: str, lines: int, then: Callable[[], Awaitable[Any]]) -> None:
        """Run a command that goes on; after its first line ``then`` happens; keep some lines."""
        process = await asyncio.create_subprocess_exec(
            str(self._binary),
            f"--namespace={self._namespace}",
            *args,
            stdout=asyncio.subprocess.PIPE,
            env=self._environ,
        )
        assert process.stdout is not None
        heard: list[str] = []
        try:
            async with asyncio.timeout(PATIENCE_S):
                while len(heard) < lines:
                    line = (await process.stdout.readline()).decode()
                    assert line, heard
                    heard.append(plain(line))
                    if len(heard) == 2:
                        await then()
        finally:
            process.kill()
            await process.wait()
        self.said.append(Said(" ".join(args), 0, "\n".join(heard), ""))


def plain(text: str) -> str:
    """Text without what may differ from one cluster to another."""
    for pattern, instead in _MAY_DIFFER:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text.strip()


def _in_order(text: str) -> str:
    lines = [line.removeprefix("Warning: ").split("; ") for line in text.splitlines()]
    return "\n".join(sorted("; ".join(sorted(parts)) for parts in lines))


def _without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_without(one, names) for one in value]
    if isinstance(value, dict):
        return {key: _without(one, names) for key, one in value.items() if key not in names}
    return value


# ------------------------------------------------------------------------------------- the clusters


def _kubelets(stage: Stage) -> HollowKubelets:
    return HollowKubelets(stage, {shape.name: shape for shape in ec2_types()}, QUICK)


@contextlib.asynccontextmanager
async def _played(*tasks: Any) -> AsyncIterator[None]:
    playing = [asyncio.ensure_future(one) for one in tasks]
    try:
        yield
    finally:
        for one in playing:
            one.cancel()
        await asyncio.gather(*playing, return_exceptions=True)


@contextlib.asynccontextmanager
async def embedded(directory: Path, namespace: str) -> AsyncIterator[Kubectl]:
    """Our cluster, with a cast that does what a real one's controllers do."""
    clock = SystemClock()
    server = Server(lambda: clock.now().wall, seed=1, manners=FAITHFUL)
    api = DirectApi(server)
    stage = Stage(api, clock, Random(0))
    async with HttpFace(server) as face:
        kubeconfig = directory / "embedded" / "kubeconfig"
        kubeconfig.parent.mkdir()
        kubeconfig.write_text(json.dumps(face.kubeconfig()))
        kubectl = Kubectl(controlplane.binaries_or_skip() / "kubectl", kubeconfig, namespace)
        cast = [_kubelets(stage), *controllers(stage, server.resources)]
        async with _played(stage.run(cast), GarbageCollector(api, clock).run()):
            made = await kubectl.quietly("create", "namespace", namespace)
            assert made.code == 0, made
            yield kubectl


@contextlib.asynccontextmanager
async def real(plane: ControlPlane, directory: Path, namespace: str) -> AsyncIterator[Kubectl]:
    """A real cluster, with hollow kubelets only."""
    clock = SystemClock()
    kubeconfig = directory / "real" / "kubeconfig"
    kubeconfig.parent.mkdir()
    kubeconfig.write_text(plane.kubeconfig.read_text())
    kubectl = Kubectl(plane.binaries / "kubectl", kubeconfig, namespace)
    access = config.load(path=str(plane.kubeconfig))
    async with KubeApi(access, clock=clock, random=Random(0)) as api:
        stage = Stage(api, clock, Random(0), at_once=16)
        async with _played(stage.run([_kubelets(stage)])):
            made = await kubectl.quietly("create", "namespace", namespace)
            assert made.code == 0, made
            await kubectl.until("default", "get", "serviceaccounts")
            try:
                yield kubectl
            finally:  # The next script finds none of this.
                await kubectl.quietly("delete", "namespace", namespace, "--wait=false")
                await kubectl.quietly("delete", "nodes,machines,disruptions", "--all")
    # A cancelled watch closes its TLS connection in the background; the loop must outlive that.
    await clock.sleep(CLOSING_S)


async def told(
    cluster: Opened[Kubectl], script: Callable[[Kubectl], Awaitable[None]]
) -> list[Said]:
    """What kubectl says on a cluster when it runs a script."""
    async with cluster as kubectl:
        await script(kubectl)
        return kubectl.said
