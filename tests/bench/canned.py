"""A server that only sends: what it says lies ready in memory, so its clients are what is measured.

Raw sockets and a thread for each connection, HTTP as far as our client needs it. Lists come in
chunks of one object, as a real API server writes them. A watch of pods waits for ``/go``, which
says how many events a second are to come for how long; 0 means as many as the other side takes.
Writes are counted and refused: an eviction with "not now", everything else as if it were not there.

    python -m tests.bench.canned --nodes 100 --pods 3000
"""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from queue import SimpleQueue
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.bench.changes import Changes, chunk, event
from tests.bench.cluster import Cluster, Named
from unmoor.model.kinds import INSTANCES, PODS
from unmoor.runtime.controller import WATCHED

TICK_S = 0.05
"""How often an event tells when it was sent."""
BATCH_S = 0.005
BATCH_EVENTS_MAX = 100
TICK = "bench-tick"
"""The pod of those events; it is deleted when the stream ends."""
SENT = "bench.unmoor.dev/sent-ns"
REQUEST_LIMIT_BYTES = 1 << 20
_CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)


class Canned:
    """Pages and changes of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Make everything that will be sent."""
        self.pages: dict[str, list[bytes]] = {}
        for resource in (*WATCHED, INSTANCES):
            pages = cluster.pages(resource)
            self.pages[resource.plural] = [_framed(page) for page in pages]
        self.changes = Changes(cluster)
        self._cluster = cluster
        self._orders: SimpleQueue[tuple[int, float]] = SimpleQueue()
        self.sent = 0
        self.writes: Counter[str] = Counter()
        self.blocked_s = 0.0

    def serve(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Accept for ever."""
        while True:
            plug, _ = listener.accept()
            plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._connection, args=(plug, tls), daemon=True).start()

    def _connection(self, plug: socket.socket, tls: ssl.SSLContext | None) -> None:
        try:
            if tls is not None:
                plug = tls.wrap_socket(plug, server_side=True)
            with plug, plug.makefile("rb") as requests:
                while (line := requests.readline(REQUEST_LIMIT_BYTES)).strip():
                    size = 0
                    while (header := requests.readline(REQUEST_LIMIT_BYTES)).strip():
                        name, _, value = header.partition(b":")
                        size = int(value) if name.lower() == b"content-length" else size
                    requests.read(size)
                    method, target, _ = line.decode().split(" ", 2)
                    self._answer(plug, method, target)
        except OSError:
            pass  # The client has gone.

    def _answer(self, plug: socket.socket, method: str, target: str) -> None:
        where = urlsplit(target)
        query = parse_qs(where.query)
        parts = where.path.strip("/").split("/")
        if parts == ["go"]:
            self._orders.put((int(query["rate"][0]), float(query["seconds"][0])))
            plug.sendall(_whole(200, {}))
        elif parts == ["stats"]:
            plug.sendall(_whole(200, self.stats()))
        elif method != "GET":
            self.writes[f"{method} {parts[-1] if parts[-1] == 'eviction' else parts[-2]}"] += 1
            plug.sendall(_TOO_MANY if parts[-1] == "eviction" else _NOT_FOUND)
        elif parts[-1] not in self.pages:
            plug.sendall(_NOT_FOUND)
        elif "watch" in query:
            self._watch(plug, parts[-1])
        else:
            page = int(query.get("continue", ["0"])[0])
            plug.sendall(self.pages[parts[-1]][page])

    def stats(self) -> dict[str, Any]:
        """What was sent and asked so far."""
        return {
            "sent": self.sent,
            "writes": self.writes,
            "blocked_s": self.blocked_s,
            "cpu_s": time.process_time(),
        }

    def _watch(self, plug: socket.socket, plural: str) -> None:
        plug.sendall(_CHUNKED)
        while plural == PODS.plural:
            self._stream(plug, *self._orders.get())
        plug.recv(1)  # Until the client hangs up.

    def _stream(self, plug: socket.socket, rate: int, seconds: float) -> None:
        begun = next_tick = time.monotonic()
        sent = 0
        while (now := time.monotonic()) < begun + seconds:
            if now >= next_tick:
                plug.sendall(self._tick("MODIFIED"))
                next_tick += TICK_S
            due = int((now - begun) * rate) - sent if rate else BATCH_EVENTS_MAX
            if due <= 0:
                time.sleep(BATCH_S)
                continue
            before = self.changes.version
            events = self.changes.take(min(due, BATCH_EVENTS_MAX))
            sent += self.changes.version - before
            sending = time.monotonic()
            plug.sendall(events)
            self.blocked_s += time.monotonic() - sending
        self.sent += sent
        plug.sendall(self._tick("DELETED"))

    def _tick(self, kind: str) -> bytes:
        self.changes.version += 1
        pod = self._cluster.pods[0]
        text = self._cluster.pod(
            Named("", TICK, 0, pod.owner), uid=TICK, version=str(self.changes.version)
        )
        sent = b'"annotations":{"%s":"%d",' % (SENT.encode(), time.monotonic_ns())
        return chunk(event(kind, text.replace(b'"annotations":{', sent, 1)))


def _framed(page: list[bytes]) -> bytes:
    return b"".join((_CHUNKED, *map(chunk, page), b"0\r\n\r\n"))


def _whole(code: int, body: Any) -> bytes:
    text = json.dumps(body).encode()
    head = f"HTTP/1.1 {code} Said\r\nContent-Type: application/json\r\nAudit-Id: 1\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(text) + text


def _status(code: int, reason: str) -> bytes:
    body = {"kind": "Status", "status": "Failure", "reason": reason, "code": code, "message": "no"}
    return _whole(code, body)


_TOO_MANY = _status(429, "TooManyRequests")
_NOT_FOUND = _status(404, "NotFound")


def main() -> None:
    """Serve until standard input ends; the first line says the port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True)
    parser.add_argument("--certificate", default="", help="PEM file; serve TLS")
    given = parser.parse_args()
    tls = None
    if given.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(given.certificate)
    canned = Canned(Cluster(given.nodes, given.pods))
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        threading.Thread(target=canned.serve, args=(listener, tls), daemon=True).start()
        print(listener.getsockname()[1], flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
