"""Kubeconfig files to read, and to stumble over."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from unmoor.kube.config import Config, load

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"
HIDDEN = "hunter2"
"""In every secret of these tests; it must never show."""


def inline(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(
    user: Mapping[str, Any] | None = None,
    cluster: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    current: str = "prod",
    **top: Any,
) -> dict[str, Any]:
    """A whole file with one context, named prod."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c1", "cluster": {"server": "https://api:6443"} | dict(cluster or {})}
        ],
        "users": [{"name": "alice", "user": dict(user or {})}],
        "contexts": [
            {"name": "prod", "context": {"cluster": "c1", "user": "alice"} | dict(context or {})}
        ],
        "current-context": current,
    } | top


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def load_file(path: Path, context: str = "") -> Config:
    return load(path=str(path), context=context, environ={})
