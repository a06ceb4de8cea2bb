"""What effects carry so that they can be repeated and hit only what they are meant for."""

from __future__ import annotations

import pytest

from tests.builders import condition, machine, node
from unmoor.lifecycle import effects, registration
from unmoor.lifecycle.effects import Patch
from unmoor.model.base import Object
from unmoor.model.taint import Taint

NODE, MACHINE = node(), machine()
REPLACING = {
    "add finalizer": effects.add_finalizer(MACHINE, "example.org/mine"),
    "remove finalizer": effects.remove_finalizer(MACHINE, "example.org/mine"),
    "own": effects.own(MACHINE, (effects.owner(NODE),)),
    "set conditions": effects.set_conditions(MACHINE, (condition("Ready"),)),
    "set taints": effects.set_taints(NODE, (Taint(key="a", effect="NoSchedule"),)),
    "claim": registration.claim(MACHINE, NODE),
    "cordon": effects.cordon(NODE),
    "uncordon": effects.uncordon(NODE),
    "describe": effects.describe(MACHINE, labels={"a": "1"}, annotations={"b": "2"}),
}
"""Patches that replace what somebody else may have written, or depend on what they found."""


@pytest.mark.parametrize("patch", REPLACING.values(), ids=REPLACING.keys())
def test_what_replaces_is_only_for_the_version_that_was_seen(patch: Patch) -> None:
    assert patch.resource_version == "1"


@pytest.mark.parametrize("patch", REPLACING.values(), ids=REPLACING.keys())
def test_every_patch_is_for_one_object_not_for_its_name(patch: Patch) -> None:
    assert patch.ref.uid in {NODE.uid, MACHINE.uid}


@pytest.mark.parametrize("obj", [NODE, MACHINE], ids=["node", "machine"])
def test_a_label_of_ours_goes_on_whatever_else_has_changed(obj: Object) -> None:
    """It has one value only, so nobody is in its way."""
    patch = effects.label(obj, {"a": "1"})

    assert (patch.ref.uid, patch.resource_version) == (obj.uid, "")
