"""How do we tell systemd how we are? Its notification protocol, sd_notify(3), without libsystemd.

A datagram of ``KEY=value`` lines to the socket that ``NOTIFY_SOCKET`` names: a path, or "@name" in
the abstract namespace. Without that variable, or when nobody listens, nothing happens: what we do
for a cluster never depends on who started us.

Must not: raise, block, or know what it reports about.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping

from unmoor.runtime.ports import Clock

STATUS_LIMIT_CHARS = 500
"""What ``systemctl status`` can show on a line or two."""


class Notifier:
    """Speaks to the systemd that started us, if one did."""

    def __init__(self, environ: Mapping[str, str] = os.environ, *, pid: int | None = None) -> None:
        """Read NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; nothing is sent yet."""
        self._address = _address(environ.get("NOTIFY_SOCKET", ""))
        own_pid = str(os.getpid() if pid is None else pid)
        is_for_us = environ.get("WATCHDOG_PID", own_pid) == own_pid
        self.watchdog_s = _seconds(environ.get("WATCHDOG_USEC", "")) if is_for_us else None
        """We are killed when silent for this long; None: nobody watches."""

    @property
    def is_listening(self) -> bool:
        """Somebody asked to be notified."""
        return bool(self._address)

    def ready(self) -> bool:
        """Say that the start is complete: units ordered after ours begin now."""
        return self._send("READY=1")

    def stopping(self) -> bool:
        """Say that the stop has begun."""
        return self._send("STOPPING=1")

    def status(self, text: str) -> bool:
        """Say in one line what we are doing."""
        return self._send("STATUS=" + " ".join(text.split())[:STATUS_LIMIT_CHARS])

    def alive(self) -> bool:
        """Reset the watchdog."""
        return self._send("WATCHDOG=1")

    async def keep_alive(self, clock: Clock, is_well: Callable[[], bool] = lambda: True) -> None:
        """Reset the watchdog twice in each of its periods, as long as we are well.

        Run it on the loop that does the work: one that hangs falls silent.
        """
        while self.watchdog_s is not None:
            if is_well():
                self.alive()
            await clock.sleep(self.watchdog_s / 2)

    def _send(self, message: str) -> bool:
        """Send one datagram; True when it was taken."""
        if not self._address:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as plug:
                plug.setblocking(False)
                plug.connect(self._address)
                return plug.send(message.encode()) == len(message.encode())
        except OSError:
            return False


def _address(text: str) -> str:
    """The socket's address as Python has it; "" for kinds we do not speak (vsock)."""
    if text.startswith("@"):
        return "\0" + text[1:]
    return text if text.startswith("/") else ""


def _seconds(microseconds: str) -> float | None:
    if not microseconds.isdecimal() or int(microseconds) == 0:
        return None
    return int(microseconds) / 1_000_000
