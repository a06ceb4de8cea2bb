"""Facts about volumes. Every function is a row."""

from __future__ import annotations

from tests.facts.fact import Fact
from tests.facts.raw import (
    HOSTNAME,
    ZONE,
    attachment,
    claim,
    csi_node,
    ended,
    expression,
    leaving,
    mounts,
    node,
    pod,
    storage_class,
    volume,
)
from unmoor.model.base import JSON

REACH = "didn't match PersistentVolume's node affinity"
COUNT = "exceed max volume count"
NO_ZONE = "no available volume zone"
NONE_FREE = "didn't find available persistent volumes to bind"


def _zones() -> list[JSON]:
    """Node a in zone 1, b in zone 2, c in none."""
    return [node("a", zone="1"), node("b", zone="2"), node("c")]


def a_bound_claim_ties_a_pod_to_where_its_volume_can_be_reached() -> Fact:
    cluster = [*_zones(), claim("data", volume="v"), volume("v", claimed="data", zone="1")]
    return Fact(cluster, pod(**mounts("data")), "a", REACH)


def a_volume_that_can_be_reached_from_anywhere_ties_to_nothing() -> Fact:
    cluster = [*_zones(), claim("data", volume="v"), volume("v", claimed="data")]
    return Fact(cluster, pod(**mounts("data")), "a b c")


def all_volumes_must_be_reached() -> Fact:
    cluster = [*_zones(), claim("x", volume="v"), volume("v", claimed="x", zone="1")]
    cluster += [claim("y", volume="w"), volume("w", claimed="y", zone="2")]
    return Fact(cluster, pod(**mounts("x", "y")), "", REACH)


def the_zone_of_a_volume_may_be_a_label() -> Fact:
    """The way before node affinity of volumes. Node c, which is in no zone at all, can reach it."""
    held = volume("v", claimed="data", labels={ZONE: "1"})
    return Fact([*_zones(), claim("data", volume="v"), held], pod(**mounts("data")), "a c", NO_ZONE)


def such_a_label_may_name_several_zones() -> Fact:
    held = volume("v", claimed="data", labels={ZONE: "1__2"})
    cluster = [*_zones(), node("d", zone="3"), claim("data", volume="v"), held]
    return Fact(cluster, pod(**mounts("data")), "a b c", NO_ZONE)


def a_volume_on_the_disk_of_a_node_ties_to_that_node() -> Fact:
    held = volume("v", claimed="data")
    terms = [{"matchExpressions": [expression(HOSTNAME, "In", "b")]}]
    held["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return Fact([*_zones(), claim("data", volume="v"), held], pod(**mounts("data")), "b", REACH)


def a_volume_that_names_its_node_is_reached_from_every_node() -> Fact:
    """Only labels are looked at."""
    held = volume("v", claimed="data")
    terms = [{"matchFields": [expression("metadata.name", "In", "b")]}]
    held["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return Fact([*_zones(), claim("data", volume="v"), held], pod(**mounts("data")), "a b c")


def a_volume_may_be_reached_by_several_ways() -> Fact:
    held = volume("v", claimed="data")
    ways = [expression(HOSTNAME, "In", "c"), expression(ZONE, "In", "1")]
    terms = [{"matchExpressions": [one]} for one in ways]
    held["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return Fact([*_zones(), claim("data", volume="v"), held], pod(**mounts("data")), "a c", REACH)


def a_claim_that_only_names_its_volume_is_not_bound() -> Fact:
    """Its controller has to agree, and marks it then."""
    cluster = [*_zones(), claim("data", volume="v"), volume("v", claimed="data")]
    del cluster[3]["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"]
    message = "pod has unbound immediate PersistentVolumeClaims"
    return Fact(cluster, pod(**mounts("data")), "", message)


def a_claim_that_is_not_there_refuses_every_node() -> Fact:
    return Fact(_zones(), pod(**mounts("data")), "", 'persistentvolumeclaim "data" not found')


def a_claim_bound_to_a_volume_that_is_not_there_refuses_every_node() -> Fact:
    cluster = [*_zones(), claim("data", volume="v")]
    return Fact(cluster, pod(**mounts("data")), "", 'persistentvolume "v" not found')


def a_claim_that_is_bound_at_once_refuses_until_it_is() -> Fact:
    cluster = [*_zones(), storage_class("now", waits=False), claim("data", storage_class="now")]
    message = "pod has unbound immediate PersistentVolumeClaims"
    return Fact(cluster, pod(**mounts("data")), "", message)


def a_claim_without_class_is_bound_at_once() -> Fact:
    message = "pod has unbound immediate PersistentVolumeClaims"
    return Fact([*_zones(), claim("data")], pod(**mounts("data")), "", message)


def a_claim_of_a_class_that_is_not_there_is_taken_to_be_bound_at_once() -> Fact:
    cluster = [*_zones(), claim("data", storage_class="none")]
    message = "pod has unbound immediate PersistentVolumeClaims"
    return Fact(cluster, pod(**mounts("data")), "", message)


def a_claim_that_waits_gets_its_volume_anywhere() -> Fact:
    cluster = [*_zones(), storage_class("later"), claim("data", storage_class="later")]
    return Fact(cluster, pod(**mounts("data")), "a b c")


def a_class_may_say_where_its_volumes_are_made() -> Fact:
    cluster = [*_zones(), storage_class("later", zones="1 3"), claim("data", storage_class="later")]
    return Fact(cluster, pod(**mounts("data")), "a", NONE_FREE)


def it_may_say_so_in_several_ways() -> Fact:
    held = storage_class("later")
    held["allowedTopologies"] = [
        {"matchLabelExpressions": [{"key": ZONE, "values": ["1"]}]},
        {"matchLabelExpressions": [{"key": HOSTNAME, "values": ["c"]}]},
    ]
    cluster = [*_zones(), held, claim("data", storage_class="later")]
    return Fact(cluster, pod(**mounts("data")), "a c", NONE_FREE)


def a_claim_that_waits_on_a_chosen_node_is_tied_to_it() -> Fact:
    """kube-scheduler chose it for another pod, or before; until the volume is there, that holds."""
    held = claim("data", storage_class="later", **{"volume.kubernetes.io/selected-node": "b"})
    return Fact([*_zones(), storage_class("later"), held], pod(**mounts("data")), "b", NONE_FREE)


def a_class_without_provisioner_needs_a_free_volume() -> Fact:
    held = storage_class("local", provisioner="kubernetes.io/no-provisioner")
    cluster = [*_zones(), held, claim("data", storage_class="local")]
    free = volume("v", zone="2", storage_class="local")
    return Fact([*cluster, free], pod(**mounts("data")), "b", NONE_FREE)


def a_volume_of_another_class_is_not_free() -> Fact:
    held = storage_class("local", provisioner="kubernetes.io/no-provisioner")
    cluster = [*_zones(), held, claim("data", storage_class="local")]
    return Fact(
        [*cluster, volume("v", storage_class="other")], pod(**mounts("data")), "", NONE_FREE
    )


def two_claims_need_two_free_volumes() -> Fact:
    held = storage_class("local", provisioner="kubernetes.io/no-provisioner")
    cluster = [
        *_zones(),
        held,
        claim("x", storage_class="local"),
        claim("y", storage_class="local"),
    ]
    cluster += [
        volume(f"v{zone}{at}", zone=zone, storage_class="local") for zone, at in ("1a", "2a", "2b")
    ]
    return Fact(cluster, pod(**mounts("x", "y")), "b", NONE_FREE)


# ------------------------------------------------------------------------------------------- limits


def _bound(*names: str, driver: str = "disks.example.com") -> list[JSON]:
    claims = [claim(name, volume=f"v-{name}") for name in names]
    return claims + [volume(f"v-{name}", claimed=name, driver=driver) for name in names]


def a_node_can_have_so_many_volumes_of_a_driver() -> Fact:
    cluster = [*_zones(), csi_node("a", count=1), csi_node("b", count=2), *_bound("x", "y")]
    cluster += [pod("old", on="a", **mounts("x")), pod("older", on="b", **mounts("x"))]
    return Fact(cluster, pod(**mounts("y")), "b c", COUNT)


def a_volume_that_the_node_has_counts_once() -> Fact:
    cluster = [node("a"), csi_node("a", count=1), *_bound("x"), pod("old", on="a", **mounts("x"))]
    return Fact(cluster, pod(**mounts("x")), "a")


def volumes_of_other_drivers_do_not_count() -> Fact:
    cluster = [
        node("a"),
        csi_node("a", count=1),
        *_bound("x"),
        *_bound("y", driver="nfs.example.com"),
    ]
    return Fact([*cluster, pod("old", on="a", **mounts("x"))], pod(**mounts("y")), "a")


def a_pod_that_has_ended_has_no_volumes() -> Fact:
    cluster = [node("a"), csi_node("a", count=1), *_bound("x", "y")]
    return Fact([*cluster, ended(pod("old", on="a", **mounts("x")))], pod(**mounts("y")), "a")


def a_pod_that_is_leaving_has_its_volumes() -> Fact:
    cluster = [node("a"), csi_node("a", count=1), *_bound("x", "y")]
    cluster += [node("b"), leaving(pod("old", on="a", **mounts("x")))]
    return Fact(cluster, pod(**mounts("y")), "b", COUNT)


def a_volume_that_is_attached_counts_though_its_pod_is_gone() -> Fact:
    cluster = [node("a"), node("b"), csi_node("a", count=1), *_bound("x", "y")]
    return Fact([*cluster, attachment("v-x", on="a")], pod(**mounts("y")), "b", COUNT)


def it_counts_once_while_a_pod_has_it() -> Fact:
    cluster = [node("a"), csi_node("a", count=2), *_bound("x", "y"), attachment("v-x", on="a")]
    return Fact([*cluster, pod("old", on="a", **mounts("x"))], pod(**mounts("y")), "a")


def it_counts_beside_itself_for_a_pod_that_comes_back() -> Fact:
    cluster = [node("a"), node("b"), csi_node("a", count=1), *_bound("x")]
    return Fact([*cluster, attachment("v-x", on="a")], pod(**mounts("x")), "b", COUNT)


def a_full_node_takes_a_pod_that_brings_nothing_new_to_attach() -> Fact:
    """Even one that has more than it may: kube-scheduler looks only at drivers with new volumes."""
    cluster = [node("a"), csi_node("a", count=1), *_bound("x", "y")]
    return Fact([*cluster, pod("old", on="a", **mounts("x", "y"))], pod(**mounts("x")), "a")


def a_volume_of_another_driver_that_is_attached_does_not_count() -> Fact:
    cluster = [node("a"), csi_node("a", count=1), *_bound("x", driver="nfs.example.com")]
    cluster += [*_bound("y"), attachment("v-x", on="a", driver="nfs.example.com")]
    return Fact(cluster, pod(**mounts("y")), "a")


def a_volume_that_is_still_to_be_made_counts() -> Fact:
    cluster = [node("a"), node("b"), csi_node("a", count=1), *_bound("x")]
    cluster += [storage_class("later"), claim("y", storage_class="later")]
    return Fact([*cluster, pod("old", on="a", **mounts("x"))], pod(**mounts("y")), "b", COUNT)


def a_driver_that_names_no_number_takes_any() -> Fact:
    silent = csi_node("a", count=1)
    del silent["spec"]["drivers"][0]["allocatable"]
    cluster = [node("a"), silent, *_bound("x", "y"), pod("old", on="a", **mounts("x"))]
    return Fact(cluster, pod(**mounts("y")), "a")


def several_volumes_of_one_pod_count_together() -> Fact:
    cluster = [node("a"), node("b"), csi_node("a", count=1), csi_node("b", count=2)]
    return Fact([*cluster, *_bound("x", "y")], pod(**mounts("x", "y")), "b", COUNT)


def no_volumes_at_all_is_a_limit() -> Fact:
    cluster = [node("a"), node("b"), csi_node("a", count=0), *_bound("x")]
    return Fact(cluster, pod(**mounts("x")), "b", COUNT)


def a_volume_made_inline_by_a_driver_does_not_count() -> Fact:
    inline = {"name": "v", "csi": {"driver": "disks.example.com"}}
    cluster = [node("a"), csi_node("a", count=1), *_bound("x"), pod("old", on="a", **mounts("x"))]
    return Fact(cluster, pod(volumes=[inline]), "a")


# ---------------------------------------------------------------------------------------- ephemeral


def _ephemeral(storage: str = "later") -> JSON:
    spec = claim("", storage_class=storage)["spec"]
    return {"volumes": [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]}


ALIKE = ("new-tmp", "wrong-tmp")
"""The claim of a pod's own volume, under each name that the pod has when it is asked about."""
ALIEN = "(pod is not owner)"


def _called_alike(**metadata: object) -> list[JSON]:
    claims = [claim(name, storage_class="later") for name in ALIKE]
    return [{**one, "metadata": {**one["metadata"], **metadata}} for one in claims]


def a_volume_of_the_pods_own_is_made_where_its_class_says() -> Fact:
    return Fact([*_zones(), storage_class("later", zones="2")], pod(**_ephemeral()), "b", NONE_FREE)


def a_volume_of_the_pods_own_counts() -> Fact:
    cluster = [node("a"), node("b"), csi_node("a", count=1), csi_node("b", count=2)]
    cluster += [storage_class("later"), pod("old", on="a", **_ephemeral())]
    return Fact([*cluster, pod("older", on="b", **_ephemeral())], pod(**_ephemeral()), "b", COUNT)


def a_claim_that_is_only_called_like_the_pods_own_refuses_every_node() -> Fact:
    """The pod is not its owner, so it is somebody else's."""
    return Fact(
        [*_zones(), storage_class("later"), *_called_alike()], pod(**_ephemeral()), "", ALIEN
    )


def a_claim_of_an_earlier_pod_of_the_same_name_refuses_every_node() -> Fact:
    """Until it is gone, and the controller makes one for the pod that is there now."""
    before = {"apiVersion": "v1", "kind": "Pod", "name": "new", "uid": "of-an-earlier-pod"}
    claims = _called_alike(ownerReferences=[{**before, "controller": True}])
    return Fact([*_zones(), storage_class("later"), *claims], pod(**_ephemeral()), "", ALIEN)


def a_claim_of_which_the_pod_is_an_owner_and_not_the_controller_refuses_every_node() -> Fact:
    """No uid that it could name would do, so the fact may name any."""
    one = {"apiVersion": "v1", "kind": "Pod", "name": "new", "uid": "uid-Pod-new"}
    claims = _called_alike(ownerReferences=[one])
    return Fact([*_zones(), storage_class("later"), *claims], pod(**_ephemeral()), "", ALIEN)


def a_bound_claim_of_somebody_else_refuses_every_node_too() -> Fact:
    claims = [claim(name, volume=f"v-{name}") for name in ALIKE]
    held = [volume(f"v-{name}", claimed=name) for name in ALIKE]
    return Fact([*_zones(), storage_class("later"), *claims, *held], pod(**_ephemeral()), "", ALIEN)


def somebody_elses_claim_can_be_used_by_its_name() -> Fact:
    """As a claim that is shared, which asks for no owner."""
    cluster = [*_zones(), storage_class("later", zones="2"), claim("x-tmp", storage_class="later")]
    return Fact(cluster, pod(**mounts("x-tmp")), "b", NONE_FREE)


# ------------------------------------------------------------------------------------ one at a time


def a_volume_for_one_pod_is_for_one_pod() -> Fact:
    cluster = [node("a"), *_bound("x")]
    for one in cluster[1:]:
        one["spec"]["accessModes"] = ["ReadWriteOncePod"]
    message = (
        "PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
    )
    cluster += [pod("old", on="a", **mounts("x"))]
    return Fact(cluster, pod(**mounts("x")), "", message)


def a_volume_for_one_node_may_be_asked_for_on_another() -> Fact:
    """ReadWriteOnce is not kube-scheduler's matter: the pod is bound, and waits for the volume."""
    cluster = [node("a"), node("b"), *_bound("x"), pod("old", on="a", **mounts("x"))]
    return Fact(cluster, pod(**mounts("x")), "a b")
