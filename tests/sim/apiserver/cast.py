"""What tests of the embedded API server have in common: its clock, and a few objects."""

from datetime import UTC, datetime
from typing import Any

from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import NODES, PODS
from unmoor.sim.apiserver import Server

START = datetime(2026, 1, 1, tzinfo=UTC)
CONTAINER: JSON = {"name": "main", "image": "img:1"}


class Clock:
    """A wall clock that a test sets."""

    def __init__(self) -> None:
        self.wall = START

    def __call__(self) -> datetime:
        return self.wall


def add_node(server: Server, name: str, **parts: Any) -> Ref:
    server.create(NODES.ref(name), {"metadata": {"name": name}, **parts})
    return NODES.ref(name)


def add_pod(server: Server, name: str, node: str = "") -> Ref:
    ref = PODS.ref(name, "default")
    spec: JSON = {"containers": [CONTAINER]}
    if node:
        spec["nodeName"] = node
    server.create(ref, {"metadata": {"name": name}, "spec": spec})
    return ref


def label(server: Server, ref: Ref, value: str) -> JSON:
    return server.patch(ref, {"metadata": {"labels": {"l": value}}})
