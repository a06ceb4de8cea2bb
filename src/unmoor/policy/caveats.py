"""Which pods does a person's drain evict of which a person should know first, and why?

They go all the same: pods that nobody makes again (R7), whose emptyDir data go with them, or that
ask not to be evicted (R17). ``kubectl drain`` refuses the first two unless it is told to.

Must not: hold a pod back.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from unmoor.model import names
from unmoor.model.moment import Moment
from unmoor.model.pod import Pod
from unmoor.model.wording import named
from unmoor.policy import pods
from unmoor.policy.pods import Patience


class Caveat(StrEnum):
    """What there is to know; the value is for programs."""

    BARE = "bare"
    EMPTY_DIR = "emptyDir"
    DO_NOT_EVICT = "do-not-evict"


ABOUT_ONE = {
    Caveat.BARE: "nobody makes another one",
    Caveat.EMPTY_DIR: "its emptyDir data are lost",
    Caveat.DO_NOT_EVICT: (
        f"it is annotated {names.DO_NOT_EVICT}, which a drain by hand does not heed"
    ),
}
"""Said of one pod."""
ABOUT_SOME = {
    Caveat.BARE: "that nobody makes again",
    Caveat.EMPTY_DIR: "whose emptyDir data are lost",
    Caveat.DO_NOT_EVICT: f"annotated {names.DO_NOT_EVICT}",
}
"""Said of a number of pods."""


def caveats_of(pod: Pod) -> tuple[Caveat, ...]:
    """Return what there is to know of a pod before it is evicted."""
    holds = {
        Caveat.BARE: pod.is_naked,
        Caveat.EMPTY_DIR: pod.has_empty_dir,
        Caveat.DO_NOT_EVICT: pod.is_do_not_evict,
    }
    return tuple(caveat for caveat, is_so in holds.items() if is_so)


def by_caveat(
    on_node: Iterable[Pod], moment: Moment, patience: Patience
) -> dict[Caveat, tuple[str, ...]]:
    """Return the pods that a drain will evict, by what there is to know, as namespace/name."""
    found: dict[Caveat, list[str]] = {caveat: [] for caveat in Caveat}
    for pod in pods.evicted(on_node, moment, patience):
        for caveat in caveats_of(pod):
            found[caveat].append("/".join(pod.key))
    return {caveat: tuple(those) for caveat, those in found.items() if those}


def about(found: dict[Caveat, tuple[str, ...]]) -> str:
    """Say it in a sentence; "" when there is nothing to say."""
    parts = [
        f"{len(those):,} {ABOUT_SOME[caveat]} ({named(those)})" for caveat, those in found.items()
    ]
    return f"evicted all the same: {'; '.join(parts)}" if parts else ""
