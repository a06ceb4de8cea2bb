"""The real kubectl, run line by line, and what of its answers two clusters must have in common.

A script says what to run; what was answered is kept without what may differ: names that were drawn,
times, ages, versions, addresses, and what the embedded cluster says that it does not have.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import json
import os
import re
import shlex
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE_S = 30.0
LOOK_AGAIN_S = 0.1
EDITOR = "sed -i s/before/after/"
_DRAWN = "[bcdfghjklmnpqrstvwxz2456789]"
_SET = rf"(?:[0-9a-f]{{10}}|{_DRAWN}{{7,10}})"
_MAY_DIFFER: tuple[tuple[str, str], ...] = (
    # There are no service accounts.
    (r"^ *serviceAccount(Name)?: default\n", ""),
    (r"^Service Account: .*\n", ""),
    # Nobody tells kubelets how long to remember secrets.
    (r"^ *node\.alpha\.kubernetes\.io/ttl: .*\n", ""),
    # A client says this when it ends a watch that it has just begun, or could not begin in time.
    (r"^I\d{4} .*very short watch.*\n", ""),
    (r"^E\d{4} .*Failed to watch.*context deadline exceeded.*\n", ""),
    (r"^W\d{4} \S+ +\d+ ", "LOGGED "),
    (r'Invalid value: "\{\\".*\}": ', "Invalid value: OBJECT: "),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "TIME"),
    (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"\b127\.0\.0\.1:\d+\b", "SERVER"),
    (r"--port=\d+", "--port=PORT"),
    (r"/tmp/(LIVE|MERGED)-\d+", r"/tmp/\1"),
    (r"kubectl-edit-\d+", "kubectl-edit"),
    (rf"\b([a-z]+)-{_SET}-(?:\d+|{_DRAWN}{{5}})\b", r"\1-SET-POD"),
    (rf"\b([a-z]+)-{_SET}\b", r"\1-SET"),
    (rf"\bagent-(?:[a-z]+-\w+|{_DRAWN}{{5}})\b", "agent-POD"),
    (rf"\b(sum|orphan|made)-(?:\d|{_DRAWN}{{5}})\b", r"\1-POD"),
    (rf"pod-template-hash([=:] ?){_SET}", r"pod-template-hash\1SET"),
    (r"Resource Version:\s+\d+", "Resource Version: VERSION"),
    (r'("?resourceVersion"?: ")\d+"', r'\1VERSION"'),
    (r"(?<![\w.:-])(\d+[smhd]){1,2}(?![\w.:-])", "AGE"),
    (r"(?<=\S)[ \t]{2,}", "  "),
    (r"^[ \t]{9,}", " " * 9),  # Columns are as wide as what stands in them.
    (r"[ \t]+$", ""),
)


class Said(NamedTuple):
    """What one command answered. ``is_part``: the real cluster may have more lines."""

    command: str
    code: int
    out: str
    err: str
    is_part: bool = False

    @property
    def verb(self) -> str:
        """The first word."""
        return self.command.split()[0]


class Kubectl:
    """Runs commands in one namespace and keeps what they said."""

    def __init__(self, binary: Path, kubeconfig: Path, namespace: str) -> None:
        self._binary, self._namespace = binary, namespace
        self._directory = kubeconfig.parent
        self._environ = {
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(self._directory),
            "PATH": os.defpath,
        }
        self.said: list[Said] = []

    def write(self, name: str, content: str) -> None:
        """A file where the commands run."""
        (self._directory / name).write_text(content)

    async def __call__(
        self,
        lines: str,
        *,
        given: str = "",
        shuffled: bool = False,
        is_part: bool = False,
        only: str = "",
        but: str = "",
    ) -> None:
        """Run each line and keep what it said. ``given``: standard input.

        ``shuffled``: the same lines in any order, however often, and so what each of them lists.
        ``only`` and ``but``: which lines are kept, and which are not.
        """
        for line in lines.strip().splitlines():
            found = await self.quietly(line.strip(), given=given)
            out, err = plain(found.out), plain(found.err)
            if shuffled:
                out, err = _in_order(out), _in_order(err)
            kept = [
                one
                for one in out.splitlines()
                if re.search(only, one) and not (but and re.search(but, one))
            ]
            out = "\n".join(kept)
            self.said.append(Said(found.command, found.code, out, err, is_part))

    async def quietly(self, line: str, *, given: str = "", editor: str = EDITOR) -> Said:
        """Run without keeping anything."""
        async with self._running(line, stdin=PIPE, stderr=PIPE, editor=editor) as process:
            out, err = await process.communicate(given.encode())
        return Said(line, process.returncode or 0, out.decode(), err.decode())

    async def during(self, line: str, sign: str, then: str) -> None:
        """Run a command that waits; once it has asked for this, run another; keep the first."""
        async with self._running(f"{line} -v=6", stderr=PIPE) as process:
            assert process.stderr is not None
            while sign not in (read := (await process.stderr.readline()).decode()):
                assert read, f"{line} never asked for {sign}"
            await self.quietly(then)
            out, _ = await process.communicate()
        self.said.append(Said(line, process.returncode or 0, plain(out.decode()), ""))

    async def edited(self, line: str, editor: str) -> None:
        """Run ``edit`` with another editor and keep what it said."""
        found = await self.quietly(line, editor=editor)
        self.said.append(Said(line, found.code, plain(found.out), plain(found.err)))

    async def shows(self, line: str, *drop: str) -> None:
        """Run a command that prints JSON; keep it without what may differ or is dropped."""
        found = await self.quietly(line)
        assert found.code == 0, found
        shown = _without(json.loads(found.out), drop)
        out = plain(json.dumps(shown, indent=1, sort_keys=True))
        self.said.append(Said(line, found.code, out, plain(found.err)))

    async def until(self, wanted: str, line: str) -> None:
        """Repeat a command, without keeping it, until it prints this."""
        found = await self.quietly(line)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while wanted not in found.out:
                    await asyncio.sleep(LOOK_AGAIN_S)
                    found = await self.quietly(line)
        except TimeoutError:
            raise AssertionError(f"never said {wanted!r}: {found}") from None

    async def follow(
        self, line: str, *, lines: int, then: Callable[[], Awaitable[Any]], after: int = 2
    ) -> None:
        """Run a command that goes on; ``after`` some lines ``then`` happens; keep some lines."""
        heard: list[str] = []
        async with self._running(line) as process:
            assert process.stdout is not None
            while len(heard) < lines:
                read = (await process.stdout.readline()).decode()
                assert read, heard
                heard.append(plain(read))
                if len(heard) == after:
                    await then()
        self.said.append(Said(plain(line), 0, "\n".join(heard), ""))

    @contextlib.asynccontextmanager
    async def _running(
        self,
        line: str,
        *,
        stdin: int | None = None,
        stderr: int | None = None,
        editor: str = EDITOR,
    ) -> AsyncIterator[Process]:
        """A command, as long as patience lasts; it does not run on afterwards."""
        process = await asyncio.create_subprocess_exec(
            str(self._binary),
            f"--namespace={self._namespace}",
            *shlex.split(line),
            stdin=stdin,
            stdout=PIPE,
            stderr=stderr,
            cwd=self._directory,
            env={**self._environ, "KUBE_EDITOR": editor},
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def plain(text: str) -> str:
    """Text without what may differ from one cluster to another."""
    for pattern, instead in _MAY_DIFFER:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text.strip()


def differences(ours: list[Said], theirs: list[Said]) -> str:
    """Every command that was answered differently, and how; "" when none was."""
    found = []
    for mine, real in zip(ours, theirs, strict=True):
        if mine.is_part:
            known = set(mine.out.splitlines())
            kept = "\n".join(one for one in real.out.splitlines() if one in known)
            real = real._replace(out=kept)  # noqa: PLW2901
        if mine != real:
            told = difflib.unified_diff(_told(mine), _told(real), "embedded", "real", lineterm="")
            found += [f"kubectl {mine.command}", *told, ""]
    return "\n".join(found)


def _told(said: Said) -> list[str]:
    return [f"exit {said.code}", *said.out.splitlines(), *said.err.splitlines()]


def _in_order(text: str) -> str:
    """Without an order of lines, nor of what they list: kubectl goes through maps."""
    lines = [re.split("; |, |[][]", one.removeprefix("Warning: ")) for one in text.splitlines()]
    return "\n".join(sorted({"; ".join(sorted(parts)) for parts in lines}))


def _without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_without(one, names) for one in value]
    if isinstance(value, dict):
        return {key: _without(one, names) for key, one in value.items() if key not in names}
    return value
