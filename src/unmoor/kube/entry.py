"""What does one named entry of a kubeconfig say, and how is it told when that is wrong?

Every refusal names the file, the context, the entry and the field, and the value unless that is or
may be a secret.

Must not: know what the fields are for.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from unmoor.kube.refusal import ConfigError
from unmoor.kube.rotating import read_small

T = TypeVar("T")

SHOWN_CHARS = 60
"""How much of a value an error text shows."""

_PUBLIC = {
    "apiVersion",
    "as",
    "as-groups",
    "as-uid",
    "certificate-authority",
    "client-certificate",
    "client-id",
    "client-key",
    "cluster",
    "command",
    "idp-certificate-authority",
    "idp-issuer-url",
    "insecure-skip-tls-verify",
    "installHint",
    "interactiveMode",
    "name",
    "namespace",
    "provideClusterInfo",
    "server",
    "tls-server-name",
    "tokenFile",
    "user",
    "username",
}
"""Fields whose values may be shown. Any other may be a secret, or hold one."""


class Entry(msgspec.Struct, frozen=True):
    """One named entry, and the file it stands in. ``section``: cluster, user or context."""

    file: Path
    section: str
    name: str
    body: Any

    def __repr__(self) -> str:
        """Without its body: it may hold secrets."""
        return f"{self.file}: {self.name}"


class Fields:
    """The fields of an entry; ``origin`` is how errors name it."""

    def __init__(self, entry: Entry, origin: str) -> None:
        """Nothing is read yet."""
        self._entry = entry
        self.origin = origin

    @property
    def file(self) -> Path:
        """The file that says all this."""
        return self._entry.file

    def refuse(self, field: str, problem: str, remedy: str, value: object = None) -> NoReturn:
        """Say what is wrong with a field; with its ``value`` if that may be shown."""
        shown = shown_of(field, value)
        raise ConfigError(self.origin, field, f"{shown}: {problem}" if shown else problem, remedy)

    def typed(self, kind: type[T]) -> T:
        """All fields at once; ``kind`` says which types they have."""
        try:  # YAML has values over which whoever writes or sends them stumbles later.
            msgspec.json.encode(self._entry.body, enc_hook=str)
        except (UnicodeEncodeError, RecursionError):
            self.refuse(
                self._entry.section,
                "it refers to itself, or has half a character in it",
                "write it anew",
            )
        try:
            return msgspec.convert(self._entry.body, kind)
        except msgspec.ValidationError as error:
            # msgspec names types and the path, never the value.
            problem, _, path = str(error).partition(" - at ")
            field = path.removeprefix("`key` in ").strip("`").lstrip("$.")
            return self.refuse(
                field or self._entry.section,
                problem,
                "put texts in quotes" if field else "write a mapping of its fields",
                _value_at(self._entry.body, field),
            )

    def path(self, field: str, written: str) -> Path:
        """A path as it is meant: relative to the file that says it."""
        if "\0" in written:
            self.refuse(field, "no path has a NUL in it", "remove it")
        return self._entry.file.parent / Path(written)

    def pem(self, field: str, within: Mapping[str, Any] | None = None, prefix: str = "") -> Pem:
        """The PEM text of ``x-data`` (base64, inline), or else of the file that ``x`` names."""
        body = self._entry.body if within is None else within
        if inline := body.get(f"{field}-data"):
            return Pem(self._decoded(f"{prefix}{field}-data", inline))
        if written := body.get(field):
            path = self.path(f"{prefix}{field}", written)
            return Pem(self._contents(f"{prefix}{field}", path), path)
        return Pem()

    def _decoded(self, field: str, inline: str) -> str:
        try:
            return base64.b64decode("".join(inline.split()), validate=True).decode()
        except (binascii.Error, ValueError):
            self.refuse(field, "it is not PEM in base64", "encode it: base64 -w0 file.pem")

    def _contents(self, field: str, path: Path) -> str:
        try:
            return read_small(path)
        except OSError as error:
            self.refuse(field, f"{path}: {error.strerror}", "check the path and its mode")
        except UnicodeDecodeError:
            self.refuse(field, f"{path} is not PEM", "give a file in PEM")


class Pem(msgspec.Struct, frozen=True):
    """A text in PEM, "" for none, and the file it was read from."""

    text: str = ""
    file: Path | None = None

    def base64(self) -> str:
        """As a kubeconfig has it inline."""
        return base64.b64encode(self.text.encode()).decode()

    def __repr__(self) -> str:
        """Without the text: it may be a key."""
        return f"<PEM of {self.file or 'the kubeconfig'}>"


def shown_of(field: str, value: object) -> str:
    """A value as an error may show it, "" for not at all."""
    name = re.sub(r"\[.*?\]$", "", field).rpartition(".")[2]
    if name not in _PUBLIC or not isinstance(value, (str, int, float)):
        return ""
    text = repr(value)
    if "@" in text and "://" in text:
        return ""  # a URL with a user in it
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "..."


def _value_at(body: Any, path: str) -> object:
    """What stands at a path as msgspec writes it."""
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(body, dict) and step in body:
            body = body[step]
        elif isinstance(body, list) and step.isdigit() and int(step) < len(body):
            body = body[int(step)]
        else:
            return None
    return body
