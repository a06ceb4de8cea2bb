"""Bugs that somebody might write into the engine: copies of it in which a line is another one.

The fast engine and the oracle share much, so each bug is planted twice: into the fast engine alone,
which is found out by the oracle, and into all that the oracle is made of, which is found out by
facts and by sums. What goes in and comes out (scenes, plans) is the same for every copy.

Must not: change the engine that everybody else uses.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from unmoor import engine

ENGINE = engine.__name__
SHARED = "scene|plan|refusal|pricing"
"""Modules that no copy has for itself: else nobody else would know its objects."""

Engine = Callable[[str], Any]
"""A module of the engine, by its name below ``unmoor.engine``."""


class Change(NamedTuple):
    """In ``module``, below ``unmoor.engine``, ``new`` stands where ``old`` stands once."""

    module: str
    old: str
    new: str


SPREAD = "spread off by one"
APART = "symmetric anti-affinity forgotten"
DAEMONS = "DaemonSet overhead forgotten"
PORT = "host port ignored"
LIMIT = "limit off by one: machines of a provisioner"
VOLUMES = "limit off by one: volumes on a node"
"""Limits are of two kinds. kube-scheduler knows nothing of the first; it is asked about the other
(tests/e2e/engine_mistakes.py)."""

IN_THE_FAST_ENGINE: dict[str, tuple[Change, ...]] = {
    SPREAD: (
        Change("bulk.layout", "return one.spread.max_skew +", "return one.spread.max_skew + 1 +"),
    ),
    APART: (Change("bulk.counting", "in self._holders.near(marks)\n", "in ()\n"),),
    DAEMONS: (Change("bulk.greedy", "amounts([base.daemons], ", "amounts([{}], "),),
    PORT: (
        Change("bulk.ground", "not ask.wish.held or not", "True or not"),
        Change("bulk.fitting", "collisions(ask.wish.held, machine.held)", "()"),
    ),
    LIMIT: (Change("bulk.greedy", "self._capacity_of(resource) <= most", "most > 0"),),
    VOLUMES: (
        Change(
            "bulk.ground",
            "judge.attach_refusals(needs, site.attached, site.place.volume_room)",
            "judge.attach_refusals(needs, site.attached, {d: n + 1 for d, n in room.items()})",
        ),
    ),
}
"""Off by one, for a provisioner's limit: one machine more, while anything is left of it."""
IN_THE_ORACLE: dict[str, tuple[Change, ...]] = {
    SPREAD: (Change("company", "- least - spread.max_skew", "- least - spread.max_skew - 1"),),
    APART: (Change("company", "in required_apart(other, view)", "in ()"),),
    DAEMONS: (
        Change("sites", "self.requests = base.daemons", "self.requests = {}"),
        Change("sites", "((place.reserved, *(used", "(({}, *(used"),
    ),
    PORT: (
        Change("ports", "if (self.port, self.protocol) != (other.port, other.protocol)", "if 1"),
    ),
    LIMIT: (Change("oracle", "one.capacity.get(name, 0) <= most for", "most > 0 for"),),
    VOLUMES: (Change("judge", "- room[driver]\n", "- room[driver] - 1\n"),),
}


def sound(name: str) -> Any:
    """The engine as it is."""
    return import_module(f"{ENGINE}.{name}")


@contextlib.contextmanager
def fast_engine(bug: str, folder: Path) -> Iterator[Engine]:
    """A copy of ``unmoor.engine.bulk`` with a bug; what it asks of the oracle is sound."""
    with _copy(f"{ENGINE}.bulk", IN_THE_FAST_ENGINE[bug], folder) as copied:
        yield lambda name: copied(name.removeprefix("bulk."))


@contextlib.contextmanager
def oracle_of(bug: str, folder: Path) -> Iterator[Engine]:
    """A copy of the whole engine with a bug in what the oracle is made of."""
    with _copy(ENGINE, IN_THE_ORACLE[bug], folder) as copied:
        yield copied


@contextlib.contextmanager
def _copy(package: str, changes: tuple[Change, ...], folder: Path) -> Iterator[Engine]:
    """Write a copy into ``folder`` and have it imported from there, under a name of its own."""
    name = "planted"
    below = package.removeprefix(ENGINE).lstrip(".")
    source = Path(engine.__path__[0]) / below
    for path in sorted(source.rglob("*.py")):
        module = ".".join((*below.split(), *path.relative_to(source).with_suffix("").parts))
        text = path.read_text(encoding="utf-8")
        for change in changes:
            if change.module == module:
                assert text.count(change.old) == 1, f"{change} is to be planted anew"
                text = text.replace(change.old, change.new)
        target = folder / path.relative_to(source)
        target.parent.mkdir(exist_ok=True)
        pattern = rf"\b{re.escape(package)}\b(?!\.(?:{SHARED})\b)"
        target.write_text(re.sub(pattern, name, text), encoding="utf-8")
    spec = spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[name])
        yield lambda module: import_module(f"{name}.{module}")
    finally:
        for one in [one for one in sys.modules if one.partition(".")[0] == name]:
            del sys.modules[one]
