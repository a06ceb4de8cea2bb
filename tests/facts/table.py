"""All facts, by name: ``<module>.<function>``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Final

from tests.facts import (
    devices,
    disks,
    gates,
    host_ports,
    neighbours,
    nodes,
    rooms,
    spreading,
    volumes,
)
from tests.facts.fact import Fact

MODULES: Final = (rooms, nodes, host_ports, disks, spreading, neighbours, volumes, devices, gates)


def _rows(module: ModuleType) -> dict[str, Callable[[], Fact]]:
    kind = module.__name__.rpartition(".")[2]
    return {
        f"{kind}.{name}": row
        for name, row in inspect.getmembers(module, inspect.isfunction)
        if row.__module__ == module.__name__ and not name.startswith("_")
    }


FACTS: Final[dict[str, Callable[[], Fact]]] = {
    name: row for module in MODULES for name, row in _rows(module).items()
}
