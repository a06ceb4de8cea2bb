"""Which columns does a kind have, and what stands in them? What ``kubectl get`` prints.

Built-in kinds have their own; a custom kind has those of its definition.

Must not: know about Accept headers.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.http import columns, jsonpath, pod_columns, stored_columns, workload_columns
from unmoor.sim.http.ages import since
from unmoor.sim.http.catalog import Served
from unmoor.sim.http.columns import NAME, Column, Layout, name_of

_LAYOUTS: dict[str, Layout] = {
    **columns.LAYOUTS,
    **workload_columns.LAYOUTS,
    **stored_columns.LAYOUTS,
    "Pod": pod_columns.LAYOUT,
}
SCALE = workload_columns.SCALE
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def layout_of(served: Served) -> Layout:
    """The columns of a kind."""
    if served.definition is not None:
        return _custom(served)
    return _LAYOUTS.get(served.kind, columns.PLAIN)


def head(layout: Layout, version: str, meta: JSON) -> JSON:
    """A table without rows."""
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": meta,
        "columnDefinitions": [column.to_json() for column in layout.columns],
        "rows": [],
    }


def cells(layout: Layout, obj: JSON, now: datetime) -> list[Any]:
    """The cells of one object's row."""
    try:
        return layout.cells(obj, now)
    except (AttributeError, TypeError, ValueError):
        # Somewhere is something else than the kind has there; what is shown is what can be.
        return [name_of(obj) if column.format == "name" else None for column in layout.columns]


def _custom(served: Served) -> Layout:
    assert served.definition is not None
    versions: list[JSON] = served.definition["versions"]
    given = next(
        (one.get("additionalPrinterColumns") for one in versions if one["name"] == served.version),
        None,
    ) or [_AGE]
    shown = tuple(
        Column(one["name"], one["type"], one.get("format", ""), one.get("priority", 0))
        for one in given
    )
    return Layout((NAME, *shown), partial(_custom_cells, given))


def _custom_cells(given: list[JSON], obj: JSON, now: datetime) -> list[Any]:
    found: list[Any] = [name_of(obj)]
    for one in given:
        values = jsonpath.find(one["jsonPath"], obj)
        found.append(_shown(one["type"], values, now) if values else None)
    return found


def _shown(kind: str, values: list[Any], now: datetime) -> Any:
    """A cell, empty when what is found is not of the column's type."""
    value = values[0]
    match kind:
        case "date":
            return since(value, now) if isinstance(value, str) else None
        case "integer":
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return int(value) if is_number else None
        case "number":
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return float(value) if is_number else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return value if isinstance(value, str) else str(value)
