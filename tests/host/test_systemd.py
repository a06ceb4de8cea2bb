"""systemd's side is a real datagram socket, as its service manager opens one."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from unmoor.host.systemd import STATUS_LIMIT_CHARS, Notifier
from unmoor.sim import virtual


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    name = f"unmoor-test-{os.getpid()}"
    path = str(tmp_path / "notify")
    address, text = ("\0" + name, "@" + name) if request.param == "abstract" else (path, path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(address)
        listening.settimeout(5)
        yield listening, text


def test_states_arrive_as_systemd_reads_them(manager: tuple[socket.socket, str]) -> None:
    listening, address = manager
    notifier = Notifier({"NOTIFY_SOCKET": address})

    assert notifier.is_listening
    assert notifier.ready()
    assert listening.recv(4096) == b"READY=1"
    assert notifier.status("draining node/a:\n3 pods left")
    assert listening.recv(4096) == b"STATUS=draining node/a: 3 pods left"
    assert notifier.alive()
    assert listening.recv(4096) == b"WATCHDOG=1"
    assert notifier.stopping()
    assert listening.recv(4096) == b"STOPPING=1"


def test_a_status_is_cut_to_what_can_be_shown(manager: tuple[socket.socket, str]) -> None:
    listening, address = manager

    Notifier({"NOTIFY_SOCKET": address}).status("x" * 10_000)

    assert len(listening.recv(65536)) == len("STATUS=") + STATUS_LIMIT_CHARS


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "@unmoor-nobody", "vsock:2:1", "x"])
def test_without_a_listener_nothing_happens(address: str) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": address} if address else {})

    assert not notifier.ready()


def test_a_full_socket_is_not_waited_for(manager: tuple[socket.socket, str]) -> None:
    _, address = manager
    notifier = Notifier({"NOTIFY_SOCKET": address})

    answers = [notifier.alive() for _ in range(100_000)]

    assert answers[0]
    assert not answers[-1]


@pytest.mark.parametrize(
    ("environ", "watchdog_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_is_ours_only_with_our_pid(
    environ: dict[str, str], watchdog_s: float | None
) -> None:
    assert Notifier(environ, pid=7).watchdog_s == watchdog_s


def test_the_watchdog_is_reset_twice_in_each_period(manager: tuple[socket.socket, str]) -> None:
    listening, address = manager
    notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "10000000"})

    async def live() -> None:
        well_until_s, end_s = 21.0, 100.0
        clock = virtual.VirtualClock()
        keeping = asyncio.create_task(
            notifier.keep_alive(clock, lambda: clock.now().mono < well_until_s)
        )
        await clock.sleep(end_s)
        keeping.cancel()

    virtual.run(live())

    listening.setblocking(False)
    seen = 0
    while True:
        try:
            assert listening.recv(4096) == b"WATCHDOG=1"
        except BlockingIOError:
            break
        seen += 1
    assert seen == 5  # at 0, 5, 10, 15 and 20 s; then we were not well


def test_nobody_watches_and_the_task_ends_at_once() -> None:
    async def live() -> float:
        clock = virtual.VirtualClock()
        begun = clock.now().mono
        await asyncio.wait_for(Notifier({}).keep_alive(clock), 100.0)
        return clock.now().mono - begun

    assert virtual.run(live()) == 0.0
