"""Where we and kube-scheduler differ: rules by which we refuse what it takes."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from tests.facts.table import FACTS


class Rule(StrEnum):
    """Why a node is refused that kube-scheduler would take."""

    EVERY_ADDRESS = "the address :: stands for all addresses of a node, as 0.0.0.0 does"
    FREE_VOLUME = "which of the free volumes a class without provisioner would give, nobody knows"
    NO_ZONE = "a volume labelled with its zone cannot be reached from a node that is in none"
    NAMED_NODE = "a volume that names its node is reached from that node alone"
    OVERCOMMITTED = "a node of which more is promised than it has takes no pod, whatever it asks"
    DEVICES = "devices that pods claim are not counted, so no node is promised to such a pod"
    DAEMONS = "room is kept for DaemonSet pods that are still to come"


DIFFERENCES: Final[dict[str, tuple[Rule, str]]] = {
    "devices.a_claim_of_nothing_is_met_anywhere": (Rule.DEVICES, ""),
    "host_ports.every_address_of_the_new_kind_is_not_every_address": (Rule.EVERY_ADDRESS, "b"),
    "rooms.a_pod_that_asks_for_something_else_fits_on_a_node_that_has_too_little": (
        Rule.OVERCOMMITTED,
        "",
    ),
    "volumes.a_class_without_provisioner_needs_a_free_volume": (Rule.FREE_VOLUME, ""),
    "volumes.two_claims_need_two_free_volumes": (Rule.FREE_VOLUME, ""),
    "volumes.a_volume_that_names_its_node_is_reached_from_every_node": (Rule.NAMED_NODE, "b"),
    "volumes.the_zone_of_a_volume_may_be_a_label": (Rule.NO_ZONE, "a"),
    "volumes.such_a_label_may_name_several_zones": (Rule.NO_ZONE, "a b"),
}
"""The facts of which the oracle says something else: by which rule, and the nodes it takes."""

AGREED: Final = tuple(sorted(FACTS.keys() - DIFFERENCES.keys()))
"""All other facts."""
