"""Facts about ports of the host. Every function is a row."""

from __future__ import annotations

from tests.facts.fact import Fact
from tests.facts.raw import ended, leaving, node, pod
from unmoor.model.base import JSON

EVERY = "0.0.0.0"  # noqa: S104 - as pods say it
PORTS = "didn't have free ports for the requested pod ports"


def _ports(*ports: JSON) -> JSON:
    return {"containers": [{"ports": list(ports)}]}


def _old(**port: object) -> list[JSON]:
    """Two nodes; on the first a pod has this port."""
    return [node("a"), node("b"), pod("old", on="a", **_ports(port))]


def _new(**port: object) -> JSON:
    return pod("new", **_ports(port))


def two_pods_do_not_share_a_port() -> Fact:
    return Fact(_old(hostPort=80), _new(hostPort=80), "b", PORTS)


def other_ports_are_free() -> Fact:
    return Fact(_old(hostPort=80), _new(hostPort=81), "a b")


def a_port_of_the_container_alone_is_nobodys_matter() -> Fact:
    return Fact(_old(containerPort=80), _new(containerPort=80), "a b")


def protocols_do_not_share_ports() -> Fact:
    return Fact(_old(hostPort=80), _new(hostPort=80, protocol="UDP"), "a b")


def tcp_is_meant_when_no_protocol_is_named() -> Fact:
    return Fact(_old(hostPort=80), _new(hostPort=80, protocol="TCP"), "b", PORTS)


def addresses_do_not_share_ports() -> Fact:
    cluster = _old(hostPort=80, hostIP="10.0.0.1")
    return Fact(cluster, _new(hostPort=80, hostIP="10.0.0.2"), "a b")


def the_same_address_does() -> Fact:
    cluster = _old(hostPort=80, hostIP="10.0.0.1")
    return Fact(cluster, _new(hostPort=80, hostIP="10.0.0.1"), "b", PORTS)


def every_address_includes_each() -> Fact:
    cluster = _old(hostPort=80, hostIP="10.0.0.1")
    return Fact(cluster, _new(hostPort=80, hostIP=EVERY), "b", PORTS)


def each_address_is_one_of_every() -> Fact:
    return Fact(_old(hostPort=80), _new(hostPort=80, hostIP="10.0.0.1"), "b", PORTS)


def every_address_of_the_new_kind_is_one_address() -> Fact:
    """Only 0.0.0.0 stands for every address; :: is compared as text, and so differs from it."""
    return Fact(_old(hostPort=80), _new(hostPort=80, hostIP="::"), "b", PORTS)


def every_address_of_the_new_kind_is_not_every_address() -> Fact:
    cluster = _old(hostPort=80, hostIP="::")
    return Fact(cluster, _new(hostPort=80, hostIP="10.0.0.1"), "a b")


def a_pod_that_has_ended_has_no_ports() -> Fact:
    old = ended(pod("old", on="a", **_ports({"hostPort": 80})))
    return Fact([node("a"), old], _new(hostPort=80), "a")


def a_pod_that_is_leaving_has_its_ports() -> Fact:
    old = leaving(pod("old", on="a", **_ports({"hostPort": 80})))
    return Fact([node("a"), node("b"), old], _new(hostPort=80), "b", PORTS)


def in_the_network_of_the_host_every_port_is_one_of_the_host() -> Fact:
    """The API server fills hostPort in."""
    old = pod("old", on="a", hostNetwork=True, containers=[{"ports": [{"containerPort": 80}]}])
    return Fact([node("a"), node("b"), old], _new(hostPort=80), "b", PORTS)


def an_init_container_has_no_ports() -> Fact:
    starting = [{"ports": [{"hostPort": 80}]}]
    return Fact(_old(hostPort=80), pod("new", initContainers=starting), "a b")


def a_sidecar_has_ports() -> Fact:
    beside = [{"ports": [{"hostPort": 80}], "restartPolicy": "Always"}]
    return Fact(_old(hostPort=80), pod("new", initContainers=beside), "b", PORTS)
