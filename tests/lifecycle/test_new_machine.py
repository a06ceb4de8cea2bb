"""What a machine looks like that is made for pods."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests import builders
from tests.builders import machine
from tests.engine.scenes import TYPES, as_object, instance_type
from tests.lifecycle.pending import asked, homeless, planned, provisioner, the_one, waiting
from tests.lifecycle.rows import PROVISIONING
from unmoor.lifecycle import new_machine
from unmoor.lifecycle.effects import Create
from unmoor.model import names
from unmoor.model.kinds import MACHINES
from unmoor.model.machine import Machine
from unmoor.model.snapshot import Unreadable, View
from unmoor.model.static_hash import hash_of
from unmoor.model.workload import DaemonSet


def made_by(pod: Any = None, **spec: Any) -> Machine:
    """The machine that a provisioner with this spec makes for a pod."""
    return the_one(planned(pod or waiting(), provisioner(**spec)))


def wants(*expressions: tuple[str, ...]) -> dict[str, Any]:
    """The spec of a pod that requires this of its node."""
    listed = [{"key": key, "operator": op, "values": values} for key, op, *values in expressions]
    terms = {"nodeSelectorTerms": [{"matchExpressions": listed}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return {"affinity": affinity}


def test_t235_annotations_of_the_provisioner() -> None:
    given = made_by(annotations={"team": "shop"}).metadata.annotations

    assert given["team"] == "shop"
    assert given[names.MANAGED_BY] == builders.CLUSTER
    assert given[names.PROVISIONER_HASH] == hash_of(provisioner(annotations={"team": "shop"}))


def test_t236_labels_of_the_provisioner() -> None:
    labels = made_by(labels={"team": "shop"}).metadata.labels

    assert labels == {"team": "shop", names.PROVISIONER_NAME: "default"}


def test_t237_labels_in_excepted_domains() -> None:
    given = {"node-restriction.kubernetes.io/team": "shop", "kops.k8s.io/instancegroup": "one"}

    assert given.items() <= made_by(labels=given).metadata.labels.items()


def test_t238_taints_and_startup_taints() -> None:
    taint = {"key": "example.org/gpu", "effect": "NoSchedule"}
    startup = {"key": "example.org/agent", "effect": "NoExecute"}
    tolerant = waiting(spec={"tolerations": [{"operator": "Exists"}]})
    given = made_by(tolerant, taints=[taint], startupTaints=[startup]).spec

    assert [one.key for one in given.taints] == ["example.org/gpu"]
    assert [one.key for one in given.startup_taints] == ["example.org/agent"]
    world = planned(waiting(), provisioner(taints=[taint]))
    assert world.names("Machine") == []


def test_t239_what_it_may_be() -> None:
    requirements = asked(made_by())

    assert requirements[names.PROVISIONER_NAME].values == ("default",)
    assert set(requirements[names.INSTANCE_TYPE].values) == {
        "arm-instance-type",
        "default-instance-type",
        "gpu-vendor-a",
        "gpu-vendor-b",
        "single-pod-instance-type",
        "small-instance-type",
    }
    assert names.HOSTNAME not in requirements


def test_the_cheapest_type_is_the_first() -> None:
    [effect] = planned(waiting()).done(Create)
    [of_type] = [
        one for one in effect.body["spec"]["requirements"] if one["key"] == names.INSTANCE_TYPE
    ]

    assert of_type["values"][0] == "small-instance-type"
    assert effect.why.startswith("for 1 pod (shop/web-1): small-instance-type, ")
    assert effect.why.endswith(", in any zone, from 0.4147 USD/h")


@pytest.mark.parametrize(
    ("price", "said"), [(0.25, "from 0.25 USD/h (my prices)"), (None, "price unknown (my prices)")]
)
def test_the_order_names_the_prices_that_its_figure_is_of(price: float | None, said: str) -> None:
    sold = msgspec.structs.replace(instance_type("one", price=price), price_book="my prices")
    [effect] = planned(waiting(), types=(sold,)).done(Create)

    assert effect.why.endswith(f", in any zone, {said}")


def test_t240_requirements_of_its_own() -> None:
    requirements = [{"key": "example.org/rack", "operator": "In", "values": ["b", "a"]}]
    given = made_by(requirements=requirements)

    assert asked(given)["example.org/rack"].values == ("a", "b")
    assert given.metadata.labels["example.org/rack"] == "a"


@pytest.mark.parametrize(
    ("key", "value", "types"),
    [
        (names.ARCH, "arm64", {"arm-instance-type"}),  # T241
        (names.OS, "windows", {"windows-instance-type"}),  # T242
        (names.INSTANCE_TYPE, "small-instance-type", {"small-instance-type"}),
    ],
)
def test_requirements_narrow_the_types(key: str, value: str, types: set[str]) -> None:
    windows = instance_type("windows-instance-type", os="windows")
    world = planned(waiting(spec=wants((key, "In", value))), types=(*TYPES, windows))

    found = {
        name
        for effect in world.done(Create)
        for one in effect.body["spec"]["requirements"]
        if one["key"] == names.INSTANCE_TYPE
        for name in one["values"]
    }
    assert found == types


def test_t243_requests_narrow_the_types() -> None:
    assert asked(made_by(waiting(cpu="14")))[names.INSTANCE_TYPE].values == ("arm-instance-type",)


def test_t244_it_belongs_to_its_provisioner() -> None:
    [owner] = made_by().metadata.owner_references

    assert (owner.kind, owner.name, owner.uid) == (
        "Provisioner",
        "default",
        "uid-provisioner-default",
    )
    assert owner.api_version == "karpenter.sh/v1alpha5"
    assert owner.block_owner_deletion


def test_it_is_held_from_the_start() -> None:
    assert made_by().metadata.finalizers == (names.TERMINATION_FINALIZER,)


def test_t245_the_node_template() -> None:
    ref = made_by(providerRef={"name": "gpu", "kind": "T", "apiVersion": "x/v1"}).spec
    given = ref.machine_template_ref

    assert given is not None
    assert (given.name, given.kind, given.api_version) == ("gpu", "T", "x/v1")


def test_t246_an_inline_description_is_kept_as_it_was() -> None:
    inline = {"subnetSelector": {"b": "2", "a": "1"}, "securityGroupSelector": {"a": "1"}}
    any_type = [
        {"key": key, "operator": "DoesNotExist"}
        for key in (names.INSTANCE_CATEGORY, names.INSTANCE_GENERATION)
    ]
    given = made_by(provider=inline, providerRef=None, requirements=any_type)

    assert given.metadata.annotations[names.COMPATIBILITY_PROVIDER] == (
        '{"securityGroupSelector":{"a":"1"},"subnetSelector":{"a":"1","b":"2"}}'
    )
    assert given.spec.machine_template_ref is None


def test_t247_it_has_room_for_its_pods() -> None:
    containers = [
        {"name": "a", "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}},
        {"name": "b", "resources": {"limits": {"cpu": "500m"}}},
    ]
    given = made_by(waiting(spec={"containers": containers})).spec.resources.requests

    assert given == {"cpu": "750m", "memory": "1Gi", "pods": "1"}


def test_t248_and_for_daemon_pods() -> None:
    agent = {
        "metadata": {"name": "agent", "namespace": "kube-system", "uid": "uid-agent"},
        "spec": {
            "template": {
                "spec": {
                    "containers": [{"name": "main", "resources": {"requests": {"cpu": "300m"}}}]
                }
            }
        },
    }
    world = planned(waiting(cpu="1"), as_object(DaemonSet, agent))

    assert the_one(world).spec.resources.requests == {"cpu": "1300m", "pods": "2"}


def test_the_kubelet_configuration() -> None:
    given = made_by(kubeletConfiguration={"maxPods": 40, "kubeReserved": {"cpu": "200m"}})

    assert given.spec.kubelet is not None
    assert given.spec.kubelet.max_pods == 40
    assert given.spec.kubelet.kube_reserved == {"cpu": "200m"}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (("In", "c", "b"), "b"),
        (("Exists",), "0"),
        (("Gt", "7"), "8"),
        (("Lt", "3"), "0"),
        (("NotIn", "0"), None),
        (("DoesNotExist",), None),
    ],
)
def test_a_label_that_no_cloud_knows_gets_its_value(
    expression: tuple[str, ...], value: str | None
) -> None:
    operator, *values = expression
    rack = [{"key": "example.org/rack", "operator": operator, "values": values}]

    assert made_by(requirements=rack).metadata.labels.get("example.org/rack") == value


def test_a_value_that_is_excluded_is_not_chosen() -> None:
    rack = [
        {"key": "example.org/rack", "operator": "Exists"},
        {"key": "example.org/rack", "operator": "NotIn", "values": ["0", "1"]},
    ]

    assert made_by(requirements=rack).metadata.labels["example.org/rack"] == "2"


def test_a_name_is_not_given_twice() -> None:
    pod = waiting()
    name = new_machine.name_for(View(), "default", pod, ())
    taken = View.of(machine(name))
    broken = View()
    broken._broken[MACHINES.kind][("", name)] = Unreadable("spec: not an object")

    assert new_machine.name_for(taken, "default", pod, ()) == f"{name}-2"
    assert new_machine.name_for(broken, "default", pod, ()) == f"{name}-2"
    assert new_machine.name_for(taken, "default", pod, {f"{name}-2"}) == f"{name}-3"


def test_a_long_name_of_a_provisioner_is_cut_where_a_name_may_end() -> None:
    name = new_machine.name_for(View(), "a" * 199 + ".b", waiting(), ())

    assert name.startswith("a" * 199 + "-")


def test_a_label_that_types_have_gets_no_value_of_ours() -> None:
    """With another one it would be none of them: the next look would make another machine."""
    world = planned(waiting(), provisioner(requirements=[{"key": "size", "operator": "Exists"}]))
    world.run(PROVISIONING, for_s=60)

    assert "size" not in the_one(world).metadata.labels


@pytest.mark.parametrize(("operator", "values", "given"), [("Exists", [], "0"), ("Gt", ["4"], "5")])
def test_a_label_to_which_we_give_a_value_has_that_value_in_the_plan_too(
    operator: str, values: list[str], given: str
) -> None:
    """Of two pods that must not share it one would have another machine made for ever."""
    rule = provisioner(requirements=[{"key": "rack", "operator": operator, "values": values}])
    apart = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "web"}}}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
    pods = [waiting(name, spec={"affinity": {"podAntiAffinity": terms}}) for name in ("a", "b")]
    world = planned(*pods, rule)
    world.run(PROVISIONING, for_s=60)

    assert the_one(world).metadata.labels["rack"] == given
    assert homeless(world) == ["b"]
