"""The stories that must hold on every cluster: each a coroutine on a stage.

They run in virtual time on the embedded cluster and in real time on a real control plane, with the
same shortened cadences and without a line that knows which. Every public coroutine of the modules
below is one; a disruption method has one of its own name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction, signature
from types import ModuleType

from tests.scenarios import (
    consolidation,
    deletions,
    drains,
    drift,
    emptiness,
    expiration,
    observing,
    outages,
    pods,
    provisioners,
    provisioning,
    replacements,
    volumes,
)
from tests.scenarios.stage import Stage

Scenario = Callable[[Stage], Awaitable[None]]
SUBJECTS = (
    consolidation,
    deletions,
    drains,
    drift,
    emptiness,
    expiration,
    observing,
    outages,
    pods,
    provisioners,
    provisioning,
    replacements,
    volumes,
)


def stories(module: ModuleType) -> dict[str, Scenario]:
    """The scenarios of a module, by name: what takes a stage and nothing else."""
    return {
        name.replace("_", "-"): play
        for name, play in vars(module).items()
        if iscoroutinefunction(play)
        and play.__module__ == module.__name__
        and not name.startswith("_")
        and len(signature(play).parameters) == 1
    }


SCENARIOS = {name: play for module in SUBJECTS for name, play in stories(module).items()}
