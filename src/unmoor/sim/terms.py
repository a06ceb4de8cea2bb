"""What a seed says of its Provisioners: what makes their nodes go, or stay.

Each thing has dice of its own, so that no other draw changes.

Must not: run anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.sim.manifests import Manifest

DEAR = ("c6i.8xlarge", "m5.8xlarge")
DEAR_ONE_IN = 8


def _is_dear(seed: int) -> bool:
    """In some worlds people take machines that are too large, and others are to replace them."""
    return Random(f"swarm/dear/{seed}").randrange(DEAR_ONE_IN) == 0


def dear_types(seed: int, choices: Sequence[str]) -> tuple[str, ...]:
    """Return the types of which people take machines in such a world, none in any other."""
    return tuple(one for one in DEAR if one in choices) if _is_dear(seed) else ()


def with_terms(seed: int, provisioners: Sequence[Manifest]) -> Iterator[Manifest]:
    """Return the Provisioners with all that makes nodes of theirs go, or stay, but their TTLs."""
    consolidated = _consolidated(seed, _limited(seed, provisioners))
    yield from _mortal(seed, _budgeted(seed, consolidated))


def _limited(seed: int, provisioners: Sequence[Manifest]) -> Iterator[Manifest]:
    """Some may have so much and no more."""
    dice = Random(f"swarm/limits/{seed}")
    for ref, body in provisioners:
        cores = None if _is_dear(seed) else dice.choice((None, None, 4, 16, 40))
        limits = {} if cores is None else {"limits": {"resources": {"cpu": str(cores)}}}
        yield ref, {**body, "spec": {**body["spec"], **limits}}


def _consolidated(seed: int, provisioners: Iterable[Manifest]) -> Iterator[Manifest]:
    """In some worlds a Provisioner whose empty nodes stay is consolidated instead; in some, all."""
    dice = Random(f"swarm/consolidation/{seed}")
    is_on, is_everywhere = dice.randrange(3) == 0, dice.randrange(2) == 0
    if _is_dear(seed):
        is_on = is_everywhere = True
    for ref, body in provisioners:
        has_ttl = "ttlSecondsAfterEmpty" in body["spec"]
        if not is_on or (has_ttl and not is_everywhere):
            yield ref, body
            continue
        kept = {key: one for key, one in body["spec"].items() if key != "ttlSecondsAfterEmpty"}
        yield ref, {**body, "spec": {**kept, "consolidation": {"enabled": True}}}


NODE_BUDGETS: tuple[list[JSON], ...] = (
    [{"nodes": "1"}],
    [{"nodes": "0", "reasons": ["Underutilized"]}],
    [{"nodes": "34%"}, {"nodes": "3", "reasons": ["Empty"]}],
    [{"nodes": "0", "schedule": "10 * * * *", "duration": "30m"}],
    [{"nodes": "1", "reasons": ["Empty"], "schedule": "0 * * * *", "duration": "20m"}],
)
"""How many nodes of a Provisioner may be going at the same time."""
RESPECTS = {"5m": 300.0, "1h": 3600.0}
"""How long a moved workload is respected, where people set that, in seconds."""


def _budgeted(seed: int, provisioners: Iterable[Manifest]) -> Iterator[Manifest]:
    """In some worlds only so many nodes may be going."""
    dice = Random(f"swarm/node budgets/{seed}")
    is_on = dice.randrange(3) == 0
    for ref, body in provisioners:
        budgets = dice.choice(NODE_BUDGETS)
        if not is_on or dice.randrange(3) == 0:
            yield ref, body
            continue
        marks = {names.BUDGETS: json.dumps(budgets)}
        yield ref, {**body, "metadata": {**body["metadata"], "annotations": marks}}


def respect(seed: int) -> dict[str, str]:
    """How long a workload that was moved is left alone, where people set that."""
    dice = Random(f"swarm/respect/{seed}")
    value = "5m" if _is_dear(seed) else dice.choice((None, None, *RESPECTS))
    return {} if value is None else {"unmoor.movedWorkloadRespect": value}


def _mortal(seed: int, provisioners: Iterable[Manifest]) -> Iterator[Manifest]:
    """In some worlds nodes live for so long and no longer."""
    dice = Random(f"swarm/expiration/{seed}")
    for ref, body in provisioners:
        ttl_s = dice.choice((None, None, None, 900, 1800))
        ends = {} if ttl_s is None else {"ttlSecondsUntilExpired": ttl_s}
        yield ref, {**body, "spec": {**body["spec"], **ends}}
