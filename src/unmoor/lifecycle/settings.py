"""Are the settings in order? A value that cannot be used is told where a person will look for it.

The last good value stays in force, so nothing stops for a slip of the pen.

Must not: apply anything; the controller has done that already.
"""

from __future__ import annotations

from typing import Any

from unmoor.lifecycle.effects import say_all
from unmoor.lifecycle.step import Step
from unmoor.model import settings
from unmoor.model.base import Key
from unmoor.model.kinds import CONFIG_MAPS, ref_of
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method, Reason, Verdict

TOLD_MAX = 10
"""So many bad values of one ConfigMap become events."""


def advance(view: View, key: Key, memory: None, moment: Moment) -> Step[Any]:
    """Report what is wrong with the ConfigMap found under ``key``."""
    del memory, moment
    namespace, name = key
    config = view.get(CONFIG_MAPS, name, namespace)
    if config is None:
        return Step()
    _, errors = settings.read(config.data, view.settings, name=name)
    verdicts = tuple(
        Verdict(
            subject=ref_of(config),
            method=Method.LIFECYCLE,
            reason=Reason.SETTINGS_INVALID,
            message=str(error),
            evidence={"field": error.field, "value": error.value},
            event="InvalidSetting",
            is_warning=True,
        )
        for error in errors
    )
    return Step(effects=say_all(verdicts, TOLD_MAX), verdicts=verdicts)
