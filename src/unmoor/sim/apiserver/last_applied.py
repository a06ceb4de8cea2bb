"""What has kubectl applied before it applied by the server? It notes it in an annotation.

Two ways of applying meet here: a server-side apply by kubectl brings the note up to date, and may
change what the note has without a conflict.

Must not: make a note where there is none.
"""

from __future__ import annotations

from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.model.names import LAST_APPLIED
from unmoor.sim.apiserver.fields.paths import NOTHING, Difference, Paths, paths_of
from unmoor.sim.apiserver.fields.shape import Shape

MANAGER = "kubectl"
"""Only under this name; whoever wants no such notes takes another."""


def noted(obj: JSON, config: JSON) -> JSON:
    """The object with this configuration in its note, if it has one."""
    if not _note(obj):
        return obj
    given = config.get("metadata") or {}
    said = dict(given.get("annotations") or {})
    said.pop(LAST_APPLIED, None)
    meta = {name: one for name, one in given.items() if name != "annotations"}
    bare = {**config, "metadata": {**meta, "annotations": said} if said else meta}
    text = msgspec.json.encode(bare, order="sorted").decode() + "\n"
    annotations = {**obj["metadata"]["annotations"], LAST_APPLIED: text}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def paths_in(shape: Shape, live: JSON) -> Paths:
    """The fields of the note that still are as it has them."""
    try:
        before: Any = msgspec.json.decode(_note(live))
    except msgspec.DecodeError:
        return NOTHING
    if not isinstance(before, dict):
        return NOTHING
    difference = Difference(shape, before, live)
    return paths_of(shape, before) - difference.written - difference.removed


def _note(obj: JSON) -> str:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(LAST_APPLIED) or "")
