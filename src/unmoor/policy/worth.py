"""What is not done again so soon, though it would save something? ("Ours, on top")

A workload is not moved again by a replacement so soon after a command moved it, or, if a person
wants that, by a deletion. By a deletion neither where a pod of it found no place then: what was
planned did not come about, a machine was bought, and all would begin anew. And a node that has
replaced others does not give way to a node of a type that it replaced: from A to B and back is two
moves for nothing.

Must not: weigh prices (``removal``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from unmoor.model import names
from unmoor.model.disruption import MovedOwner
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.moment import later, rfc3339
from unmoor.policy import settling
from unmoor.policy.command import Candidate
from unmoor.policy.look import Look


def replaceable(look: Look, nodes: Iterable[Candidate]) -> list[Candidate]:
    """Return those that a replacement may be part of for what they are and have on them."""
    lately = {one.owner.uid for one in _moved(look)}
    return [
        one
        for one in nodes
        if (look.view.settings.spot_to_spot or not is_spot(one)) and lately.isdisjoint(_owners(one))
    ]


def removable(look: Look, nodes: Iterable[Candidate]) -> list[Candidate]:
    """Return those that may be deleted for what was on the move lately."""
    lately = {one.owner.uid for one in _moved(look) if one.binds_deletions}
    return [one for one in nodes if lately.isdisjoint(_owners(one))]


def is_spot(candidate: Candidate) -> bool:
    """It may be interrupted."""
    return candidate.node.metadata.labels.get(names.CAPACITY_TYPE) == names.SPOT


def moved_lately(look: Look, nodes: Iterable[Candidate], *, is_deletion: bool) -> str:
    """Say which workload would be moved again so soon, "" for none."""
    owners = {uid for one in nodes for uid in _owners(one)}
    for one in _moved(look):
        if one.owner.uid in owners and (one.binds_deletions or not is_deletion):
            found = f", and pod {one.homeless} of it found no place" if one.homeless else ""
            return (
                f"{one.owner.kind} {one.owner.namespace}/{one.owner.name} was moved by {one.by}"
                f"{found}: {'nothing' if one.binds_deletions else 'no replacement'} moves it again "
                f"until {rfc3339(one.until)} (unmoor.movedWorkloadRespect)"
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


class _Moved(msgspec.Struct, frozen=True):
    """Who was moved, by which command, until when that is respected, and by deletions, too?

    ``homeless``: a pod of it that found no place, "" when all did.
    """

    owner: MovedOwner
    by: str
    until: datetime
    binds_deletions: bool
    homeless: str


def _moved(look: Look) -> Iterator[_Moved]:
    settings = look.view.settings
    respect_s, binds = settings.moved_workload_respect_s, settings.moved_workload_respect_deletions
    for command in look.view.sorted(DISRUPTIONS):
        ended = command.status.finished_at
        if ended is None or not look.moment.is_recent(ended, respect_s):
            continue
        if settling.has_moved(look.view, command):
            until, homeless = later(ended, respect_s), command.status.homeless
            for owner in command.spec.moved:
                pod = homeless.get(owner.uid, "")
                yield _Moved(owner, command.name, until, binds or bool(pod), pod)
