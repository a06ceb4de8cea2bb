"""What is not done again so soon, though it would save something? ("Ours, on top")

A workload is not moved again by a replacement so soon after a command moved it, or, if a person
wants that, by a deletion. And a node that has replaced others does not give way to a node of a type
that it replaced: from A to B and back is two moves for nothing.

Must not: weigh prices (``removal``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from unmoor.model import names
from unmoor.model.disruption import MovedOwner
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.moment import later, rfc3339
from unmoor.policy import settling
from unmoor.policy.command import Candidate
from unmoor.policy.look import Look


def replaceable(look: Look, nodes: Iterable[Candidate]) -> list[Candidate]:
    """Return those that a replacement may be part of for what they are and have on them."""
    lately = {moved.uid for _, _, moved in _lately_moved(look)}
    return [
        one
        for one in nodes
        if (look.view.settings.spot_to_spot or not is_spot(one)) and lately.isdisjoint(_owners(one))
    ]


def removable(look: Look, nodes: Iterable[Candidate]) -> list[Candidate]:
    """Return those that may be deleted for what was on the move lately: all, if nobody minds."""
    if not look.view.settings.moved_workload_respect_deletions:
        return list(nodes)
    lately = {moved.uid for _, _, moved in _lately_moved(look)}
    return [one for one in nodes if lately.isdisjoint(_owners(one))]


def is_spot(candidate: Candidate) -> bool:
    """It may be interrupted."""
    return candidate.node.metadata.labels.get(names.CAPACITY_TYPE) == names.SPOT


def moved_lately(look: Look, nodes: Iterable[Candidate]) -> str:
    """Say which workload would be moved again so soon, "" for none."""
    owners = {uid for one in nodes for uid in _owners(one)}
    for name, until, moved in _lately_moved(look):
        if moved.uid in owners:
            also = look.view.settings.moved_workload_respect_deletions
            return (
                f"{moved.kind} {moved.namespace}/{moved.name} was moved by {name}, and "
                f"{'nothing' if also else 'no replacement'} moves it again until {rfc3339(until)} "
                "(unmoor.movedWorkloadRespect)"
            )
    return ""


def replaced_lately(look: Look, nodes: Iterable[Candidate]) -> Mapping[str, str]:
    """Return the types that these nodes came in place of, and why they do not come again."""
    respect_s = look.view.settings.replaced_type_respect_s
    found: dict[str, str] = {}
    for one in nodes:
        made = one.machine.metadata.creation_timestamp
        if made is None or not look.moment.is_recent(made, respect_s):
            continue
        until = rfc3339(later(made, respect_s))
        for name in one.machine.replaced_types:
            found.setdefault(
                name,
                f"node {one.node.name} came in place of one of type {name}, and that does not come "
                f"again in its place until {until} (unmoor.replacedTypeRespect)",
            )
    return found


def _owners(candidate: Candidate) -> Iterator[str]:
    controllers = (pod.metadata.controller for pod in candidate.pods)
    return (one.uid for one in controllers if one is not None)


def _lately_moved(look: Look) -> Iterator[tuple[str, datetime, MovedOwner]]:
    """By which command, until when that is respected, and who was moved."""
    respect_s = look.view.settings.moved_workload_respect_s
    for command in look.view.sorted(DISRUPTIONS):
        ended = command.status.finished_at
        if ended is None or not look.moment.is_recent(ended, respect_s):
            continue
        if settling.has_moved(look.view, command):
            yield from ((command.name, later(ended, respect_s), one) for one in command.spec.moved)
