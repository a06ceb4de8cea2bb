"""Manifests from files: what a person keeps in a folder, as objects to create.

YAML or JSON, several documents in a file, lists too. What cannot be used is an error that names
file, document, field, value and remedy. Objects of kinds that nobody serves are left out and
counted; a definition among the objects serves its kind. An object with a uid was written by a
server: what it holds is that server's business.

Must not: talk to a cluster, or fill in what a server fills in.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import msgspec
import yaml

import unmoor
from unmoor.app import manifest_schema
from unmoor.app.cli.command import Failure
from unmoor.model import names
from unmoor.model.base import JSON, Ref, without_nulls
from unmoor.model.kinds import Resource
from unmoor.model.validation import cut
from unmoor.sim.apiserver.definitions import DEFINITIONS, resource_of
from unmoor.sim.stored import SERVED

Objects: TypeAlias = list[tuple[Ref, JSON]]

SUFFIXES = (".yaml", ".yml", ".json")
BYTES_MAX = 100_000_000
"""A larger file is not a manifest that a person wrote."""
VALUES_MAX = 10_000_000
"""With aliases a small file can say more than a machine can hold."""
DEPTH_MAX = 100
ERRORS_MAX = 5
"""So many errors of one object are told."""
COUNTS = ("replicas", "parallelism", "completions")
PODS_MAX = 10_000
"""So many pods one object may ask for."""
NO_NUMBERS = (float("inf"), float("-inf"))
FIRST = (
    DEFINITIONS.kind,
    "Namespace",
    "PriorityClass",
    "ConfigMap",
    "Provisioner",
    "AWSNodeTemplate",
)
"""Kinds that others refer to, so they are created before the rest."""
STDIN = "-"
NAMELESS = '"<unicode string>", '
"""How the parser calls every file."""
LIST = "List"


def shipped(name: str) -> Path:
    """A folder of examples that comes with the program."""
    package = Path(unmoor.__file__).parent
    for examples in (package / "examples", package.parents[1] / "examples"):
        if (examples / name).is_dir():
            return examples / name
    raise Failure("the shipped example is missing: name a folder with manifests")


def cluster_of(objects: Objects, default: str) -> str:
    """The cluster whose machines these are: what most of them say, ``default`` when none does."""
    said = Counter(
        str((body["metadata"].get("annotations") or {}).get(names.MANAGED_BY, ""))
        for ref, body in objects
        if ref.kind == "Machine"
    )
    del said[""]
    return max(sorted(said), key=said.__getitem__, default=default)


class Notes(msgspec.Struct):
    """What a reader may want to know beside the objects. ``left_out``: how many of each kind."""

    left_out: Counter[str] = msgspec.field(default_factory=Counter)
    files: dict[Ref, str] = msgspec.field(default_factory=dict)

    @property
    def told(self) -> str:
        """What was left out in a line, "" when nothing was."""
        if not self.left_out:
            return ""
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.left_out.items()))
        return f"left out, as the cluster does not serve them: {kinds}"

    def named(self, ref: Ref) -> str:
        """An object with the file that it is from."""
        return f"{self.files[ref]}: {ref}" if ref in self.files else str(ref)


def read(*paths: Path, notes: Notes | None = None) -> Objects:
    """Every object in folders (not their sub-folders), files, or ``-`` for standard input.

    In the order to create them. ``notes`` is told what was left out, and which file has what.
    """
    known, found = dict(SERVED), []
    notes = Notes() if notes is None else notes
    for path in paths:
        read_here = list(_bodies(path))
        if not read_here:
            raise Failure(_nothing_in(path))
        found += read_here
    for _, body in found:
        if (defined := _defined(body)) is not None:
            known.setdefault(defined.kind, defined)
    known[DEFINITIONS.kind] = DEFINITIONS
    objects: Objects = []
    for where, body in found:
        if _is_foreign(body, known):
            notes.left_out[str(body["kind"])] += 1
        elif (defined := _defined(body)) is None or defined != SERVED.get(defined.kind):
            ref, taken = _object(body, where, known)
            notes.files[ref] = where
            objects.append((ref, taken))
    objects.sort(key=lambda one: FIRST.index(one[0].kind) if one[0].kind in FIRST else len(FIRST))
    return objects


def _bodies(path: Path) -> Iterator[tuple[str, Any]]:
    """Everything that somebody says is an object, with where it stands."""
    if str(path) == STDIN:
        yield from _parsed(sys.stdin.buffer.read(BYTES_MAX + 1), "standard input")
        return
    for file in _files(path):
        try:
            with file.open("rb") as opened:
                text = opened.read(BYTES_MAX + 1)
        except OSError as error:
            raise Failure(f"{file}: {error.strerror}: check the path and its mode") from None
        yield from _parsed(text, str(file))


def _nothing_in(folder: Path) -> str:
    if str(folder) == STDIN:
        return "standard input holds no objects: pipe manifests in, or `kubectl get -A -o json`"
    if folder.is_dir():
        return f"{folder} holds no manifests: put files ending in .yaml or .json there"
    return f"{folder} holds no manifests: every object has an apiVersion, a kind and a name"


def _files(folder: Path) -> list[Path]:
    if not folder.exists():
        raise Failure(f"{folder} does not exist: name a folder or file with manifests")
    try:
        if not folder.is_dir():
            return [folder]
        return sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES)
    except OSError as error:
        raise Failure(f"{folder}: {error.strerror}: check the path and its mode") from None


def _parsed(text: bytes, file: str) -> Iterator[tuple[str, Any]]:
    if len(text) > BYTES_MAX:
        raise Failure(f"{file} has over {BYTES_MAX:,} bytes: split it")
    try:
        documents = _json(text) or list(yaml.load_all(text.decode(), Loader=_Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = cut(" ".join(str(error).replace(NAMELESS, "").split()))
        raise Failure(f"{file} is neither YAML nor JSON: {said}") from None
    size = Size()
    for number, document in enumerate(documents, start=1):
        where = f"{file}, document {number}"
        _hold_json(document, where, size)
        for body in _unfolded(document, where):
            yield where, body


def _json(text: bytes) -> list[Any]:
    """The one document of a JSON file; none when it is not JSON, and yaml says where it breaks."""
    try:
        return [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        return []


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]  # which of the two it is depends on the machine
    """The safe loader; a time stays the text that it is in JSON."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [(tag, regexp) for tag, regexp in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in _Base.yaml_implicit_resolvers.items()
    }


class Size(msgspec.Struct):
    """How many values a file holds, those that it repeats by an alias counted again."""

    values: int = 0


def _hold_json(value: Any, where: str, size: Size, depth: int = 0) -> None:
    """Refuse what YAML can say and JSON cannot, and what never ends."""
    size.values += 1
    if depth > DEPTH_MAX or size.values > VALUES_MAX:
        raise Failure(f"{where} is too deep or too large: split it, and use aliases sparingly")
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise Failure(f"{where}: the key {cut(repr(key))} is no text: put it in quotes")
            _hold_json(inner, where, size, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _hold_json(inner, where, size, depth + 1)
    elif not (value is None or isinstance(value, str | int | float)) or value in NO_NUMBERS:
        raise Failure(f"{where}: {cut(repr(value))} cannot be said in JSON: put it in quotes")
    elif value != value:  # noqa: PLR0124 - not a number
        raise Failure(f"{where}: nan is no number in JSON: put it in quotes")


def _unfolded(document: Any, where: str) -> list[Any]:
    if document is None:
        return []
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or not (
        kind == LIST or (kind.endswith(LIST) and "items" in document)
    ):
        return [document]
    items = document.get("items")
    if not isinstance(items, list):
        raise Failure(f"{where}: items of a {kind} is {cut(repr(items))}: write a list")
    if kind == LIST:
        return items
    # A PodList does not say of each item that it is a Pod.
    said = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix(LIST)}
    return [{**said, **item} if isinstance(item, dict) else item for item in items]


def _defined(body: Any) -> Resource[Any] | None:
    """The kind that an object defines; None when it defines none, or not as one should."""
    if not isinstance(body, dict) or body.get("kind") != DEFINITIONS.kind:
        return None
    if body.get("apiVersion") != DEFINITIONS.api_version or not isinstance(body.get("spec"), dict):
        return None
    if any(manifest_schema.problems(DEFINITIONS, {"spec": body["spec"]})):
        return None
    is_stored = any(version.get("storage") for version in body["spec"]["versions"])
    return resource_of(body["spec"]) if is_stored else None


def _is_foreign(body: Any, known: dict[str, Resource[Any]]) -> bool:
    """It is of a kind, and of one that nobody knows here."""
    if not isinstance(body, dict) or not isinstance(kind := body.get("kind"), str) or not kind:
        return False
    version = str(body.get("apiVersion") or "")
    resource = known.get(kind)
    if resource is None:
        return not _meant(kind, version)
    if kind not in SERVED and resource != DEFINITIONS:
        return version != resource.api_version
    group = version.rpartition("/")[0]
    return group not in {resource.group, ""}


def _meant(kind: str, version: str) -> str:
    """The kind of this apiVersion that a wrong one was probably meant to be, "" when none is."""
    near = [one for one in SERVED.values() if abs(len(one.kind) - len(kind)) <= 1]
    return names.nearest(kind, (one.kind for one in near if one.api_version == version))


def _resource(body: Any, where: str, known: dict[str, Resource[Any]]) -> Resource[Any]:
    if not isinstance(body, dict):
        raise Failure(f"{where} is {type(body).__name__}, not an object: every object has a kind")
    kind = body.get("kind")
    if not kind:
        raise Failure(f"{where} is no Kubernetes object: it has no kind; give it one, or remove it")
    if not isinstance(kind, str):
        raise Failure(f"{where}: kind {cut(repr(kind))} is no text: write one, as in Pod")
    resource = known.get(kind)
    if resource is None:
        version = str(body.get("apiVersion"))
        meant = _meant(kind, version)
        raise Failure(f"{where}: kind {cut(repr(kind))} is none of {version}: write {meant}")
    return resource


def _object(body: Any, where: str, known: dict[str, Resource[Any]]) -> tuple[Ref, JSON]:
    resource = _resource(body, where, known)
    kind = resource.kind
    if body.get("apiVersion") != resource.api_version:
        raise Failure(
            f"{where}: apiVersion {cut(repr(body.get('apiVersion')))} of {kind}: "
            f"write {resource.api_version}"
        )
    metadata = body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        raise Failure(f"{where}: {kind} without metadata.name: give it one")
    namespace = metadata.get("namespace") or ("default" if resource.is_namespaced else "")
    if resource.is_namespaced:
        body = {**body, "metadata": {**metadata, "namespace": namespace}}
    is_its_own = bool(metadata.get("uid")) or kind not in (*SERVED, DEFINITIONS.kind)
    checked = {"metadata": metadata} if is_its_own else body
    errors = list(manifest_schema.problems(resource, checked))
    if errors:
        more = f"; and {len(errors) - ERRORS_MAX} more" if len(errors) > ERRORS_MAX else ""
        raise Failure(f"{where}: {kind} {cut(name)}: {'; '.join(errors[:ERRORS_MAX])}{more}")
    for field in COUNTS:
        if (count := (body.get("spec") or {}).get(field) or 0) > PODS_MAX:
            raise Failure(
                f"{where}: {kind} {cut(name)}: spec.{field} is {count}: a rehearsal plays at most "
                f"{PODS_MAX}"
            )
    return resource.ref(name, str(namespace)), without_nulls(body)
