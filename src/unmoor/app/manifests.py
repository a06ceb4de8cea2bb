"""Manifests from files: what a person keeps in a folder, as objects to create.

YAML or JSON, several documents in a file, ``List`` objects too. What cannot be used is an error
that names file, document, field, value and remedy; nothing is skipped in silence.

Must not: talk to a cluster, or fill in what a server fills in.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from unmoor.app.cli.command import Failure
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import KINDS

SUFFIXES = (".yaml", ".yml", ".json")
BYTES_MAX = 100_000_000
"""A larger file is not a manifest that a person wrote."""
FIRST = ("Namespace", "PriorityClass", "ConfigMap", "Provisioner", "AWSNodeTemplate")
"""Kinds that others refer to, so they are created before the rest."""


def read(folder: Path) -> list[tuple[Ref, JSON]]:
    """Every object in a folder (not its sub-folders) or a file, in the order to create them."""
    if not folder.exists():
        raise Failure(f"{folder} does not exist: name a folder or file with manifests")
    files = [folder] if folder.is_file() else sorted(folder.iterdir())
    found = [one for file in files if file.suffix in SUFFIXES for one in _objects(file)]
    if not found:
        raise Failure(f"{folder} holds no manifests: put files ending in .yaml or .json there")
    found.sort(key=lambda one: FIRST.index(one[0].kind) if one[0].kind in FIRST else len(FIRST))
    return found


def _objects(file: Path) -> Iterator[tuple[Ref, JSON]]:
    if file.stat().st_size > BYTES_MAX:
        raise Failure(f"{file} has over {BYTES_MAX:,} bytes: split it")
    try:
        # yaml reads JSON too; an error says line and column.
        documents = list(yaml.load_all(file.read_text(encoding="utf-8"), Loader=_LOADER))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise Failure(f"{file} is neither YAML nor JSON: {said}") from None
    for number, document in enumerate(documents, start=1):
        where = f"{file}, document {number}"
        for body in _unfolded(document):
            yield _object(body, where)


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _unfolded(document: Any) -> list[Any]:
    if document is None:
        return []
    if isinstance(document, dict) and document.get("kind") == "List":
        items = document.get("items")
        return items if isinstance(items, list) else []
    return [document]


def _object(body: Any, where: str) -> tuple[Ref, JSON]:
    if not isinstance(body, dict):
        raise Failure(f"{where} is {type(body).__name__}, not an object: every object has a kind")
    kind = body.get("kind")
    resource = KINDS.get(kind) if isinstance(kind, str) else None
    if resource is None:
        known = ", ".join(sorted(KINDS))
        raise Failure(f"{where}: kind {kind!r} is not one that a rehearsal knows: {known}")
    if body.get("apiVersion") != resource.api_version:
        raise Failure(
            f"{where}: apiVersion {body.get('apiVersion')!r} of {kind}: "
            f"write {resource.api_version}"
        )
    metadata = body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        raise Failure(f"{where}: {kind} without metadata.name: give it one")
    namespace = metadata.get("namespace") or ("default" if resource.is_namespaced else "")
    if resource.is_namespaced:
        body = {**body, "metadata": {**metadata, "namespace": namespace}}
    return resource.ref(name, str(namespace)), body
