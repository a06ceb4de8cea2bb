"""How does an answer look on the wire? Objects, lists, tables and refusals, as bytes.

Must not: ask the server anything.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
import yaml
from aiohttp import web

from unmoor.model.base import JSON
from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver.rules import SCALE_VERSION
from unmoor.sim.apiserver.server import Listing
from unmoor.sim.http import events, tables
from unmoor.sim.http.catalog import Served
from unmoor.sim.http.columns import Layout
from unmoor.sim.http.negotiation import PLAIN, Form

JSON_TYPE = "application/json"
YAML_TYPE = "application/yaml"
_NOT_IN_LISTS = ("kind", "apiVersion")


class Shaper:
    """Brings stored objects of one kind into the form that one client wants."""

    def __init__(self, served: Served, form: Form, now: datetime) -> None:
        """``now``: what ages are reckoned from."""
        self._served, self._form, self._now = served, form, now

    def one(self, obj: JSON) -> JSON:
        """An answer with one object; a Status stays as it is."""
        is_scale = obj.get("apiVersion") == SCALE_VERSION
        if is_scale and self._form.shape == "Table":
            return self._table([obj], _version_of(obj), tables.SCALE)
        if is_scale or obj.get("kind") != self._served.kind:
            return obj
        obj = self._viewed(obj)
        match self._form.shape:
            case "Table":
                return self._table([obj], _version_of(obj))
            case "PartialObjectMetadata":
                return partial(obj, self._form.version)
            case _:
                return obj

    def page(self, listing: Listing) -> JSON:
        """An answer with a list."""
        meta: JSON = {"resourceVersion": listing.resource_version}
        if listing.next:
            meta["continue"] = listing.next
            meta["remainingItemCount"] = listing.remaining
        items = [self._viewed(obj) for obj in listing.items]
        served = self._served
        match self._form.shape:
            case "Table":
                return self._table(items, meta)
            case "PartialObjectMetadataList":
                version = self._form.version
                return {
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": f"meta.k8s.io/{version}",
                    "metadata": meta,
                    "items": [partial(obj, version) for obj in items],
                }
            case _:
                pass
        if not served.rules.is_custom:
            items = [
                {name: value for name, value in obj.items() if name not in _NOT_IN_LISTS}
                for obj in items
            ]
        return {
            "kind": f"{served.kind}List",
            "apiVersion": served.api_version,
            "metadata": meta,
            "items": items,
        }

    def event(self, change: str, obj: JSON, now: datetime, *, is_first: bool) -> JSON:
        """One line of a watch; the columns of a table are told once."""
        self._now = now
        shown = self.one(obj)
        if self._form.shape == "Table" and not is_first:
            shown = {**shown, "columnDefinitions": None}
        return {"type": change, "object": shown}

    def bookmark(self, version: str, annotations: dict[str, str], *, is_first: bool) -> JSON:
        """How far a watch is."""
        meta: JSON = {"resourceVersion": version, "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        served = self._served
        obj: JSON = {"kind": served.kind, "apiVersion": served.api_version, "metadata": meta}
        match self._form.shape:
            case "Table":
                row = {"cells": [], "object": partial(obj, self._form.version)}
                layout = tables.layout_of(served)
                shown = tables.head(layout, self._form.version, {"resourceVersion": version})
                shown["rows"] = [row]
                if not is_first:
                    shown["columnDefinitions"] = None
            case "PartialObjectMetadata" | "PartialObjectMetadataList":
                shown = partial(obj, self._form.version)
            case _:
                shown = obj
        return {"type": "BOOKMARK", "object": shown}

    def _viewed(self, obj: JSON) -> JSON:
        if self._served.kind != "Event":
            return obj
        return events.shown(obj, is_view=self._served.is_view)

    def _table(self, objects: list[JSON], meta: JSON, layout: Layout | None = None) -> JSON:
        form = self._form
        layout = layout or tables.layout_of(self._served)
        table = tables.head(layout, form.version, meta)
        rows = []
        for obj in objects:
            row: JSON = {"cells": tables.cells(layout, obj, self._now)}
            match form.include:
                case "Metadata":
                    row["object"] = partial(obj, form.version)
                case "Object":
                    row["object"] = obj
                case _:
                    pass
            rows.append(row)
        table["rows"] = rows
        return table


def _version_of(obj: JSON) -> JSON:
    """The metadata of a table with one row."""
    version = obj["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def partial(obj: JSON, version: str) -> JSON:
    """Nothing of an object but its metadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj["metadata"],
    }


def encoded(value: Any) -> bytes:
    """JSON as it goes out."""
    return msgspec.json.encode(value)


def response(
    value: Any, *, code: int = 200, form: Form = PLAIN, warnings: tuple[str, ...] = ()
) -> web.Response:
    """A whole answer."""
    if form.is_yaml:
        body, media = yaml.safe_dump(value, sort_keys=False).encode(), YAML_TYPE
    else:
        body, media = encoded(value), JSON_TYPE
    answer = web.Response(status=code, body=body, headers={"Content-Type": media})
    for text in warnings:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        answer.headers.add("Warning", f'299 - "{quoted}"')
    return answer


def refusal(error: ApiError) -> web.Response:
    """The Status of a refusal, and how long to wait if it says so."""
    body = error.status or {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        "code": error.code,
    }
    answer = response(body, code=error.code)
    if error.retry_after_s is not None:
        answer.headers["Retry-After"] = str(max(int(error.retry_after_s), 1))
    return answer
