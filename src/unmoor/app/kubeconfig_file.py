"""The kubeconfig of a simulated cluster: a file of ours for as long as the cluster is there.

The file is locked while it is in use, so that two clusters cannot share one by mistake and a killed
one leaves nothing that is in the way. It appears whole, and empty or not at all before. Nobody
else's file is written over.

Must not: know how to make a kubeconfig.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unmoor.app.cli.command import Failure
from unmoor.model.base import JSON

FIRST_LINE = b"# Written by `unmoor sim up`, which removes it when it ends.\n"
ELSEWHERE = "give --kubeconfig another path"


class KubeconfigFile:
    """A file that is ours."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Made by :func:`claimed`."""
        self.path = path
        self._descriptor = descriptor

    def write(self, config: JSON) -> None:
        """Write it, in one go."""
        text = FIRST_LINE + json.dumps(config, indent=2).encode() + b"\n"
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)

    def remove(self) -> None:
        """Take it away; somebody else's at the same place stays."""
        if _is_at(self.path, self._descriptor):
            self.path.unlink()


@contextmanager
def claimed(path: Path) -> Iterator[KubeconfigFile]:
    """Take the file until left, then remove it. Raises Failure when it cannot be ours."""
    path = path.resolve()
    descriptor = _opened(path)
    try:
        _hold(path, descriptor)
        file = KubeconfigFile(path, descriptor)
        try:
            yield file
        finally:
            file.remove()
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise Failure(
            f"--kubeconfig: {path} cannot be written: {error.strerror}: {ELSEWHERE}"
        ) from None


def _hold(path: Path, descriptor: int) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise Failure(f"--kubeconfig: {path} is no file: {ELSEWHERE}")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Failure(
            f"--kubeconfig: {path} is that of an `unmoor sim up` which is running: {ELSEWHERE}"
        ) from None
    if not _is_at(path, descriptor):
        raise Failure(f"--kubeconfig: {path} has just been removed: run this again")
    begin = os.pread(descriptor, len(FIRST_LINE), 0)
    if begin and begin != FIRST_LINE:
        raise Failure(
            f"--kubeconfig: {path} is there and was not written by `unmoor sim up`: remove it, "
            f"or {ELSEWHERE}"
        )
    os.fchmod(descriptor, 0o600)
    os.ftruncate(descriptor, 0)


def _is_at(path: Path, descriptor: int) -> bool:
    """The path still leads to what was opened."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False
