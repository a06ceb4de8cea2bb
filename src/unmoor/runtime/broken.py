"""What can be said of an object that does not decode: whose it is, where it is, and what is wrong.

Must not: raise, whatever the object is.
"""

from __future__ import annotations

import json
import re
from typing import Any

from unmoor.model.base import JSON, Ref
from unmoor.model.validation import cut
from unmoor.runtime.ports import Broken

_PATH = re.compile(r"(?:got `(?P<type>\w+)`)? - at `\$(?P<path>[^`]+)`$")
_PART = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]|\[(?P<any>\.\.\.)\]")
"""How the decoder names a place: ``$.spec.containers[0].name``; any key of a map is ``[...]``."""
_TYPES = {
    dict: "object",
    list: "array",
    str: "str",
    bool: "bool",
    int: "int",
    float: "float",
    type(None): "null",
}
"""What the decoder calls the types of values."""


def broken_of(kind: str, raw: JSON, error: object) -> Broken:
    """Return as much as can be read of ``raw``. ``error``: what the decoder said."""
    meta, spec = _part(raw, "metadata"), _part(raw, "spec")
    ref = Ref(kind, _text(meta, "name"), namespace=_text(meta, "namespace"), uid=_text(meta, "uid"))
    return Broken(
        ref,
        _text(meta, "resourceVersion"),
        _with_value(str(error), raw),
        node=_text(spec, "nodeName"),
    )


def _part(raw: JSON, field: str) -> JSON:
    found = raw.get(field)
    return found if isinstance(found, dict) else {}


def _text(part: JSON, field: str) -> str:
    value = part.get(field)
    return value if isinstance(value, str) else ""


def _with_value(problem: str, raw: JSON) -> str:
    """The decoder names the field; whoever is to mend it also wants to see what stands there."""
    place = _PATH.search(problem)
    if place is None:
        return problem
    found: Any = raw
    for part in _PART.finditer(place["path"]):
        try:
            if part["any"]:
                odd = [key for key, one in found.items() if _TYPES[type(one)] == place["type"]]
                found = {odd[0]: found[odd[0]]}
                break
            found = found[part["field"] or int(part["index"])]
        except (LookupError, TypeError, AttributeError):
            return problem
    return f"{problem}, where {cut(json.dumps(found))} stands"
