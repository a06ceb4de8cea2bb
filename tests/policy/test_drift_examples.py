"""What docs/reference/drift.md shows: examples for each field, played (002:26-47)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
import pytest
import yaml

from hack.drift_examples import ACCOUNT, EXAMPLES, LABELS, SPECS, Example
from tests import builders
from tests.builders import IDENTITY, condition, instance, moment
from unmoor.cloud.simulated_account import selected
from unmoor.model import names
from unmoor.model.base import ObjectMeta
from unmoor.model.drift_fields import FIELDS, NODE_TEMPLATE, PROVISIONER, Way
from unmoor.model.instance import CloudInstance
from unmoor.model.machine import MACHINE_LAUNCHED, Machine
from unmoor.model.node_template import AWSNodeTemplate, validate
from unmoor.model.observation import Answer, Asked
from unmoor.model.provisioner import Provisioner
from unmoor.model.provisioner import validate as validate_provisioner
from unmoor.model.selection import Selection, wish_of
from unmoor.model.snapshot import View
from unmoor.model.static_hash import hash_of
from unmoor.policy import drifted, made_from
from unmoor.policy.drifted import Finding

Written: TypeAlias = Mapping[tuple[str, str], str]
"""Kind and field: its value as YAML, "" where it is not set."""
ZONES = ("z1", "z2")
CASES = [
    pytest.param(kind, field, one, id=f"{kind} {field} {number}")
    for (kind, field), some in EXAMPLES.items()
    for number, one in enumerate(some)
]
LAUNCH_TEMPLATE = {"subnetSelector": {"team": "shop"}}
"""One that names a launch template says little else."""


class Pair(msgspec.Struct, frozen=True):
    """The two objects at one time."""

    provisioner: Provisioner
    templates: tuple[AWSNodeTemplate, ...]


def pair(written: Written) -> Pair:
    """The two objects with these fields as they are written."""
    specs = {kind: dict(spec) for kind, spec in SPECS.items()}
    if (NODE_TEMPLATE, "launchTemplate") in written:
        specs[NODE_TEMPLATE] = dict(LAUNCH_TEMPLATE)
    if (PROVISIONER, "provider") in written:
        specs[PROVISIONER] = {}  # one or the other
    for (kind, field), value in written.items():
        if value:
            specs[kind][field] = yaml.safe_load(value)
    templates = tuple(
        msgspec.convert(
            {"metadata": {"name": name, "uid": name}, "spec": specs[NODE_TEMPLATE]},
            AWSNodeTemplate,
        )
        for name in ("default", "its-equal")
    )
    body = {"metadata": {"name": "default", "uid": "p"}, "spec": specs[PROVISIONER]}
    bare = msgspec.convert(body, Provisioner)
    meta = ObjectMeta(name="default", uid="p", annotations={names.PROVISIONER_HASH: hash_of(bare)})
    one = msgspec.structs.replace(bare, metadata=meta)
    assert validate_provisioner(one) == ()
    assert validate(templates[0]) == ()
    return Pair(one, templates)


def found_by(template: AWSNodeTemplate, image: str = "") -> Selection:
    account = ACCOUNT | {"images": f"{ACCOUNT['images']}\n{image}"}
    return selected(account, wish_of(template), ZONES)


def made(of: Pair) -> tuple[Machine, CloudInstance]:
    """A machine that is made while the objects are so, and its instance."""
    stamps = made_from.stamps(View.of(of.provisioner, *of.templates), of.provisioner)
    one = builders.machine(
        annotations=stamps, labels=dict(LABELS), conditions=(condition(MACHINE_LAUNCHED),)
    )
    found = found_by(of.templates[0])
    as_launched = msgspec.structs.replace(
        instance(),
        image=found.images[0].id if found.images else "",
        subnet=found.subnets[0].id,
        security_groups=tuple(group.id for group in found.security_groups),
    )
    return one, as_launched


def finding(
    before: Written, now: Written, image: str = "", on_node: Mapping[str, str] = {}
) -> Finding:
    """What is said of a machine made before, and its node, now; ``image``: one that is new."""
    machine, as_launched = made(pair(before))
    there = pair(now)
    answers: dict[tuple[Asked, str], Answer[Any]] = {
        (Asked.INSTANCE, machine.provider_id): Answer(moment(), as_launched)
    }
    for template in there.templates:
        found = Answer(moment(), found_by(template, image))
        answers[Asked.SELECTION, wish_of(template).subject] = found
    up = builders.node(labels={**LABELS, **on_node})
    objects = (there.provisioner, *there.templates, machine, up)
    view = View.of(*objects, identity=IDENTITY, answers=answers)
    return drifted.find(view, machine, there.provisioner)


@pytest.mark.parametrize(("kind", "field", "one"), CASES)
def test_each_example_comes_out_as_it_is_shown(kind: str, field: str, one: Example) -> None:
    said = finding({(kind, field): one.before}, {(kind, field): one.now}, one.image)

    assert bool(said.differences) is one.is_drift
    assert said.unknown == ()


def test_every_field_has_one_and_those_that_may_drift_one_that_does() -> None:
    assert set(EXAMPLES) == {(one.kind, one.name) for one in FIELDS}
    for one in FIELDS:
        does = any(each.is_drift for each in EXAMPLES[one.kind, one.name])
        assert does is (one.way is not Way.BEHAVIOURAL), one.name
