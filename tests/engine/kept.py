"""Scenes on which the fast engine once said something else than the oracle, shrunk and written out.

`make thorough` prints its seed (SEED=... repeats the run), the scene, and a line that draws it
again. It is written out, as the bytes that scenes are drawn with mean others once the generator has
changed. Whoever finds a failure reads what ``written_out`` printed, makes it a function here with
the words of ``scenes``, and adds it to ``SCENES`` under the name of what was wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from tests.engine.scenes import WEB, ZONES, place, pod, required, scene, term
from unmoor.engine.scene import Scene
from unmoor.model import names
from unmoor.model.pod import Pod


def two_kinds_of_running_pods_keep_the_same_pods_away() -> tuple[Scene, list[Pod]]:
    keeps = {"podAntiAffinity": required(term(names.HOSTNAME))}
    first = pod("first", labels={"kind": "1"}, node="a", affinity=keeps)
    second = pod("second", labels={"kind": "2"}, node="b", affinity=keeps)
    on = scene(place("a", ZONES[0], first), place("b", ZONES[1], second), place("c"))
    return on, [pod("new", labels=WEB)]


SCENES: dict[str, Callable[[], tuple[Scene, list[Pod]]]] = {
    one.__name__.replace("_", " "): one
    for one in (two_kinds_of_running_pods_keep_the_same_pods_away,)
}


def written_out(on: Scene, pods: Sequence[Pod]) -> str:
    """All of a random scene but its types and its volumes, which are the same in each."""
    return "\n".join(_lines(on, pods))


def _lines(on: Scene, pods: Sequence[Pod]) -> Iterator[str]:
    for one in on.places:
        yield f"place {_said(one)}"
    for template in on.templates:
        types = [kind.name for kind in template.types]
        about = {**_said(template), "types": types, "requirements": str(template.requirements)}
        yield f"template {about}"
    for started in on.started:
        yield f"started {started.name} of {started.provisioner}"
    if on.promised:
        yield f"promised {dict(on.promised)}"
    for pending in pods:
        yield f"pod {_said(pending)}"


def _said(value: Any) -> Any:
    """What differs from what is usual: empty fields and everything unset left out."""
    match value:
        case msgspec.Struct():
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            return _said(fields)
        case dict():
            found = {key: _said(inner) for key, inner in value.items()}
            return {key: inner for key, inner in found.items() if inner or inner is False}
        case list() | tuple():
            return [_said(inner) for inner in value]
        case _:
            return value
