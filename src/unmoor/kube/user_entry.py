"""Who are we? The ``user`` of a context: one identity out of the fields that may be there.

Which one counts when several are there is as kubectl has it: a token or a password comes before a
plugin, and so does a certificate.

Must not: run a plugin or ask an issuer.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from unmoor.kube import proxy
from unmoor.kube.auth import (
    Anonymous,
    Auth,
    AuthError,
    Basic,
    Exec,
    InteractiveMode,
    Oidc,
    Secret,
    Token,
    TokenFile,
    is_token,
    read_token,
)
from unmoor.kube.entry import Fields, Pem
from unmoor.kube.host import is_host
from unmoor.kube.impersonation import Impersonation
from unmoor.kube.oidc import expiry_of
from unmoor.kube.plugin import API_VERSIONS

_MODES: dict[str, InteractiveMode] = {mode: mode for mode in ("Never", "IfAvailable", "Always")}
_GONE = {
    "gcp": "use the plugin gke-gcloud-auth-plugin: gcloud container clusters get-credentials NAME",
    "azure": "use the plugin kubelogin: kubelogin convert-kubeconfig",
}
_PROVIDER = "auth-provider.config."


class User(msgspec.Struct, frozen=True, kw_only=True):
    """The client's side of a configuration."""

    auth: Auth
    certificate: Pem
    key: Pem
    impersonation: Impersonation | None


class _Variable(msgspec.Struct, frozen=True):
    name: str | None = None
    value: str | None = None

    def __repr__(self) -> str:
        """Without its value."""
        return f"<variable {self.name}>"


class _Exec(msgspec.Struct, frozen=True, rename="camel"):
    command: str | None = None
    args: list[str] | None = None
    env: list[_Variable] | None = None
    api_version: str | None = None
    install_hint: str | None = None
    provide_cluster_info: bool | None = None
    interactive_mode: str | None = None

    def __repr__(self) -> str:
        """Without its arguments."""
        return f"<exec {self.command}>"


class _Settings(msgspec.Struct, frozen=True, rename="kebab"):
    idp_issuer_url: str | None = None
    idp_certificate_authority: str | None = None
    idp_certificate_authority_data: str | None = None
    client_id: str | None = None
    client_secret: str | None = None
    id_token: str | None = None
    refresh_token: str | None = None

    def __repr__(self) -> str:
        """Without its tokens."""
        return f"<settings of {self.idp_issuer_url}>"


class _Provider(msgspec.Struct, frozen=True):
    name: str | None = None
    config: _Settings | None = None

    def __repr__(self) -> str:
        """Without its tokens."""
        return f"<auth-provider {self.name}>"


class _User(msgspec.Struct, frozen=True, rename="kebab"):
    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    username: str | None = None
    password: str | None = None
    exec: _Exec | None = None
    auth_provider: _Provider | None = None
    as_user: str | None = msgspec.field(default=None, name="as")
    as_uid: str | None = None
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None

    def __repr__(self) -> str:
        """Without its secrets."""
        return "<user>"


def read(fields: Fields, name: str, told: Mapping[str, Any], environ: Mapping[str, str]) -> User:
    """The user that the fields describe. ``told``: the cluster, for a plugin that wants to know.

    Raises ConfigError.
    """
    user = fields.typed(_User)
    certificate, key = fields.pem("client-certificate"), fields.pem("client-key")
    if bool(certificate.text) != bool(key.text):
        missing = "client-key" if certificate.text else "client-certificate"
        fields.refuse(missing, "it is missing", "a certificate needs its key")
    if user.exec is not None and user.auth_provider is not None:
        fields.refuse("exec", "it contradicts auth-provider", "remove one of them; keep exec")
    auth = _own(user, fields)
    if user.exec is not None and auth == Anonymous() and not certificate.text:
        auth = _exec(user.exec, fields, told, environ)
    if user.auth_provider is not None and auth == Anonymous():
        auth = _provider(user.auth_provider, fields, name, environ)
    return User(
        auth=auth, certificate=certificate, key=key, impersonation=_impersonation(user, fields)
    )


def _own(user: _User, fields: Fields) -> Auth:
    """What stands in the file itself."""
    if user.token_file:
        path = fields.path("tokenFile", user.token_file)
        try:
            read_token(path)
        except AuthError as error:
            problem, _, remedy = str(error).rpartition(": ")
            fields.refuse("tokenFile", problem, remedy)
        return TokenFile(path)
    if user.token:
        token = user.token.strip()
        if not is_token(token):
            fields.refuse("token", "it has spaces or odd characters inside", "copy it again")
        return Token(Secret(token))
    if user.username:
        return Basic(user.username, Secret(user.password or ""))
    return Anonymous()


# -------------------------------------------------------------------------------------------- exec


def _exec(
    plugin: _Exec, fields: Fields, told: Mapping[str, Any], environ: Mapping[str, str]
) -> Exec:
    version = plugin.api_version or ""
    if version not in API_VERSIONS:
        fields.refuse(
            "exec.apiVersion",
            "it is not set" if not version else "no such version is spoken here",
            f"write {' or '.join(API_VERSIONS)}, whichever the plugin speaks",
            version or None,
        )
    mode = plugin.interactive_mode or ("" if version.endswith("/v1") else "IfAvailable")
    if mode not in _MODES:
        fields.refuse(
            "exec.interactiveMode",
            f"it is {'unknown' if mode else 'not set'}",
            f"write one of {', '.join(_MODES)}",
            mode or None,
        )
    for number, variable in enumerate(plugin.env or []):
        name = variable.name or ""
        if not name or "=" in name or "\0" in name + (variable.value or ""):
            fields.refuse(
                f"exec.env[{number}].name", "no variable can have it", "give it a name", name
            )
    cluster = msgspec.json.encode(told, enc_hook=str).decode()  # dates as YAML has them, too
    return Exec(
        origin=fields.origin,
        command=_command(plugin, fields, environ),
        api_version=version,
        arguments=tuple(Secret(argument) for argument in plugin.args or []),
        environment=tuple((v.name or "", Secret(v.value or "")) for v in plugin.env or []),
        interactive=_MODES[mode],
        hint=" ".join((plugin.install_hint or "").split()),
        cluster=Secret(cluster if plugin.provide_cluster_info else ""),
    )


def _command(plugin: _Exec, fields: Fields, environ: Mapping[str, str]) -> str:
    """The program's path: relative to the kubeconfig, or found on PATH when it is a bare name."""
    written = plugin.command or ""
    if not written:
        fields.refuse("exec.command", "it is not set", "name the plugin's program")
    path = fields.path("exec.command", written)
    wanted = str(path.absolute()) if "/" in written else written
    found = shutil.which(wanted, path=environ.get("PATH"))
    if found is None:
        is_there = "/" in written and Path(wanted).exists()
        fields.refuse(
            "exec.command",
            "it may not be executed" if is_there else "there is no such program",
            " ".join((plugin.install_hint or "").split())
            or "install it, and put it on the PATH of unmoor",
            written,
        )
    return found


# ----------------------------------------------------------------------------------- auth provider


def _provider(provider: _Provider, fields: Fields, user: str, environ: Mapping[str, str]) -> Oidc:
    name = provider.name or ""
    if name != "oidc":
        fields.refuse(
            "auth-provider.name",
            "this provider left Kubernetes in 1.26" if name in _GONE else "unknown provider",
            _GONE.get(name, "write oidc, or use an exec plugin"),
            name,
        )
    known = msgspec.to_builtins(provider.config or _Settings())
    config: dict[str, str] = {key: value for key, value in known.items() if value}
    for key in ("idp-issuer-url", "client-id"):
        if key not in config:
            fields.refuse(_PROVIDER + key, "it is not set", "the issuer's administrator knows it")
    id_token, refresh_token = config.get("id-token", ""), config.get("refresh-token", "")
    if id_token and (not is_token(id_token) or expiry_of(Secret(id_token)) is None):
        fields.refuse(f"{_PROVIDER}id-token", "it is not a JWT that expires", "log in again")
    if not id_token and not refresh_token:
        fields.refuse(f"{_PROVIDER}refresh-token", "neither it nor id-token is set", "log in first")
    issuer = _issuer(config["idp-issuer-url"], fields)
    authority = fields.pem("idp-certificate-authority", config, _PROVIDER)
    return Oidc(
        origin=fields.origin,
        issuer=issuer,
        client_id=config["client-id"],
        client_secret=Secret(config.get("client-secret", "")),
        id_token=Secret(id_token),
        refresh_token=Secret(refresh_token),
        authority=authority.text,
        authority_file=authority.file,
        proxy=proxy.of_environment(issuer, environ),
        file=fields.file,
        user=user,
    )


def _issuer(url: str, fields: Fields) -> str:
    if not _is_https(url) or "@" in url:
        fields.refuse(
            f"{_PROVIDER}idp-issuer-url", "it is not an https URL", "write https://issuer", url
        )
    return url


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme == "https" and is_host(parts.hostname or "") and not parts.query


# ----------------------------------------------------------------------------------- impersonation


def _impersonation(user: _User, fields: Fields) -> Impersonation | None:
    extra = tuple((name, tuple(values)) for name, values in (user.as_user_extra or {}).items())
    lines = {
        "as": [user.as_user or ""],
        "as-uid": [user.as_uid or ""],
        "as-groups": user.as_groups or [],
        "as-user-extra": [value for _, values in extra for value in values],
    }
    for field, values in lines.items():
        if not user.as_user and any(values):
            fields.refuse(field, "it needs a user", "set as, too")
        for value in values:
            if not value.isprintable() or value != value.strip():
                fields.refuse(field, "it cannot stand in a header", "write plain text", value)
    if not user.as_user:
        return None
    return Impersonation(
        user=user.as_user, uid=user.as_uid or "", groups=tuple(lines["as-groups"]), extra=extra
    )
