"""What a simulated account holds besides machines: images, subnets, security groups.

The ConfigMap ``kube-system/unmoor-sim-cloud`` lists them under ``images``, ``subnets`` and
``securityGroups``, one a line: its id, then ``key=value`` words. ``name``, ``family`` and ``arch``
of an image, ``zone`` of a subnet and ``name`` of a group are its own; all others are tags. A later
image is a newer one. Where nothing is listed the account has one of each, which every selector by
tags finds: a subnet in each zone, a group, and an image of each family.

Must not: read the ConfigMap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from unmoor.model import names
from unmoor.model.node_template import AMI, ID_FILTERS, SecurityGroup, Subnet
from unmoor.model.requirement import IN, NodeSelectorRequirement
from unmoor.model.selection import Selection, Wish

IMAGES = "images"
SUBNETS = "subnets"
SECURITY_GROUPS = "securityGroups"
DEFAULT_GROUP = "sg-default"
NAME_FILTERS = ("aws::name", "Name")
NOT_ASKED = frozenset({"aws::owners"})
"""Filters that a simulated account does not know: it has one owner."""
ANY = "*"


class Thing(msgspec.Struct, frozen=True):
    """A line. ``is_every``: any tag is on it, since nobody has listed anything."""

    id: str
    words: dict[str, str] = {}
    is_every: bool = False

    def suits(self, selector: Mapping[str, str]) -> bool:
        """True when each filter finds it."""
        return all(self._suits(key, value) for key, value in selector.items())

    def _suits(self, key: str, value: str) -> bool:
        if key in ID_FILTERS:
            return self.id in {one.strip() for one in value.split(",")}
        if self.is_every or key in NOT_ASKED:
            return True
        held = self.words.get("name" if key in NAME_FILTERS else key)
        return held is not None and value in {ANY, held}


def selected(data: Mapping[str, str], wish: Wish, zones: Iterable[str]) -> Selection:
    """Return what the wish finds. ``data``: of the ConfigMap. ``zones``: of all that is sold."""
    subnets = _things(data, SUBNETS) or [
        Thing(f"subnet-{zone}", {"zone": zone}, is_every=True) for zone in zones
    ]
    groups = _things(data, SECURITY_GROUPS) or [Thing(DEFAULT_GROUP, is_every=True)]
    return Selection(
        subnets=tuple(
            Subnet(id=one.id, zone=one.words.get("zone", ""))
            for one in subnets
            if one.suits(wish.subnets)
        ),
        security_groups=tuple(
            SecurityGroup(id=one.id, name=one.words.get("name", ""))
            for one in groups
            if wish.security_groups and one.suits(wish.security_groups)
        ),
        images=() if wish.is_launch_template else tuple(_images(data, wish)),
    )


def _images(data: Mapping[str, str], wish: Wish) -> Iterable[AMI]:
    """The newest first: those selected, or those of the family."""
    default = Thing(f"ami-{wish.family.lower()}", {"family": wish.family}, is_every=True)
    for one in reversed(_things(data, IMAGES) or [default]):
        if one.suits(wish.images) if wish.images else one.words.get("family") == wish.family:
            arch = one.words.get("arch")
            wanted = NodeSelectorRequirement(key=names.ARCH, operator=IN, values=(arch or "",))
            yield AMI(
                id=one.id,
                name=one.words.get("name", one.id),
                requirements=(wanted,) if arch else (),
            )


def _things(data: Mapping[str, str], key: str) -> list[Thing]:
    found = []
    for line in data.get(key, "").splitlines():
        head, *words = line.partition("#")[0].split() or [""]
        if head:
            pairs = (word.partition("=") for word in words)
            found.append(Thing(head, {name: value for name, _, value in pairs}))
    return found
