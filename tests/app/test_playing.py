"""What ``unmoor sim nodes`` tells: machines and the nodes that it plays, and only real changes."""

import msgspec
import pytest

from tests import builders
from unmoor.app.playing import changes, faster
from unmoor.model.cluster import Instance, InstanceSpec, InstanceStatus
from unmoor.sim.actors.kubelet import KubeletDelays
from unmoor.sim.actors.machines import MachineDelays


def everything(name: str) -> bool:
    return bool(name)


def nothing(name: str) -> bool:
    return not name


def instance(phase: str) -> Instance:
    spec = InstanceSpec(
        instance_type="m5.large", zone="z", capacity_type="spot", machine="m", cluster="c"
    )
    named = msgspec.structs.replace(builders.node("i-1").metadata)
    return Instance(metadata=named, spec=spec, status=InstanceStatus(phase=phase))


def test_an_instance_is_told_by_its_phase() -> None:
    about = "m5.large z spot, machine/m"

    assert changes("Instance", None, instance(""), nothing) == [("instance/i-1", "Pending", about)]
    assert changes("Instance", instance(""), instance("Running"), nothing) == [
        ("instance/i-1", "Running", about)
    ]
    assert changes("Instance", instance("Running"), None, nothing) == [("instance/i-1", "gone", "")]


def test_only_what_is_played_is_told() -> None:
    node, pod = builders.node("a"), builders.pod("web", on="a")

    assert changes("Node", None, node, everything) == [("node/a", "ready", "")]
    assert changes("Node", None, node, nothing) == []
    assert changes("Pod", None, pod, nothing) == []
    assert changes("Lease", None, node, everything) == []
    (told,) = changes("Pod", None, pod, everything)
    assert told == ("pod/shop/web", "running", "on a")


def test_a_heartbeat_is_no_news() -> None:
    node = builders.node("a")
    beat = msgspec.structs.replace(
        node, metadata=msgspec.structs.replace(node.metadata, resource_version="2")
    )

    assert changes("Node", node, beat, everything) == []


@pytest.mark.parametrize("speed", [1.0, 10.0])
def test_speed_shortens_delays_but_not_leases(speed: float) -> None:
    played, machines = faster(KubeletDelays(), speed), faster(MachineDelays(), speed)

    assert played.boot_s == (15.0 / speed, 45.0 / speed)
    assert played.lease_every_s == 10.0
    assert machines.launch_s == (2.0 / speed, 15.0 / speed)
    assert machines.forget_s == (600.0, 600.0)
