"""What effects carry so that they can be repeated and hit only what they are meant for."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import condition, machine, node
from unmoor.lifecycle import effects, launch, registration
from unmoor.lifecycle.effects import AnyEffect, Delete, Patch
from unmoor.model.base import Object
from unmoor.model.kinds import ref_of
from unmoor.policy.verdict import Method, Reason, Verdict

NODE, MACHINE = node(), machine()


def _given_up() -> Delete:
    verdict = Verdict(
        subject=ref_of(MACHINE), method=Method.LIFECYCLE, reason=Reason.NEVER_REGISTERED, message=""
    )
    [effect] = launch.given_up(MACHINE, verdict, why="", counted_as="liveness").effects
    assert isinstance(effect, Delete)
    return effect


REPLACING: dict[str, AnyEffect] = {
    "add finalizer": effects.add_finalizer(MACHINE, "example.org/mine"),
    "remove finalizer": effects.remove_finalizer(MACHINE, "example.org/mine"),
    "own": effects.own(MACHINE, (effects.owner(NODE),)),
    "set conditions": effects.set_conditions(MACHINE, (condition("Ready"),)),
    "claim": registration.claim(MACHINE, NODE),
    "cordon": effects.cordon(NODE),
    "uncordon": effects.uncordon(NODE),
    "retire": effects.retire(NODE, "harbour"),
    "adopt": effects.retire(builders.changed(NODE, metadata__finalizers=()), "harbour"),
    "delete as seen": effects.delete_as_seen(MACHINE),
    "give up": _given_up(),
    "describe": effects.describe(MACHINE, labels={"a": "1"}, annotations={"b": "2"}),
}
"""What replaces what somebody else may have written, or depends on what it found."""


@pytest.mark.parametrize("effect", REPLACING.values(), ids=REPLACING.keys())
def test_what_replaces_is_only_for_the_version_that_was_seen(effect: AnyEffect) -> None:
    assert isinstance(effect, Patch | Delete)
    assert effect.resource_version == "1"


@pytest.mark.parametrize("effect", REPLACING.values(), ids=REPLACING.keys())
def test_every_write_is_for_one_object_not_for_its_name(effect: AnyEffect) -> None:
    assert isinstance(effect, Patch | Delete)
    assert effect.ref.uid in {NODE.uid, MACHINE.uid}


@pytest.mark.parametrize("obj", [NODE, MACHINE], ids=["node", "machine"])
def test_a_label_of_ours_goes_on_whatever_else_has_changed(obj: Object) -> None:
    """It has one value only, so nobody is in its way."""
    patch = effects.label(obj, {"a": "1"})

    assert (patch.ref.uid, patch.resource_version) == (obj.uid, "")
