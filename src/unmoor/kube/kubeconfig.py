"""What do kubeconfig files say? Several of them, merged, and one context picked out.

The first file that names a cluster, a user or a context wins, and so does the first one that sets
``current-context``; relative paths are relative to the file they stand in (as kubectl has it).
Only what the context needs is looked at, so a neighbour's broken entry does not hinder us.

Must not: look for files; ``unmoor.kube.config`` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from unmoor.kube import cluster_entry, user_entry
from unmoor.kube.access import Config, ConfigError
from unmoor.kube.auth import Secret
from unmoor.kube.entry import Entry, Fields

SIZE_LIMIT_BYTES = 16 * 2**20
"""A larger file is no kubeconfig."""


class _Context(msgspec.Struct, frozen=True, rename="kebab"):
    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None


class _Merged(msgspec.Struct):
    """What all files say together."""

    clusters: dict[str, Entry] = {}
    users: dict[str, Entry] = {}
    contexts: dict[str, Entry] = {}
    current: str = ""


def load(
    paths: Sequence[Path],
    context: str = "",
    *,
    environ: Mapping[str, str],
    must_exist: bool = True,
) -> Config:
    """The configuration of one context, ``current-context`` by default. Raises ConfigError.

    With ``must_exist`` False missing files are passed over, as long as one is there. ``environ``
    has the way to plugins and proxies.
    """
    present = [path for path in paths if must_exist or path.exists()]
    where = ", ".join(str(path) for path in paths)
    if not present:
        raise ConfigError(where, "KUBECONFIG", "no such file", "name a file that exists")
    merged = _Merged()
    for path in present:
        _merge(merged, path)
    name = context or merged.current
    if not name:
        raise ConfigError(
            where,
            "current-context",
            "it is not set",
            f"choose one with --context: {_listed(merged.contexts)}",
        )
    if name not in merged.contexts:
        raise ConfigError(
            where,
            "context" if context else "current-context",
            f"there is no context {name!r}",
            f"choose one of: {_listed(merged.contexts)}",
        )
    return _configure(merged, merged.contexts[name], environ)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "there are none"


# ----------------------------------------------------------------------------------------- reading


def _merge(merged: _Merged, path: Path) -> None:
    document = _parse(path)
    for section, entries in (
        ("clusters", merged.clusters),
        ("users", merged.users),
        ("contexts", merged.contexts),
    ):
        found: dict[str, Entry] = {}
        for entry in _named(path, section, document.get(section)):
            if entry.name in found:
                raise ConfigError(
                    str(path), section, f"{entry.name!r} is there twice", "remove or rename one"
                )
            found[entry.name] = entry
        for name, entry in found.items():
            entries.setdefault(name, entry)
    current = document.get("current-context") or ""
    if not isinstance(current, str):
        raise ConfigError(str(path), "current-context", "it is not a text", "put it in quotes")
    merged.current = merged.current or current


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as opened:  # it may be a device that never ends
            text = opened.read(SIZE_LIMIT_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            str(path), "kubeconfig", str(error.strerror), "check the path and its mode"
        ) from None
    if len(text) > SIZE_LIMIT_BYTES:
        raise ConfigError(str(path), "kubeconfig", "it is too large", "is this the right file?")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(text, loader)  # noqa: S506 - one of the two safe loaders
    except yaml.MarkedYAMLError as error:
        # Only the place: the parser's own words may quote what stands there, a token perhaps.
        mark = error.problem_mark
        at = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "some line"
        raise ConfigError(str(path), at, "not YAML", "correct the file") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(str(path), "kubeconfig", "not YAML", "correct the file") from None
    if document is None:
        return {}
    if not isinstance(document, dict) or document.get("kind", "Config") != "Config":
        raise ConfigError(
            str(path), "kind", "this is no kubeconfig", "it must be a mapping of kind: Config"
        )
    return document


def _named(path: Path, section: str, entries: object) -> Iterable[Entry]:
    """The entries of ``clusters``, ``users`` or ``contexts``."""
    if entries is None:
        return
    if not isinstance(entries, list):
        raise ConfigError(str(path), section, "not a list", "write a list of named entries")
    for number, entry in enumerate(entries):
        name = entry.get("name") if isinstance(entry, dict) else None
        body = entry.get(section[:-1]) if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise ConfigError(
                str(path), f"{section}[{number}].name", "it is not a text", "give it a name"
            )
        yield Entry(path, section[:-1], name, {} if body is None else body)


# ------------------------------------------------------------------------------------- one context


def _configure(merged: _Merged, context: Entry, environ: Mapping[str, str]) -> Config:
    origin = f"{context.file}: context {context.name!r}"
    chosen = Fields(context, origin).typed(_Context)
    entry = _find(merged.clusters, chosen.cluster, origin, "cluster")
    fields = Fields(entry, f"{entry.file}: context {context.name!r}: cluster {chosen.cluster!r}")
    cluster = cluster_entry.read(fields, environ)
    if chosen.user:
        entry = _find(merged.users, chosen.user, origin, "user")
    else:
        entry = Entry(context.file, "user", "", {})
    fields = Fields(entry, f"{entry.file}: context {context.name!r}: user {chosen.user!r}")
    user = user_entry.read(fields, entry.name, cluster.told, environ)
    return Config(
        server=cluster.server,
        origin=origin,
        namespace=chosen.namespace or "default",
        auth=user.auth,
        authority=cluster.authority.text,
        authority_file=cluster.authority.file,
        is_insecure=cluster.is_insecure,
        tls_server_name=cluster.tls_server_name,
        certificate=user.certificate.text,
        certificate_file=user.certificate.file,
        key=Secret(user.key.text),
        key_file=user.key.file,
        proxy=cluster.proxy,
        impersonation=user.impersonation,
    )


def _find(entries: dict[str, Entry], name: str | None, origin: str, field: str) -> Entry:
    if not name:
        raise ConfigError(origin, field, "it is not set", f"choose one of: {_listed(entries)}")
    if name not in entries:
        raise ConfigError(
            origin, field, f"there is no {field} {name!r}", f"choose one of: {_listed(entries)}"
        )
    return entries[name]
