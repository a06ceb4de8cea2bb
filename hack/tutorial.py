"""Do what the README's tutorial says, as a reader would, and hold it to what it shows.

Every `sh` block of the section is run in order, in one bash, from the project's directory. A block
fails when one of its commands does. A `text` block shows what the block before it prints: each of
its lines must come, in that order; `...` stands for lines that are not shown, and names, addresses,
ages and times may differ.

    python hack/tutorial.py    run it, with the kubectl on PATH or that of `make controlplane`
"""

import argparse
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import IO, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
SECTION = "## Tutorial"
BUILD = ROOT / "hack/controlplane/build.sh"
LEFT_OVER = ROOT / "unmoor-sim.kubeconfig"
BLOCK_LIMIT_S = 300.0
LOOK_S = 0.1
GRACE_S = 2.0
MARK = "--- block ended"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = "..."
VARIES = (
    (r"i-[0-9a-f]{17}", "NODE"),
    (r"-[0-9a-f]{10}(-\w+)?\b", "-HASH"),
    (r"\b\d+\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"\b\d+:\d\d(:\d\d)?(\.\d+)?\b", "TIME"),
    (r"\b(\d+(\.\d+)? ?(s|m|h|d))+\b", "AGE"),
    (r"\bus-east-1[a-c]\b", "ZONE"),
    (r"\b\d+\.\d{4}\b", "MONEY"),
    (r"\s+", " "),
)
"""What differs from run to run, and what it is compared as."""


class Block(NamedTuple):
    """What a reader pastes, what is said before it, and what shall come of it."""

    about: str
    commands: str
    expected: tuple[str, ...]


class Failed(Exception):
    """The tutorial does not hold; says why."""


def section(text: str) -> str:
    """The tutorial in a page, without its heading."""
    _, found, rest = text.partition(f"{SECTION}\n")
    if not found:
        raise Failed(f"there is no section {SECTION!r}")
    return re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def blocks(text: str) -> list[Block]:
    """Its blocks in order; raises Failed for one that is neither pasted nor compared."""
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(text):
        language, body = fence.groups()
        if language == "sh":
            about = text[end : fence.start()].strip().rpartition("\n\n")[2]
            found.append(Block(about.partition("\n")[0], body, ()))
        elif language == "text" and found and not found[-1].expected:
            found[-1] = found[-1]._replace(expected=tuple(body.splitlines()))
        else:
            raise Failed(f"what is this block for? ```{language}: {body[:60]!r}")
        end = fence.end()
    return found


def alike(line: str) -> str:
    """What two runs have in common in this line."""
    for pattern, name in VARIES:
        line = re.sub(pattern, name, line)
    return line.strip()


def missing(expected: Iterable[str], printed: Iterable[str]) -> str:
    """The first line that should have come and did not, "" when all came."""
    rest = iter([alike(line) for line in printed])
    for line in expected:
        if line.strip() != LEFT_OUT and alike(line) not in rest:
            return line
    return ""


class Shell:
    """One bash, in which a reader would paste one block after the other."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Start it, with a process group of its own."""
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-e"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self._bash.stdout is not None
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._bash.stdout,), daemon=True)
        self._reader.start()

    def _read(self, printed: IO[str]) -> None:
        with printed:
            for line in printed:
                self._lines.put(line.rstrip("\n"))

    def run(self, file: Path, limit_s: float) -> Iterator[str]:
        """The lines that a block prints; raises Failed when a command fails or time is up."""
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"source {shlex.quote(str(file))} </dev/null\necho '{MARK}'\n")
        self._bash.stdin.flush()
        ends_at = perf_counter() + limit_s
        while True:
            try:
                line = self._lines.get(timeout=LOOK_S)
            except queue.Empty:
                # What runs in the background may hold the pipe open when bash has ended.
                if self._bash.poll() is not None:
                    raise Failed(f"a command failed: {self._bash.returncode}") from None
                if perf_counter() > ends_at:
                    raise Failed(f"it did not end within {limit_s:g} s") from None
                continue
            if line == MARK:
                return
            yield line

    def end(self) -> None:
        """End it, with everything that it has left running."""
        with suppress(ProcessLookupError):  # the group is gone when all of it has ended
            os.killpg(self._bash.pid, signal.SIGTERM)
            ends_at = perf_counter() + GRACE_S
            while perf_counter() < ends_at:
                self._bash.poll()
                os.killpg(self._bash.pid, 0)
                threading.Event().wait(LOOK_S)
            os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()
        self._reader.join(GRACE_S)
        assert self._bash.stdin is not None
        self._bash.stdin.close()


def play(found: list[Block], environment: Mapping[str, str], limit_s: float) -> None:
    """Run them all, and print them as they run."""
    shell = Shell(environment)
    try:
        with tempfile.TemporaryDirectory() as directory:
            for number, block in enumerate(found, start=1):
                print(f"\n[{number}/{len(found)}] {block.about}", flush=True)
                for line in block.commands.splitlines():
                    print(f"  $ {line}", flush=True)
                file = Path(directory) / f"block-{number}.sh"
                file.write_text(block.commands)
                printed = []
                for line in shell.run(file, limit_s):
                    print(f"    {line}", flush=True)
                    printed.append(line)
                if absent := missing(block.expected, printed):
                    raise Failed(f"block {number} did not print, or not in its place: {absent}")
    finally:
        shell.end()


def with_kubectl() -> dict[str, str]:
    """The environment, with a kubectl on its PATH."""
    if shutil.which("kubectl"):
        return dict(os.environ)
    where = subprocess.run([BUILD, "--where"], check=True, capture_output=True, text=True)
    built = where.stdout.strip()
    if shutil.which("kubectl", path=built) is None:
        raise Failed("there is no kubectl: install it, or build one with `make controlplane`")
    return {**os.environ, "PATH": f"{os.environ['PATH']}:{built}"}


def hold(page: Path, limit_s: float) -> int:
    """Run the tutorial of a page; how many blocks it has."""
    if LEFT_OVER.exists():
        raise Failed(f"{LEFT_OVER} is there: end the `unmoor sim up` that uses it, or remove it")
    found = blocks(section(page.read_text()))
    play(found, with_kubectl(), limit_s)
    return len(found)


def main() -> int:
    argparse.ArgumentParser(description="Run the README's tutorial.").parse_args()
    began = perf_counter()
    try:
        count = hold(README, BLOCK_LIMIT_S)
    except Failed as failure:
        print(f"tutorial: {failure}", file=sys.stderr)
        return 1
    print(f"\ntutorial: {count} blocks hold, {perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
