"""What happens in the measured cluster? An endless stream of pod events, cheap to send.

Half of the events tell the lives of new pods: created, bound, started, ready, terminating, gone.
The others flip the readiness of pods that were there. The texts are made once and sent round after
round. Only what has to be new is written into them before: the version, and the round in names and
uids of new pods. So the sender costs next to nothing, and a measurement sees its receiver.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from tests.bench.cluster import CHANGES_FROM, Cluster, Named, text_of
from unmoor.sim.virtual import EPOCH

LIVES = 1_000
"""New pods in one round; each has six events, and as many tell of other pods."""
VERSION = b"VVVVVVVVVV"
ROUND = b"RRRR"
TERMINATING = b'"generation":1,"deletionTimestamp":"2026-02-01T00:00:00Z",'


class Spot(NamedTuple):
    """One event in the buffer, and what to write into it."""

    start: int
    end: int
    version: int
    rounds: tuple[int, ...]


class Changes:
    """The stream. ``take`` stamps some events and says where they lie in ``buffer``."""

    def __init__(self, cluster: Cluster, lives: int = LIVES) -> None:
        """Make the texts of one round."""
        self._cluster = cluster
        events = _shuffled([self._life(number) for number in range(lives)], self._flips(lives))
        chunks = [chunk(event) for event in events]
        self.buffer = bytearray().join(chunks)
        self._spots = list(_spots(chunks))
        self._next = 0
        self._round = 0
        self.version = CHANGES_FROM

    def __len__(self) -> int:
        """Events in a round."""
        return len(self._spots)

    def take(self, count: int) -> memoryview:
        """The next events, at most so many; what is returned is stamped over a round later."""
        spots = self._spots[self._next : self._next + count]
        buffer, round_text = self.buffer, b"%04x" % (self._round % 65536)
        for spot in spots:
            self.version += 1
            buffer[spot.version : spot.version + 10] = b"%d" % self.version
            for at in spot.rounds:
                buffer[at : at + 4] = round_text
        self._next += len(spots)
        if self._next == len(self._spots):
            self._next, self._round = 0, self._round + 1
        return memoryview(buffer)[spots[0].start : spots[-1].end]

    def _life(self, number: int) -> list[bytes]:
        """Six events; names and uids have a place for the round."""
        cluster = self._cluster
        owner = cluster.restless[number * 31 % len(cluster.restless)]
        named = Named(
            "", f"{cluster.owners[owner].name}-{number:03x}{ROUND.decode()}", number, owner
        )
        uid = f"{number:08x}-{ROUND.decode()}-4c56-9d3a-ffffffffffff"
        version = VERSION.decode()
        pending = {"uid": uid, "version": version, "phase": "Pending", "ready": "False"}
        running = pending | {"phase": "Running"}
        texts = [
            cluster.pod(named, node="", **pending),
            cluster.pod(named, **pending),
            cluster.pod(named, **running),
            cluster.pod(named, **running | {"ready": "True"}),
        ]
        last = cluster.pod(named, **running).replace(b'"generation":1,', TERMINATING)
        kinds = ("ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED")
        return [event(kind, text) for kind, text in zip(kinds, [*texts, last, last], strict=True)]

    def _flips(self, lives: int) -> list[list[bytes]]:
        """Pods that are not ready for a moment: two events each."""
        cluster, found = self._cluster, []
        for number in range(3 * lives):
            pod = cluster.pods[number * 7919 % len(cluster.pods)]
            stamp = {"version": VERSION.decode(), "up": text_of(EPOCH)}
            texts = [cluster.pod(pod, **stamp, ready=ready) for ready in ("False", "True")]
            found.append([event("MODIFIED", text) for text in texts])
        return found


def event(kind: str, obj: bytes) -> bytes:
    """One line of a watch."""
    head = b'{"type":"%s","object":{"kind":"Pod","apiVersion":"v1",' % kind.encode()
    return head + obj[1:] + b"}\n"


def chunk(text: bytes) -> bytes:
    """One piece of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(text), text)


def _shuffled(lives: list[list[bytes]], flips: list[list[bytes]]) -> list[bytes]:
    """All events, mixed; those of one pod in their order."""
    stories = [*lives, *flips]
    turns = [at for at, story in enumerate(stories) for _ in story]
    Random(1).shuffle(turns)
    left = [iter(story) for story in stories]
    return [next(left[at]) for at in turns]


def _spots(chunks: list[bytes]) -> Iterator[Spot]:
    start = 0
    for one in chunks:
        rounds = tuple(start + at for at in _finds(one, ROUND))
        yield Spot(start, start + len(one), start + one.index(VERSION), rounds)
        start += len(one)


def _finds(text: bytes, what: bytes) -> Iterator[int]:
    at = text.find(what)
    while at >= 0:
        yield at
        at = text.find(what, at + 1)
