"""Which columns does a kind have, and what stands in them? What ``kubectl get`` prints.

Must not: know about Accept headers.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.http.catalog import Served


def head(_: Served, version: str, meta: JSON) -> JSON:
    """A table without rows."""
    name = {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": meta,
        "columnDefinitions": [name],
        "rows": [],
    }


def cells(_: Served, obj: JSON, __: datetime) -> list[Any]:
    """The cells of one object's row."""
    return [obj["metadata"].get("name", "")]
