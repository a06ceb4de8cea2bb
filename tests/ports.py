"""Ports for the servers of tests, below the range that the kernel hands to outgoing connections.

So nobody takes a server's port while it restarts. Each process begins in a region of its own.
"""

from __future__ import annotations

import itertools
import os
import socket
from typing import Final

PORTS: Final = itertools.cycle(range(20_000, 31_520))
for _ in range(os.getpid() % 180 * 64):
    next(PORTS)


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
    """The next port that nobody listens on."""
    return next(port for port in PORTS if is_free(port))
