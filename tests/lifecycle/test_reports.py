"""Rows that only report, and how a step is said and joined."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import moment
from unmoor.lifecycle import leases, settings
from unmoor.lifecycle.effects import Publish, say
from unmoor.lifecycle.step import EFFECTS_MAX, Step, join
from unmoor.model.base import ObjectMeta, Ref
from unmoor.model.cluster import ConfigMap, Lease
from unmoor.model.settings import CONFIG_MAP_NAME
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method, Reason, Verdict

PUBLISH = Publish(regarding=Ref("Node", "a"), reason="Said", message="so")


def config(**data: str) -> ConfigMap:
    meta = ObjectMeta(name=CONFIG_MAP_NAME, namespace="karpenter", uid="uid-config")
    return ConfigMap(metadata=meta, data={key.replace("_", "."): v for key, v in data.items()})


def test_a_bad_setting_is_told_on_the_config_map() -> None:
    view = View.of(config(cadence_drainPoll="soon"))
    step = settings.advance(view, ("karpenter", CONFIG_MAP_NAME), None, moment())

    assert [verdict.reason for verdict in step.verdicts] == [Reason.SETTINGS_INVALID]
    (event,) = step.effects
    assert isinstance(event, Publish)
    assert event.is_warning
    assert "cadence.drainPoll" in event.message
    assert event.regarding.kind == "ConfigMap"


@pytest.mark.parametrize("objects", [(), (config(),)], ids=["absent", "in order"])
def test_settings_in_order_are_silent(objects: tuple[ConfigMap, ...]) -> None:
    step = settings.advance(View.of(*objects), ("karpenter", CONFIG_MAP_NAME), None, moment())

    assert step == Step()


def test_a_young_lease_may_still_get_its_node() -> None:
    meta = ObjectMeta(
        name="a", namespace="kube-node-lease", uid="u", creation_timestamp=builders.NOW
    )
    step = leases.advance(View.of(Lease(metadata=meta)), "a", None, moment(10))

    assert (step.effects, step.wake_at) == ((), moment(60).mono)


def test_silent_verdicts_make_no_event() -> None:
    verdict = Verdict(
        subject=Ref("Node", "a"), method=Method.DRAIN, reason=Reason.DRAINED, message="done"
    )

    assert say(verdict) == ()


def test_steps_are_joined() -> None:
    first: Step[int] = Step(effects=(PUBLISH,), memory=1, wake_at=5.0)
    second: Step[int] = Step(effects=(PUBLISH,), wake_at=3.0)

    assert join(first, second) == Step(effects=(PUBLISH, PUBLISH), memory=1, wake_at=3.0)
    assert join(first, Step(memory=2)).memory == 2


def test_too_many_effects_are_a_bug() -> None:
    with pytest.raises(ValueError, match="5001 effects"):
        Step(effects=(PUBLISH,) * (EFFECTS_MAX + 1))
