"""What do kubeconfig files say? Several of them, merged, and one context picked out.

The first file that names a cluster, a user or a context wins, and so does the first one that sets
``current-context``; relative paths are relative to the file they stand in (as kubectl has it).
Only what the context needs is looked at, so a neighbour's broken entry does not hinder us.

Must not: look for files; ``unmoor.kube.config`` does.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml

from unmoor.kube.access import Config, ConfigError
from unmoor.kube.auth import Anonymous, Auth, AuthError, Basic, Secret, Token, TokenFile, read_token

SIZE_LIMIT_BYTES = 16 * 2**20
"""A larger file is no kubeconfig."""

T = TypeVar("T")


class _Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None


class _User(msgspec.Struct, frozen=True, rename="kebab"):
    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        """Without its secrets."""
        return "<user>"


class _Context(msgspec.Struct, frozen=True, rename="kebab"):
    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None


UNSUPPORTED_USER = {
    "exec": "credential plugins are not supported yet: use a token, a tokenFile or a certificate",
    "auth-provider": "auth providers left Kubernetes in 1.26: use a token or a certificate",
    "as": "impersonation is not supported yet: use a user that has the rights itself",
    "as-uid": "impersonation is not supported yet: use a user that has the rights itself",
    "as-groups": "impersonation is not supported yet: use a user that has the rights itself",
    "as-user-extra": "impersonation is not supported yet: use a user that has the rights itself",
}
UNSUPPORTED_CLUSTER = {
    "proxy-url": "proxies are not supported yet: use a context that reaches the server directly",
}


class _Entry(msgspec.Struct, frozen=True):
    """One named entry, and the file it stands in."""

    file: Path
    name: str
    body: dict[str, Any]

    def __repr__(self) -> str:
        """Without its body: it may hold secrets."""
        return f"{self.file}: {self.name}"


class _Merged(msgspec.Struct):
    """What all files say together."""

    clusters: dict[str, _Entry] = {}
    users: dict[str, _Entry] = {}
    contexts: dict[str, _Entry] = {}
    current: str = ""


def load(paths: Sequence[Path], context: str = "", *, must_exist: bool = True) -> Config:
    """The configuration of one context, ``current-context`` by default. Raises ConfigError.

    With ``must_exist`` False missing files are passed over, as long as one is there.
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
    return _configure(merged, merged.contexts[name])


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
        found: dict[str, _Entry] = {}
        for entry in _named(path, section, document.get(section)):
            if entry.name in found:
                raise ConfigError(
                    str(path), section, f"{entry.name!r} is there twice", "remove or rename one"
                )
            found[entry.name] = entry
        for name, entry in found.items():
            entries.setdefault(name, entry)
    current = document.get("current-context")
    if isinstance(current, str):
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


def _named(path: Path, section: str, entries: object) -> Iterable[_Entry]:
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
        if not isinstance(body, dict):
            body = {}
        yield _Entry(path, name, body)


# ------------------------------------------------------------------------------------- one context


def _configure(merged: _Merged, context: _Entry) -> Config:
    origin = f"{context.file}: context {context.name!r}"
    chosen = _typed(context, _Context, origin)
    cluster_entry = _find(merged.clusters, chosen.cluster, origin, "cluster")
    cluster_origin = f"{cluster_entry.file}: context {context.name!r}: cluster {chosen.cluster!r}"
    _refuse(cluster_entry, UNSUPPORTED_CLUSTER, cluster_origin)
    cluster = _typed(cluster_entry, _Cluster, cluster_origin)
    if chosen.user:
        user_entry = _find(merged.users, chosen.user, origin, "user")
    else:
        user_entry = _Entry(context.file, "", {})
    user_origin = f"{user_entry.file}: context {context.name!r}: user {chosen.user!r}"
    _refuse(user_entry, UNSUPPORTED_USER, user_origin)
    user = _typed(user_entry, _User, user_origin)
    cluster_fields = _Fields(cluster_entry, cluster_origin)
    user_fields = _Fields(user_entry, user_origin)
    certificate = user_fields.text("client-certificate")
    key = user_fields.text("client-key")
    if bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise ConfigError(user_origin, missing, "it is missing", "a certificate needs its key")
    authority = cluster_fields.text("certificate-authority")
    if authority and cluster.insecure_skip_tls_verify:
        raise ConfigError(
            cluster_origin,
            "insecure-skip-tls-verify",
            "it contradicts certificate-authority",
            "remove one of them; keep the authority",
        )
    return Config(
        server=_server(cluster.server or "", cluster_origin),
        origin=origin,
        namespace=chosen.namespace or "default",
        auth=_auth(user, user_fields),
        authority=authority,
        is_insecure=bool(cluster.insecure_skip_tls_verify),
        tls_server_name=cluster.tls_server_name or "",
        certificate=certificate,
        key=Secret(key),
    )


def _find(entries: dict[str, _Entry], name: str | None, origin: str, field: str) -> _Entry:
    if not name:
        raise ConfigError(origin, field, "it is not set", f"choose one of: {_listed(entries)}")
    if name not in entries:
        raise ConfigError(
            origin, field, f"there is no {field} {name!r}", f"choose one of: {_listed(entries)}"
        )
    return entries[name]


def _typed(entry: _Entry, kind: type[T], origin: str) -> T:
    try:
        return msgspec.convert(entry.body, kind)
    except msgspec.ValidationError as error:
        # msgspec names types and the path, never the value.
        problem, _, path = str(error).partition(" - at `$.")
        raise ConfigError(
            origin, path.rstrip("`") or entry.name, problem, "put texts in quotes"
        ) from None


def _refuse(entry: _Entry, unsupported: dict[str, str], origin: str) -> None:
    for field, why in unsupported.items():
        if entry.body.get(field):
            problem, _, remedy = why.partition(": ")
            raise ConfigError(origin, field, problem, remedy)


def _server(server: str, origin: str) -> str:
    remedy = "write it as https://host:port"
    if not server:
        raise ConfigError(origin, "server", "it is not set", remedy)
    if "@" in server:  # looked for in the text: without a scheme urlsplit finds no user
        raise ConfigError(
            origin, "server", "it has a user name in it", "move the credentials to the user"
        )
    try:
        parts = urlsplit(server)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(origin, "server", "it is not a URL", remedy) from None
    if parts.scheme not in {"https", "http"} or not host:
        raise ConfigError(origin, "server", f"{server!r} is not a URL of an API server", remedy)
    if parts.query or parts.fragment:
        raise ConfigError(origin, "server", "it has a query or a fragment", remedy)
    return server.rstrip("/")


def _auth(user: _User, fields: _Fields) -> Auth:
    if user.token_file:
        path = fields.path(user.token_file)
        try:
            read_token(path)
        except AuthError as error:
            problem, _, remedy = str(error).rpartition(": ")
            raise ConfigError(fields.origin, "tokenFile", problem, remedy) from None
        return TokenFile(path)
    if user.token:
        token = user.token.strip()
        if not token.isprintable() or " " in token or not token.isascii():
            raise ConfigError(
                fields.origin, "token", "it has spaces or odd characters inside", "copy it again"
            )
        return Token(Secret(token))
    if user.username:
        return Basic(user.username, Secret(user.password or ""))
    return Anonymous()


class _Fields:
    """Reads ``x-data`` (base64, inline) or else the file that ``x`` names."""

    def __init__(self, entry: _Entry, origin: str) -> None:
        self._entry = entry
        self.origin = origin

    def path(self, written: str) -> Path:
        """A path as it is meant: relative to the file that says it."""
        return self._entry.file.parent / Path(written)

    def text(self, field: str) -> str:
        """The PEM text of a field, "" when neither form is set."""
        if inline := self._entry.body.get(f"{field}-data"):
            return self._decoded(f"{field}-data", inline)
        if written := self._entry.body.get(field):
            return self._contents(field, self.path(written))
        return ""

    def _decoded(self, field: str, inline: str) -> str:
        try:
            return base64.b64decode("".join(inline.split()), validate=True).decode()
        except (binascii.Error, ValueError):
            raise ConfigError(
                self.origin, field, "it is not PEM in base64", "encode it: base64 -w0 file.pem"
            ) from None

    def _contents(self, field: str, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                self.origin, field, f"{path}: {error.strerror}", "check the path and its mode"
            ) from None
        except UnicodeDecodeError:
            raise ConfigError(
                self.origin, field, f"{path} is not PEM", "give a file in PEM"
            ) from None
