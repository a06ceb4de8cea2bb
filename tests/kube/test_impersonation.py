"""Acting as somebody else: the header lines, on every request."""

from pathlib import Path
from typing import Any

import pytest

from tests.kube.asking import client_of
from tests.kube.kubeconfigs import kubeconfig, load_file, write
from tests.kube.server import ManualClock, Server, event, node, sends
from unmoor.kube.impersonation import Impersonation
from unmoor.model.kinds import NODES

EVERYTHING: dict[str, Any] = {
    "token": "t",
    "as": "system:serviceaccount:ops:ann",
    "as-uid": "u-1",
    "as-groups": ["admins", "on call"],
    "as-user-extra": {"scopes": ["a", "b"], "acme.com/Project": ["x"], "ü": ["ö"]},
}


async def test_every_request_says_as_whom(server: Server, clock: ManualClock, file: Path) -> None:
    async with client_of(server, EVERYTHING, clock, file) as api:
        await api.get(NODES.ref("a"))
        await api.patch(NODES.ref("a"), {})
        server.answers.append(sends(event("ADDED", node("b"))))
        [_ async for _ in api.watch(NODES, since="1")]

    assert len(server.seen) == 3
    for seen in server.seen:
        lines = [(n, v) for n, v in seen.headers.items() if n.startswith("Impersonate")]
        assert lines == [
            ("Impersonate-User", "system:serviceaccount:ops:ann"),
            ("Impersonate-Uid", "u-1"),
            ("Impersonate-Group", "admins"),
            ("Impersonate-Group", "on call"),
            ("Impersonate-Extra-acme.com%2FProject", "x"),
            ("Impersonate-Extra-scopes", "a"),
            ("Impersonate-Extra-scopes", "b"),
            ("Impersonate-Extra-%C3%BC", "ö"),
        ]
        assert seen.headers["Authorization"] == "Bearer t"


def test_only_a_user(file: Path) -> None:
    config = load_file(write(file, kubeconfig({"as": "ann"})))

    assert config.impersonation == Impersonation(user="ann")
    assert config.impersonation.headers() == [("Impersonate-User", "ann")]


@pytest.mark.parametrize("nobody", [{}, {"as": ""}, {"as": None, "as-groups": []}])
def test_nobody_else(file: Path, nobody: dict[str, Any]) -> None:
    assert load_file(write(file, kubeconfig(nobody))).impersonation is None


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("plain-name.x_y~z", "plain-name.x_y~z"),
        ("100%", "100%25"),
        ("a b:c", "a%20b%3Ac"),
        ("a\r\nb", "a%0D%0Ab"),
    ],
)
def test_the_name_of_an_extra_field_is_escaped(name: str, header: str) -> None:
    acting = Impersonation(user="ann", extra=((name, ("x",)),))

    assert acting.headers()[1] == (f"Impersonate-Extra-{header}", "x")
