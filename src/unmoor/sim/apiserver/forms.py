"""Has a body the form of its kind? Types, unknown and doubled fields, in the server's words.

Must not: judge values; ``checks`` and the schemas of custom kinds do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from importlib import resources
from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.model.kinds import Resource
from unmoor.runtime.ports import ApiError, PatchType
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.fields import problems
from unmoor.sim.apiserver.fields.merging import lean
from unmoor.sim.apiserver.fields.shape import ANY, OBJECT_META, Book, Shape, custom_shape
from unmoor.sim.apiserver.filling import filled
from unmoor.sim.apiserver.storage import Table
from unmoor.sim.apiserver.stored_filling import FILL
from unmoor.sim.apiserver.terms import Manners, Terms

DATA = "openapi.json"
IDENTITY = "x-kubernetes-group-version-kind"


@lru_cache(maxsize=1)
def builtin() -> Book:
    """The schemas of the built-in kinds, as a real server publishes them."""
    text = resources.files("unmoor.sim").joinpath("data", DATA).read_bytes()
    return Book(msgspec.json.decode(text)["schemas"])


@lru_cache(maxsize=1)
def _names() -> dict[tuple[str, str, str], str]:
    return {
        (one["group"], one["version"], one["kind"]): name
        for name, schema in builtin().schemas.items()
        for one in schema.get(IDENTITY, ())
    }


def builtin_shape(group: str, version: str, kind: str) -> Shape | None:
    """The shape of a built-in kind; None for one that we do not know."""
    name = _names().get((group, version, kind))
    return builtin().named(name) if name is not None else None


def shape_of(table: Table) -> Shape:
    """The shape of a kind that is served."""
    if table.shape is None:
        resource: Resource[Any] = table.resource
        if table.schema is not None:
            table.shape = custom_shape(table.schema.root, builtin().named(OBJECT_META))
        else:
            found = builtin_shape(resource.group, resource.version, resource.kind)
            table.shape = ANY if found is None else found
    return table.shape


def keep_as_decoded(table: Table) -> None:
    """Keep objects of this kind as a decoder leaves them: what is empty out, defaults in."""
    kind = table.resource.kind
    fill = FILL.get(kind) or partial(filled, kind)
    table.fill = lambda obj, _is_new: fill(lean(shape_of(table), obj))


class Form:
    """What one request's body is held against."""

    def __init__(self, table: Table, terms: Terms, manners: Manners) -> None:
        """Nothing is looked at yet."""
        self._table = table
        self._terms = terms
        self._checks_types = manners.checks_types
        self._is_strict = terms.validation == "Strict"
        self.is_held = self._checks_types or terms.validation != "Ignore"
        """False when there is nothing to do."""

    def hold(self, body: JSON) -> JSON:
        """A new object, or one to be put in place of another; raises 400."""
        resource = self._table.resource
        kind = resource.kind

        def refuse(problem: str) -> ApiError:
            text = f'{kind} in version "{resource.version}" cannot be handled as a {kind}: '
            return status.bad_request(text + problem)

        return self._held(body, refuse)

    def hold_patched(self, obj: JSON, patch: Any, how: PatchType) -> JSON:
        """What a patch made of an object; raises 422."""

        def refuse(problem: str) -> ApiError:
            shown = problems.in_go(patch) if how == "strategic" else _json(obj)
            return status.unusable_patch(f"{status.shown(shown)}: {problem}")

        return self._held(obj, refuse, in_order=False)

    def _held(self, obj: JSON, refuse: Callable[[str], ApiError], *, in_order: bool = True) -> JSON:
        table = self._table
        shape = shape_of(table)
        if self._checks_types:
            problem = self._wrong_type(shape, obj)
            if problem:
                raise refuse(problem)
        unknown = problems.unknown(shape, obj)
        if table.rules.is_custom or not in_order:
            unknown.sort()
        said = [f'duplicate field "{name}"' for name in self._terms.doubled]
        said += [f'unknown field "{name}"' for name in unknown]
        if said and self._is_strict:
            raise refuse(f"strict decoding error: {', '.join(said)}")
        if self._terms.validation == "Warn" and self._terms.warn is not None:
            for text in said:
                self._terms.warn(text)
        return problems.known(shape, obj) if unknown and self._checks_types else obj

    def _wrong_type(self, shape: Shape, obj: JSON) -> str:
        """Of a custom kind only the metadata is read into a struct."""
        if not self._table.rules.is_custom:
            return problems.wrong_type(shape, obj)
        return problems.wrong_type(builtin().named(OBJECT_META), obj.get("metadata"))


def hold_config(table: Table, body: Any, terms: Terms) -> None:
    """Raise for an applied configuration that is none of this kind."""
    resource = table.resource
    if not isinstance(body, dict):
        raise status.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {problems.word(body)} into Go value of type map[string]interface {{}}"
        )
    if terms.doubled:
        said = [f'key "{name.rpartition(".")[2]}" already set in map' for name in terms.doubled]
        if terms.validation == "Strict":
            raise status.bad_request(f"error strict decoding YAML: {', '.join(said)}")
        for text in said if terms.warn is not None and terms.validation == "Warn" else ():
            terms.warn(text)  # type: ignore[misc]
    version, kind = body.get("apiVersion") or "", body.get("kind") or ""
    group, _, short = str(version).rpartition("/")
    if (version, kind) != (resource.api_version, resource.kind):
        raise status.bad_request(f"invalid object type: {group}/{short}, Kind={kind}")
    meta = body.get("metadata")
    if isinstance(meta, dict) and meta.get("managedFields") is not None:
        raise status.bad_request("metadata.managedFields must be nil")
    found = problems.misfits(shape_of(table), body)
    if found:
        meta = meta if isinstance(meta, dict) else {}
        who = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
        listed = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
        text = f"failed to create typed patch object ({who}; {group}/{short}, Kind={kind}): "
        raise status.failure(500, "", text + listed)


def _json(obj: JSON) -> str:
    return msgspec.json.encode(obj).decode()
