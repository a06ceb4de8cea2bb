"""What do the selectors of a node template find in the account? Question and answer of a cloud.

Must not: ask anybody, or know how a cloud names things.
"""

from __future__ import annotations

import msgspec

from unmoor.model.node_template import AMI, AWSNodeTemplate, SecurityGroup, Subnet


class Wish(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The selectors as written, and the family that decides where there is no image selector.

    ``is_launch_template``: a launch template of a person's own decides the rest.
    """

    family: str = ""
    images: dict[str, str] = {}
    subnets: dict[str, str] = {}
    security_groups: dict[str, str] = {}
    is_launch_template: bool = False

    @property
    def subject(self) -> str:
        """How the view knows the answer: the same selectors have the same."""
        return msgspec.json.encode(self, order="sorted").decode()


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What there is now. Images the newest first; () where nothing was found."""

    subnets: tuple[Subnet, ...] = ()
    security_groups: tuple[SecurityGroup, ...] = ()
    images: tuple[AMI, ...] = ()


def wish_of(template: AWSNodeTemplate) -> Wish:
    """Return what a template asks for."""
    spec = template.spec
    is_launch_template = spec.launch_template is not None
    return Wish(
        family="" if is_launch_template else template.ami_family,
        images=spec.ami_selector,
        subnets=spec.subnet_selector,
        security_groups=spec.security_group_selector,
        is_launch_template=is_launch_template,
    )


def wish_in(subject: str) -> Wish:
    """Return the wish that a subject stands for."""
    return msgspec.json.decode(subject, type=Wish)
