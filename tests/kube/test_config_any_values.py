"""Every field of a kubeconfig with every odd value: it serves, or it is refused by its name.

Nothing else may happen: no other exception, neither when the file is read nor at the first request,
and no secret in what is said.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import re
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from tests.kube.kubeconfigs import HIDDEN, inline, kubeconfig, load_file, write
from tests.kube.server import ManualClock
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.kube.config import Config, ConfigError
from unmoor.kube.entry import _PUBLIC
from unmoor.model.kinds import NODES
from unmoor.runtime.ports import PortError

DEAD = "https://127.0.0.1:1"
LIMIT_S = 30.0
SAID_CHARS_MOST = 1600
QUICK = ClientSettings(timeout_s=1.0)

ITSELF: list[Any] = []
ITSELF.append(ITSELF)

ODD: dict[str, Any] = {
    "a number": 7,
    "a huge number": 10**40,
    "a fraction": 1.5,
    "no number": float("nan"),
    "a truth": True,
    "a date": dt.date(2026, 1, 5),
    "a set": {HIDDEN},
    "bytes": b"\xff\x00",
    "an empty text": "",
    "a space": " ",
    "a NUL": f"{HIDDEN}\0",
    "two lines": f"{HIDDEN}\r\nX: {HIDDEN}",
    "a control character": f"\x7f{HIDDEN}",
    "no ASCII": f"\N{SNOWMAN}{HIDDEN}",
    "half a character": f"\udc80{HIDDEN}",
    "a long text": HIDDEN * 1_000,
    "a dot": ".",
    "a leading dot": f".{HIDDEN}",
    "a long label": f"{'a' * 64}.{HIDDEN}",
    "a directory": "/",
    "no path": f"../{HIDDEN}/no\x01thing",
    "a URL": f"https://ann:{HIDDEN}@host:1/path?query#fragment",
    "an odd port": "https://host:99999",
    "an odd host": "https://.host",
    "a host with a space": "https://a b",
    "a host with a long label": f"https://{'a' * 64}",
    "half an address": "https://[::1",
    "braces": "https://{host}",
    "a list": [HIDDEN],
    "an empty list": [],
    "a list of lists": [[HIDDEN]],
    "a list of mappings": [{HIDDEN: HIDDEN}],
    "a list of itself": ITSELF,
    "a mapping": {"name": "thing", "value": HIDDEN},
    "an empty mapping": {},
    "a mapping of numbers": {7: HIDDEN},
}


@dataclass(frozen=True)
class Place:
    """Where a value is put: ``steps`` into the file, and how errors may name it."""

    base: str
    steps: tuple[Any, ...]
    field: str
    is_of_an_entry: bool = True


PLUGIN = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "/bin/true",
    "args": [HIDDEN],
    "env": [{"name": "KEY", "value": HIDDEN}],
    "interactiveMode": "Never",
    "provideClusterInfo": True,
}
OIDC = {
    "idp-issuer-url": "https://127.0.0.1:1",
    "client-id": "unmoor",
    "client-secret": HIDDEN,
    "refresh-token": HIDDEN,
}
AUTHORITY = "idp-certificate-authority"
EXTENSION = {"name": "client.authentication.k8s.io/exec", "extension": {"key": HIDDEN}}
BASES: dict[str, dict[str, Any]] = {
    "token": kubeconfig({"token": "t0ken"}),
    "anonymous": kubeconfig(),
    "password": kubeconfig({"username": "ann", "password": HIDDEN}),
    "plugin": kubeconfig({"exec": PLUGIN}, {"extensions": [EXTENSION]}),
    "oidc": kubeconfig({"auth-provider": {"name": "oidc", "config": OIDC}}),
    "as": kubeconfig({"token": "t0ken", "as": "bob", "as-groups": ["x"], "as-user-extra": {}}),
}
CLUSTER, USER, CONTEXT = (
    ("clusters", 0, "cluster"),
    ("users", 0, "user"),
    ("contexts", 0, "context"),
)


CLUSTER_FIELDS = (
    "server",
    "certificate-authority",
    "certificate-authority-data",
    "insecure-skip-tls-verify",
    "tls-server-name",
    "proxy-url",
    "extensions",
)
USER_FIELDS = (
    "token",
    "tokenFile",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "username",
    "password",
    "exec",
    "auth-provider",
    "as",
    "as-uid",
    "as-groups",
    "as-user-extra",
)


def places() -> list[Place]:
    found = [Place("token", (*CLUSTER, field), field) for field in CLUSTER_FIELDS]
    found += [Place("anonymous", (*USER, field), field) for field in USER_FIELDS]
    found += [Place("plugin", (*USER, "exec", f), f"exec.{f}") for f in (*PLUGIN, "installHint")]
    found += [
        Place("plugin", (*USER, "exec", "args", 0), "exec.args[0]"),
        Place("plugin", (*USER, "exec", "env", 0), "exec.env[0]"),
        Place("plugin", (*USER, "exec", "env", 0, "name"), "exec.env[0].name"),
        Place("plugin", (*USER, "exec", "env", 0, "value"), "exec.env[0].value"),
        Place("plugin", (*CLUSTER, "extensions", 0), "extensions[0]"),
        Place("plugin", (*CLUSTER, "extensions", 0, "name"), "extensions[0].name"),
        Place("plugin", (*CLUSTER, "extensions", 0, "extension"), "extensions[0].extension"),
        Place("oidc", (*USER, "auth-provider", "name"), "auth-provider.name"),
        Place("oidc", (*USER, "auth-provider", "config"), "auth-provider.config"),
        Place("password", (*USER, "username"), "username"),
        Place("password", (*USER, "password"), "password"),
        Place("as", (*USER, "as"), "as"),
        Place("as", (*USER, "as-uid"), "as-uid"),
        Place("as", (*USER, "as-groups", 0), "as-groups[0]"),
        Place("as", (*USER, "as-user-extra", "scopes"), "as-user-extra[...]"),
    ]
    found += [
        Place("oidc", (*USER, "auth-provider", "config", field), f"auth-provider.config.{field}")
        for field in (*OIDC, "id-token", AUTHORITY, f"{AUTHORITY}-data")
    ]
    found += [Place("token", (*CONTEXT, f), f) for f in ("cluster", "user", "namespace")]
    found += [
        Place("token", CLUSTER, "cluster"),
        Place("token", USER, "user"),
        Place("token", CONTEXT, "context"),
    ]
    for section in ("clusters", "users", "contexts"):
        found += [
            Place("token", (section,), section, is_of_an_entry=False),
            Place("token", (section, 0), f"{section}[0]", is_of_an_entry=False),
            Place("token", (section, 0, "name"), f"{section}[0].name", is_of_an_entry=False),
        ]
    for field in ("current-context", "kind", "apiVersion", "preferences"):
        found.append(Place("token", (field,), field, is_of_an_entry=False))
    return found


def with_value(body: Any, steps: tuple[Any, ...], value: Any) -> Any:
    """The same file with another value at one place."""
    if not steps:
        return value
    changed = copy(body)
    first, *rest = steps
    held = changed[first] if isinstance(changed, list) or first in changed else {}
    changed[first] = with_value(held, tuple(rest), value)
    return changed


async def first_request(config: Config) -> str:
    """What is said at the first request, if the client can be made."""
    async with asyncio.timeout(LIMIT_S):
        try:
            async with KubeApi(
                config, clock=ManualClock(), random=Random(1), settings=QUICK
            ) as api:
                await api.get(NODES.ref("a"))
        except (PortError, ConfigError) as error:
            return str(error)
    raise AssertionError("somebody answered")


@pytest.mark.parametrize("place", places(), ids=lambda place: f"{place.base}: {place.field}")
async def test_an_odd_value_serves_or_is_refused(file: Path, place: Place) -> None:
    tried: list[Config] = []
    for what, value in ODD.items():
        write(file, with_value(BASES[place.base], place.steps, value))
        try:
            config = load_file(file)
        except ConfigError as refused:
            error: ConfigError | None = refused
            said = str(refused)
        else:
            error = None
            if place.field != "server":
                config = msgspec.structs.replace(config, server=DEAD)
            if config in tried:
                continue
            tried.append(config)
            said = await first_request(config)
        if error is not None:
            assert is_named(error, place, file), (what, said[:200])
        assert len(said) < SAID_CHARS_MOST, what
        assert f"ann:{HIDDEN}" not in said, what
        if is_secret(place):
            assert HIDDEN not in said, what
            assert inline(HIDDEN)[:8] not in said, what


def is_named(error: ConfigError, place: Place, file: Path) -> bool:
    """The error leads to the place: to the file, the context it belongs to, and the field."""
    if str(file) not in error.where or not error.problem or not error.remedy:
        return False
    if error.problem == "not YAML":
        return error.field.startswith("line ")
    if place.is_of_an_entry and "context 'prod'" not in error.where:
        return False
    whole = {"cluster", "user", "context", "current-context"}  # an entry, or a name of none
    if error.field in whole or place.field in whole:
        return True
    own = place.field.partition("[")[0]
    return error.field.startswith(own) or place.field.startswith(error.field)


def is_secret(place: Place) -> bool:
    """What stands there must not be shown."""
    name = re.sub(r"\[.*?\]", "", place.field).rpartition(".")[2]
    return place.is_of_an_entry and name not in {*_PUBLIC, "proxy-url"}
