"""Ports for the servers of tests, below the range that the kernel hands to outgoing connections.

So nobody takes a server's port while it restarts. Nor do other tests: a process takes ports from
blocks of its own, each marked by a lock that ends with the process.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FIRST: Final = 20_000
BLOCKS: Final = 180
IN_A_BLOCK: Final = 64


def is_free(port: int) -> bool:
    """Nobody listens there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free() -> int:
    """The next port that nobody listens on. Raises RuntimeError when there is none."""
    for port in _PORTS:
        if is_free(port):
            return port
    raise RuntimeError(f"no free port from {FIRST} to {FIRST + BLOCKS * IN_A_BLOCK}")


def _own() -> Iterator[int]:
    """All ports of one block after the other, and then again."""
    ours: list[int] = []
    for turn in range(BLOCKS):
        block = (os.getpid() + turn) % BLOCKS
        if _take(block):
            ours += range(FIRST + block * IN_A_BLOCK, FIRST + (block + 1) * IN_A_BLOCK)
            yield from ours[-IN_A_BLOCK:]
    while any(map(is_free, ours)):
        yield from ours


def _take(block: int) -> bool:
    """False when another process has it."""
    path = Path(tempfile.gettempdir()) / f"unmoor-ports-{os.getuid()}-{block}"
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    return True  # and keep it open


_PORTS: Final = _own()
