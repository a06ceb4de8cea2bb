"""What selectors find in a simulated account, and what an instance gets of it."""

from __future__ import annotations

import pytest

from unmoor.cloud.simulated_account import selected
from unmoor.model.node_template import SecurityGroup, Subnet
from unmoor.model.selection import Selection, Wish

LISTED = {
    "images": (
        "ami-1 family=AL2 name=al2-old\n"
        "ami-2 family=AL2 arch=amd64  # of this week\n"
        "ami-3 family=AL2 arch=arm64\n"
        "\n"
        "ami-4 family=Custom team=shop\n"
    ),
    "subnets": "subnet-a zone=z1 team=shop\nsubnet-b zone=z2 team=web",
    "securityGroups": "sg-1 name=nodes team=shop\nsg-2 team=web",
}
ZONES = ("z1", "z2")


def found(**wish: object) -> Selection:
    return selected(LISTED, Wish(**wish), ZONES)  # type: ignore[arg-type]


def ids(things: object) -> list[str]:
    return [one.id for one in things]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("selector", "subnets"),
    [
        ({"team": "shop"}, ["subnet-a"]),
        ({"team": "*"}, ["subnet-a", "subnet-b"]),
        ({"team": "shop", "zone": "z2"}, []),
        ({"other": "*"}, []),
        ({"aws-ids": "subnet-b, subnet-a"}, ["subnet-a", "subnet-b"]),
        ({"aws::ids": "subnet-b"}, ["subnet-b"]),
        ({}, ["subnet-a", "subnet-b"]),
    ],
)
def test_subnets_are_found_by_tags_or_ids(selector: dict[str, str], subnets: list[str]) -> None:
    assert ids(found(subnets=selector).subnets) == subnets


def test_groups_are_found_only_when_they_are_asked_for() -> None:
    assert found().security_groups == ()
    assert found(security_groups={"aws::name": "nodes"}).security_groups == (
        SecurityGroup(id="sg-1", name="nodes"),
    )


@pytest.mark.parametrize(
    ("wish", "images"),
    [
        ({"family": "AL2"}, ["ami-3", "ami-2", "ami-1"]),  # the newest first
        ({"family": "Custom", "images": {"team": "shop"}}, ["ami-4"]),
        ({"family": "AL2", "images": {"team": "shop"}}, ["ami-4"]),
        ({"family": "Bottlerocket"}, []),
        ({"is_launch_template": True}, []),
    ],
)
def test_images_are_those_selected_or_of_the_family(
    wish: dict[str, object], images: list[str]
) -> None:
    assert ids(found(**wish).images) == images


def test_an_image_says_what_it_suits() -> None:
    newest = found(family="AL2").images[0]

    assert [str(one) for one in newest.requirements] == ["kubernetes.io/arch In [arm64]"]
    assert found(family="AL2").images[2].name == "al2-old"


def test_an_account_that_lists_nothing_has_one_of_each() -> None:
    nothing = selected(
        {}, Wish(family="AL2", subnets={"a": "b"}, security_groups={"c": "d"}), ZONES
    )

    assert nothing.subnets == (
        Subnet(id="subnet-z1", zone="z1"),
        Subnet(id="subnet-z2", zone="z2"),
    )
    assert ids(nothing.security_groups) == ["sg-default"]
    assert ids(nothing.images) == ["ami-al2"]


def test_the_same_selectors_are_the_same_question() -> None:
    one = Wish(family="AL2", subnets={"a": "1", "b": "2"})

    assert one.subject == Wish(family="AL2", subnets={"b": "2", "a": "1"}).subject
    assert one.subject != Wish(family="AL2", subnets={"a": "1"}).subject
