"""What a machine was made from is written on it, and told field by field when it changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.builders import IDENTITY, changed, condition, machine
from tests.lifecycle.pending import provisioner
from tests.model.test_drift_fields import template
from unmoor.model import names
from unmoor.model.machine import MACHINE_DRIFTED, Machine
from unmoor.model.provisioner import Provisioner
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.model.static_hash import VERSION, hash_of, template_hash_of
from unmoor.policy import made_from

TEMPLATE = template()
REF = {"providerRef": {"name": "default"}}


def hashed(**spec: Any) -> Provisioner:
    """A provisioner of which we have written the hash."""
    one = provisioner("default", **REF | spec)
    meta = msgspec.structs.replace(one.metadata, annotations={names.PROVISIONER_HASH: hash_of(one)})
    return changed(one, metadata=meta)


def view_of(*objects: Any) -> View:
    return View.of(*objects, identity=IDENTITY)


def made(of: Provisioner, **annotations: str) -> Machine:
    stamps = made_from.stamps(view_of(of, TEMPLATE), of)
    return machine(annotations=stamps | annotations)


def test_a_machine_bears_both_hashes_and_a_record() -> None:
    given = made(hashed()).metadata.annotations

    assert given[names.PROVISIONER_HASH] == hash_of(hashed())
    assert given[names.NODE_TEMPLATE_HASH] == template_hash_of(TEMPLATE)
    assert "echo secret" not in given[names.MADE_FROM]


def test_without_a_template_there_is_one_hash() -> None:
    found = made_from.stamps(view_of(hashed()), hashed())

    assert names.NODE_TEMPLATE_HASH not in found


def test_what_has_changed_is_told_field_by_field() -> None:
    one = made(hashed(labels={"team": "shop"}))
    after = hashed(labels={"team": "web"}, taints=[{"key": "a", "effect": "NoSchedule"}])

    assert made_from.changed_fields(one, after) == (
        'labels: {"team":"shop"} -> {"team":"web"}',
        'taints: nothing -> [["a","NoSchedule",""]]',
    )


def test_the_same_of_a_template() -> None:
    one = made(hashed())

    assert made_from.changed_template_fields(one, TEMPLATE) == ()
    assert made_from.changed_template_fields(one, template(context="d")) == ('context: "c" -> "d"',)


def test_without_a_record_the_hashes_are_told() -> None:
    one = made(hashed(labels={"a": "b"}), **{names.MADE_FROM: "no JSON"})

    (told,) = made_from.changed_fields(one, hashed())
    assert told.startswith(f"karpenter.sh/provisioner-hash: {VERSION}")


def test_t106_t107_without_a_hash_on_either_side_nothing_has_changed() -> None:
    one = made(hashed(labels={"a": "b"}))
    bare = provisioner("default", **REF)

    assert made_from.changed_fields(one, bare) == ()
    assert made_from.changed_fields(machine(), hashed()) == ()


@pytest.mark.parametrize("held", [None, "11223344", "unmoor-0-1122"])
def test_r15_a_machine_without_our_hash_is_stamped(held: str | None) -> None:
    annotations = {} if held is None else {names.PROVISIONER_HASH: held}
    bare, of = machine(annotations=annotations), hashed()
    found = made_from.missing_stamps(view_of(of, TEMPLATE), bare, of)

    assert found == made_from.stamps(view_of(of, TEMPLATE), of)
    stamped = machine(annotations=found)
    assert made_from.missing_stamps(view_of(of, TEMPLATE), stamped, of) == {}
    assert made_from.changed_fields(stamped, of) == ()


OLD = "unmoor-0-1122"


@pytest.mark.parametrize(
    ("reason", "held", "is_changed", "is_template_changed"),
    [
        ("ProvisionerDrifted", OLD, True, False),
        ("ProvisionerDrifted", "11223344", True, False),  # by another program
        ("ProvisionerDrifted", "", False, False),  # R45: no hash has not drifted by one
        ("NodeTemplateDrift", OLD, False, True),
        ("AMIDrift", OLD, False, False),  # an image can be looked at again
    ],
)
def test_r45_one_that_had_drifted_by_an_older_hash_has_drifted_still(
    reason: str, held: str, *, is_changed: bool, is_template_changed: bool
) -> None:
    of = hashed()
    hashes = dict.fromkeys((names.PROVISIONER_HASH, names.NODE_TEMPLATE_HASH), held)
    drifted = condition(MACHINE_DRIFTED, reason=reason)
    old = machine(annotations=hashes if held else {}, conditions=(drifted,))
    stamped = machine(annotations=made_from.missing_stamps(view_of(of, TEMPLATE), old, of))

    assert bool(made_from.changed_fields(stamped, of)) is is_changed
    assert bool(made_from.changed_template_fields(stamped, TEMPLATE)) is is_template_changed
    assert made_from.missing_stamps(view_of(of, TEMPLATE), stamped, of) == {}


@pytest.mark.parametrize(
    ("gate", "annotations", "is_on"),
    [
        (None, {names.LAUNCH_ATTEMPT: "1"}, True),
        (None, {}, False),  # adopted
        (None, {names.LAUNCH_ATTEMPT: "1", names.LINKED: "sim:///a/b"}, False),
        (True, {}, True),
        (False, {names.LAUNCH_ATTEMPT: "1"}, False),
    ],
)
def test_r15_the_gate(*, gate: bool | None, annotations: dict[str, str], is_on: bool) -> None:
    settings = Settings(drift_enabled=gate)

    assert made_from.is_on(settings, machine(annotations=annotations)) is is_on
