"""Is the machine still there, and was it told to go? The cloud's last word on it.

Two questions are put to the cloud about a machine, and either may be answered with "there is no
such machine". What was said last counts: credentials may have been mended in between.

Must not: take what could not be answered for an answer.
"""

from __future__ import annotations

from typing import Any

from unmoor.model.base import Ref
from unmoor.model.instance import CloudInstance, InstanceState
from unmoor.model.moment import Moment
from unmoor.model.observation import Answer, Asked, ProblemKind
from unmoor.model.snapshot import View
from unmoor.policy import heartbeat
from unmoor.policy.verdict import Method, Reason, Verdict

_OPEN = frozenset({ProblemKind.UNKNOWN, ProblemKind.TOO_MANY_REQUESTS})
"""That passes by itself."""


def is_gone(view: View, provider_id: str) -> bool:
    """True when the cloud has said that the machine does not exist. Ids are never used again."""
    word = _last_word(view, provider_id)
    if word is None or word.is_missing:
        return word is not None
    found = word.result
    return isinstance(found, CloudInstance) and found.state is InstanceState.TERMINATED


def is_disputed(view: View, provider_id: str, moment: Moment) -> bool:
    """True when the cloud knows no such machine, and a node of it is alive all the same.

    A cloud that knows the machine, and says that it has ended, is believed.
    """
    word = _last_word(view, provider_id)
    is_unheard_of = word is not None and word.is_missing
    return is_unheard_of and heartbeat.alive_on(view, provider_id, moment) is not None


def is_told_to_go(view: View, provider_id: str) -> bool:
    """True when the cloud has accepted the order."""
    answer = view.answer(Asked.TERMINATION, provider_id)
    return bool(provider_id) and answer is not None and answer.result is True


def is_going(view: View, provider_id: str) -> bool:
    """True when nothing has to be done any more to end the machine."""
    return is_gone(view, provider_id) or is_told_to_go(view, provider_id)


def told_again_at(view: View, provider_id: str) -> float | None:
    """When the cloud is told again, after it refused or the answer was lost; None when neither."""
    answer = view.answer(Asked.TERMINATION, provider_id)
    if answer is None or answer.problem is None:
        return None
    return answer.again_at(view.settings.cadence.terminate_again_s)


def refused(view: View, subject: Ref, method: Method, provider_id: str) -> Verdict:
    """Say that the cloud did not accept the order, or that its answer was lost.

    A machine that nobody can end costs money, so a person hears of it; what passes by itself is no
    warning.
    """
    answer = view.answer(Asked.TERMINATION, provider_id)
    assert answer is not None
    assert answer.problem is not None
    is_definite = answer.problem.kind not in _OPEN
    return Verdict(
        subject=subject,
        method=method,
        reason=Reason.TERMINATION_REFUSED,
        message=(
            f"the cloud did not accept the termination of {provider_id} "
            f"({answer.problem.kind}): {answer.problem.message}; it is asked again"
        ),
        evidence={"provider_id": provider_id},
        event="TerminationRefused",
        is_warning=is_definite,
    )


def _last_word(view: View, provider_id: str) -> Answer[Any] | None:
    """The latest answer that says something, None when there is none."""
    if not provider_id:
        return None
    answers = (view.instance(provider_id), view.answer(Asked.TERMINATION, provider_id))
    telling = [
        one for one in answers if one is not None and (one.problem is None or one.is_missing)
    ]
    return max(telling, key=lambda one: one.at.mono, default=None)
