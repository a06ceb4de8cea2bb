"""What we cannot use is refused: file, field, what is wrong, what to do, and never a secret."""

from pathlib import Path
from typing import Any

import pytest

from tests.kube.kubeconfigs import HIDDEN, PEM, inline, kubeconfig, load_file, write
from unmoor.kube.auth import Secret, Token
from unmoor.kube.config import ConfigError, load

REFUSED: dict[str, tuple[Any, str, str, str]] = {
    # name: (file, field, part of the problem, part of the remedy)
    "no server": (kubeconfig(cluster={"server": ""}), "server", "not set", "https://host:port"),
    "no scheme": (kubeconfig(cluster={"server": "api:6443"}), "server", "'api:6443'", "https://"),
    "other scheme": (
        kubeconfig(cluster={"server": "ftp://api"}),
        "server",
        "'ftp://api'",
        "https://",
    ),
    "no host": (kubeconfig(cluster={"server": "https://"}), "server", "not a URL", "https://"),
    "bad port": (kubeconfig(cluster={"server": "https://a:x"}), "server", "not a URL", "https://"),
    "query": (
        kubeconfig(cluster={"server": f"https://a?b={HIDDEN}"}),
        "server",
        "query",
        "https://",
    ),
    "user in URL": (
        kubeconfig(cluster={"server": f"https://u:{HIDDEN}@api"}),
        "server",
        "user name in it",
        "move",
    ),
    "user without a scheme": (
        kubeconfig(cluster={"server": f"u:{HIDDEN}@api"}),
        "server",
        "user name in it",
        "move",
    ),
    "token is a number": (kubeconfig({"token": 12345}), "token", "Expected `str", "quotes"),
    "token is a list": (kubeconfig({"token": [HIDDEN]}), "token", "Expected `str", "quotes"),
    "token with spaces": (kubeconfig({"token": f"a {HIDDEN}"}), "token", "spaces", "copy"),
    "token over lines": (kubeconfig({"token": f"a\n{HIDDEN}"}), "token", "odd", "copy"),
    "no token file": (
        kubeconfig({"tokenFile": "none"}),
        "tokenFile",
        "No such file",
        "check the path",
    ),
    "empty token file": (kubeconfig({"tokenFile": "config.empty"}), "tokenFile", "empty", "write"),
    "authority missing": (
        kubeconfig(cluster={"certificate-authority": "none.crt"}),
        "certificate-authority",
        "none.crt: No such file",
        "check the path",
    ),
    "authority not base64": (
        kubeconfig(cluster={"certificate-authority-data": "%%%"}),
        "certificate-authority-data",
        "not PEM in base64",
        "base64 -w0",
    ),
    "key not base64": (
        kubeconfig({"client-certificate-data": inline(PEM), "client-key-data": f"{HIDDEN}!"}),
        "client-key-data",
        "not PEM in base64",
        "base64 -w0",
    ),
    "key missing": (
        kubeconfig({"client-certificate": "client.crt"}),
        "client-key",
        "it is missing",
        "needs its key",
    ),
    "certificate missing": (
        kubeconfig({"client-key-data": inline(HIDDEN)}),
        "client-certificate",
        "it is missing",
        "needs its key",
    ),
    "trust and no trust": (
        kubeconfig(
            cluster={"insecure-skip-tls-verify": True, "certificate-authority-data": inline(PEM)}
        ),
        "insecure-skip-tls-verify",
        "contradicts certificate-authority",
        "remove one",
    ),
    "insecure is a text": (
        kubeconfig(cluster={"insecure-skip-tls-verify": "yes"}),
        "insecure-skip-tls-verify",
        "Expected `bool",
        "",
    ),
    "no such user": (kubeconfig(context={"user": "bob"}), "user", "no user 'bob'", "alice"),
    "no such cluster": (kubeconfig(context={"cluster": "c9"}), "cluster", "no cluster 'c9'", "c1"),
    "no cluster": (kubeconfig(context={"cluster": ""}), "cluster", "not set", "c1"),
    "no current context": (
        kubeconfig(current=""),
        "current-context",
        "not set",
        "prod",
    ),
    "current context unknown": (
        kubeconfig(current="dev"),
        "current-context",
        "no context 'dev'",
        "prod",
    ),
    "a name twice": (
        kubeconfig(users=[{"name": "alice", "user": {"token": HIDDEN}}] * 2),
        "users",
        "'alice' is there twice",
        "rename",
    ),
    "users is a mapping": (kubeconfig(users={"alice": HIDDEN}), "users", "not a list", "list"),
    "a user without a name": (
        kubeconfig(users=[{"user": {}}]),
        "users[0].name",
        "not a text",
        "name",
    ),
    "not YAML": (f"a: [\ntoken: *{HIDDEN}", "line 2, column 8", "not YAML", "correct"),
    "a tag": (f"token: !{HIDDEN} x", "line 1, column 8", "not YAML", "correct"),
    "a control character": (f"token: \x01{HIDDEN}", "kubeconfig", "not YAML", "correct"),
    "not a mapping": (f"- {HIDDEN}", "kind", "no kubeconfig", "kind: Config"),
    "another kind": ({"kind": "Pod", "x": HIDDEN}, "kind", "no kubeconfig", "kind: Config"),
    "empty": ("", "current-context", "not set", "there are none"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_file_field_problem_and_remedy(file: Path, case: str) -> None:
    content, field, problem, remedy = REFUSED[case]
    write(file, content)
    write(file.parent / "config.empty", "")

    with pytest.raises(ConfigError) as refused:
        load_file(file)

    error = refused.value
    assert error.field == field
    assert problem in error.problem
    assert remedy in error.remedy
    assert str(file) in error.where
    assert HIDDEN not in str(error)


@pytest.mark.parametrize("case", ["token is a list", "token is a number", "key missing"])
def test_what_is_wrong_with_a_user_names_context_and_user(file: Path, case: str) -> None:
    with pytest.raises(ConfigError, match="context 'prod': user 'alice'"):
        load_file(write(file, REFUSED[case][0]))


def test_an_unknown_context_that_was_asked_for(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"context: there is no context 'dev'; .*: prod"):
        load_file(write(file, kubeconfig()), "dev")


@pytest.mark.parametrize("where", ["path", "KUBECONFIG"])
def test_a_missing_file(tmp_path: Path, where: str) -> None:
    missing = str(tmp_path / "none")

    with pytest.raises(ConfigError, match=r"none: .*: [Nn]o such file"):
        load(path=missing if where == "path" else "", environ={"KUBECONFIG": missing})


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        load(path=str(tmp_path), environ={})


def test_a_neighbours_broken_entry_does_not_hinder_us(file: Path) -> None:
    content = kubeconfig({"token": "t"})
    content["users"] += [{"name": "bob", "user": {"exec": {"command": "x"}}}, {"name": "eve"}]
    content["clusters"] += [{"name": "odd", "cluster": {"server": 7}}]

    assert load_file(write(file, content)).auth == Token(Secret("t"))


# ------------------------------------------------------------------------------------------ secrets


@pytest.mark.parametrize(
    "user",
    [
        {"token": HIDDEN},
        {"username": "ann", "password": HIDDEN},
        {"client-certificate-data": inline(PEM), "client-key-data": inline(HIDDEN)},
    ],
)
def test_secrets_do_not_show(file: Path, user: dict[str, str]) -> None:
    config = load_file(write(file, kubeconfig(user)))

    for text in (repr(config), str(config), f"{config}", repr(config.auth), f"{config.key}"):
        assert HIDDEN not in text


def test_what_is_said_has_a_limit_and_no_user_of_a_url() -> None:
    url = f"https://ann:{HIDDEN}@host"
    said = str(ConfigError(f"{url} {'w' * 5_000}", "server", f"{url} {'p' * 5_000}", "mend it"))

    assert len(said) < 1_200
    assert "https://***@host" in said
    assert HIDDEN not in said
