"""What a node template says of itself: its hash, what it selects, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.builders import machine
from tests.lifecycle.driver import World
from tests.lifecycle.pending import provisioner
from tests.lifecycle.rows import NODE_TEMPLATE
from tests.model.test_drift_fields import template as described
from unmoor.lifecycle.effects import Observe
from unmoor.model import names
from unmoor.model.kinds import NODE_TEMPLATES
from unmoor.model.node_template import AMI, AWSNodeTemplate, SecurityGroup, Subnet
from unmoor.model.selection import Selection
from unmoor.model.static_hash import template_hash_of

FOUND = Selection(
    subnets=(Subnet(id="subnet-a", zone="z1"),),
    security_groups=(SecurityGroup(id="sg-1"),),
    images=(AMI(id="ami-2", name="newest"), AMI(id="ami-1", name="old")),
)
USER = provisioner("default", providerRef={"name": "default"})


def template(**spec: Any) -> AWSNodeTemplate:
    one = described(**spec)
    meta = msgspec.structs.replace(one.metadata, uid="uid-template", resource_version="1")
    return msgspec.structs.replace(one, metadata=meta)


def world_of(*objects: Any, selection: Selection = FOUND) -> World:
    world = World(*objects)
    world.selection = selection
    return world


def there(world: World) -> AWSNodeTemplate:
    found = world.view.get(NODE_TEMPLATES, "default")
    assert found is not None
    return found


def test_it_lists_what_it_selects_and_bears_its_hash() -> None:
    world = world_of(template(), USER)
    world.settle(NODE_TEMPLATE)

    status = there(world).status
    assert status.subnets == FOUND.subnets
    assert status.security_groups == FOUND.security_groups
    assert status.amis == FOUND.images
    assert there(world).metadata.annotations == {
        names.NODE_TEMPLATE_HASH: template_hash_of(template())
    }
    assert world.events() == []


def test_the_account_is_looked_at_again_every_five_minutes() -> None:
    world = world_of(template(), USER)
    wake_at = world.settle(NODE_TEMPLATE)

    assert wake_at == world.moment.mono + 300
    newer = msgspec.structs.replace(FOUND, images=(AMI(id="ami-3"),))
    world.selection = newer
    world.wait(299)
    world.settle(NODE_TEMPLATE)
    assert there(world).status.amis == FOUND.images
    world.wait(1)
    world.settle(NODE_TEMPLATE)
    assert there(world).status.amis == newer.images
    assert len(world.done(Observe)) == 2


def test_another_selector_is_asked_for_at_once() -> None:
    world = world_of(template(), USER)
    world.settle(NODE_TEMPLATE)
    spec = template(amiSelector={"a": "new"}).spec
    world.change(there(world), spec=spec)
    world.settle(NODE_TEMPLATE)

    assert len(world.done(Observe)) == 2


def test_a_selector_that_finds_nothing_is_told() -> None:
    world = world_of(template(), USER, selection=Selection(subnets=FOUND.subnets))
    world.settle(NODE_TEMPLATE)

    assert there(world).status.amis == ()
    told = [event.message for event in world.events("NothingSelected")]
    assert len(told) >= 2
    assert "spec.securityGroupSelector finds nothing" in told[0]
    assert "spec.amiSelector finds nothing" in told[1]


def test_a_cloud_that_does_not_answer_changes_nothing() -> None:
    world = world_of(template(), USER)
    world.settle(NODE_TEMPLATE)
    world.selection = None
    world.wait(300)
    wake_at = world.settle(NODE_TEMPLATE)

    assert there(world).status.amis == FOUND.images
    assert "cannot be told" in world.events("NothingSelected")[-1].message
    assert wake_at == world.moment.mono + 10


def test_one_that_is_wrong_is_told_and_asks_nothing() -> None:
    world = world_of(template(subnetSelector={}), USER)
    world.settle(NODE_TEMPLATE)

    assert [event.reason for event in world.events()][:1] == ["Invalid"]
    assert "spec.subnetSelector" in world.events()[0].message
    assert world.done(Observe) == []


def test_one_of_nobody_or_of_others_is_left_alone() -> None:
    for others in ((), (USER, machine(is_ours=False))):
        world = world_of(template(), *others)
        world.settle(NODE_TEMPLATE)
        assert world.effects == []
