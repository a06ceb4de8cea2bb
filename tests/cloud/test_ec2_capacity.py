"""Every rule of the capacity model, a row each. The plain machine: 4 cores, 16 GiB, 4 x 15."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmoor.cloud.ec2_capacity import (
    AMI_FAMILIES,
    GIB,
    MIB,
    AddressablePods,
    DataSheet,
    Interfaces,
    amounts,
)
from unmoor.model import node_template
from unmoor.model.kubelet import KubeletConfiguration
from unmoor.model.settings import AWSSettings

PLAIN = DataSheet(arch="amd64", vcpus=4, memory_mib=16384, network=Interfaces(4, 15))
ARM = msgspec.structs.replace(PLAIN, arch="arm64")
GPUS = msgspec.structs.replace(PLAIN, devices={"nvidia.com/gpu": 4})
LISTED = msgspec.structs.replace(PLAIN, network=AddressablePods(58))
DEFAULTS = KubeletConfiguration()
NO_OVERHEAD = AWSSettings(vm_memory_overhead_percent=0.0)
DENSITY_OFF = AWSSettings(enable_eni_limited_pod_density=False)

SEEN_MIB = 16384 - 1229
"""16,384 MiB less 7.5 %, which is rounded up from 1228.8."""


def cores(count: int) -> DataSheet:
    return msgspec.structs.replace(PLAIN, vcpus=count)


def memory(mib: int) -> DataSheet:
    return msgspec.structs.replace(PLAIN, memory_mib=mib)


def reserved(count: int) -> AWSSettings:
    return AWSSettings(reserved_enis=count)


def kubelet(**fields: object) -> KubeletConfiguration:
    return msgspec.convert(fields, KubeletConfiguration)


@pytest.mark.parametrize(
    ("sheet", "settings", "mib"),
    [
        pytest.param(PLAIN, AWSSettings(), SEEN_MIB, id="a share is kept, rounded up"),
        pytest.param(memory(8000), AWSSettings(), 7400, id="7.5 % of 8000 is exactly 600"),
        pytest.param(PLAIN, NO_OVERHEAD, 16384, id="no share"),
        pytest.param(ARM, NO_OVERHEAD, 16320, id="arm64 keeps 64 MiB"),
        pytest.param(ARM, AWSSettings(), 16320 - 1224, id="the share is of the rest"),
        pytest.param(PLAIN, AWSSettings(vm_memory_overhead_percent=2.0), 0, id="more than all"),
        pytest.param(PLAIN, AWSSettings(vm_memory_overhead_percent=-1.0), 16384, id="below 0"),
        pytest.param(PLAIN, AWSSettings(vm_memory_overhead_percent=float("nan")), 16384, id="nan"),
    ],
)
def test_memory(sheet: DataSheet, settings: AWSSettings, mib: int) -> None:
    assert amounts(sheet, settings=settings).capacity["memory"] == mib * MIB


@pytest.mark.parametrize(
    ("sheet", "configured", "settings", "family", "pods"),
    [
        pytest.param(PLAIN, DEFAULTS, AWSSettings(), "AL2", 58, id="an address each, and 2"),
        pytest.param(PLAIN, DEFAULTS, reserved(1), "AL2", 44, id="one interface is reserved"),
        pytest.param(PLAIN, DEFAULTS, reserved(4), "AL2", 0, id="all are"),
        pytest.param(PLAIN, DEFAULTS, reserved(9), "AL2", 0, id="more than there are"),
        pytest.param(PLAIN, DEFAULTS, reserved(-1), "AL2", 58, id="less than none"),
        pytest.param(LISTED, DEFAULTS, AWSSettings(), "AL2", 58, id="only the sum is known"),
        pytest.param(LISTED, DEFAULTS, reserved(1), "AL2", 58, id="and nothing to take from it"),
        pytest.param(PLAIN, DEFAULTS, DENSITY_OFF, "AL2", 110, id="density off"),
        pytest.param(PLAIN, DEFAULTS, AWSSettings(), "Windows2022", 110, id="Windows has none"),
        pytest.param(PLAIN, DEFAULTS, AWSSettings(), "Bottlerocket", 58, id="Bottlerocket has"),
        pytest.param(PLAIN, DEFAULTS, AWSSettings(), "NoSuch", 58, id="unknown family"),
        pytest.param(PLAIN, kubelet(maxPods=20), AWSSettings(), "AL2", 20, id="maxPods"),
        pytest.param(PLAIN, kubelet(maxPods=250), AWSSettings(), "AL2", 250, id="beyond addresses"),
        pytest.param(PLAIN, kubelet(maxPods=0), AWSSettings(), "AL2", 0, id="maxPods 0 is none"),
        pytest.param(PLAIN, kubelet(maxPods=-1), AWSSettings(), "AL2", 58, id="maxPods -1 is bad"),
        pytest.param(PLAIN, kubelet(podsPerCore=3), AWSSettings(), "AL2", 12, id="podsPerCore"),
        pytest.param(PLAIN, kubelet(podsPerCore=30), AWSSettings(), "AL2", 58, id="only a bound"),
        pytest.param(PLAIN, kubelet(podsPerCore=0), AWSSettings(), "AL2", 58, id="0 is no bound"),
        pytest.param(PLAIN, kubelet(podsPerCore=-3), AWSSettings(), "AL2", 58, id="-3 is bad"),
        pytest.param(
            PLAIN, kubelet(maxPods=20, podsPerCore=3), AWSSettings(), "AL2", 12, id="both: less"
        ),
        pytest.param(
            PLAIN, kubelet(podsPerCore=3), AWSSettings(), "Bottlerocket", 58, id="not Bottlerocket"
        ),
    ],
)
def test_pods(
    sheet: DataSheet,
    configured: KubeletConfiguration,
    settings: AWSSettings,
    family: str,
    pods: int,
) -> None:
    found = amounts(sheet, configured, settings, ami_family=family)

    assert (found.capacity["pods"], found.allocatable["pods"]) == (pods, pods)


@pytest.mark.parametrize(
    ("count", "milli"),
    [(1, 940), (2, 1930), (3, 2925), (4, 3920), (5, 4917), (8, 7910), (192, 191450)],
)
def test_each_core_keeps_its_share(count: int, milli: int) -> None:
    """6 %, 1 %, 0.5 %, 0.5 %, then 0.25 %; the fifth core makes 82.5 milli-cores 83."""
    found = amounts(cores(count))

    assert (found.capacity["cpu"], found.allocatable["cpu"]) == (count * 1000, milli)


@pytest.mark.parametrize(
    ("configured", "family", "kept_mib"),
    [
        pytest.param(DEFAULTS, "AL2", 255 + 11 * 58 + 100, id="pods and eviction"),
        pytest.param(kubelet(maxPods=10), "AL2", 255 + 11 * 58 + 100, id="by addresses"),
        pytest.param(kubelet(maxPods=10), "AL2023", 255 + 11 * 10 + 100, id="AL2023: by maxPods"),
        pytest.param(
            kubelet(maxPods=10), "Bottlerocket", 255 + 11 * 10 + 100, id="Bottlerocket: too"
        ),
        pytest.param(DEFAULTS, "Windows2019", 255 + 11 * 110 + 100, id="Windows: 110"),
        pytest.param(kubelet(kubeReserved={"memory": "1Gi"}), "AL2", 1024 + 100, id="kubeReserved"),
        pytest.param(
            kubelet(systemReserved={"memory": "1Gi"}), "AL2", 255 + 638 + 1024 + 100, id="system"
        ),
        pytest.param(
            kubelet(kubeReserved={"memory": "lots"}), "AL2", 255 + 638 + 100, id="unreadable"
        ),
        pytest.param(
            kubelet(systemReserved={"memory": "-1Gi"}), "AL2", 255 + 638 + 100, id="negative"
        ),
        pytest.param(kubelet(kubeReserved={"pid": "1000"}), "AL2", 993, id="no pids on offer"),
        pytest.param(kubelet(kubeReserved={"memory": "1Ei"}), "AL2", SEEN_MIB, id="more than all"),
    ],
)
def test_memory_left_for_pods(configured: KubeletConfiguration, family: str, kept_mib: int) -> None:
    found = amounts(PLAIN, configured, ami_family=family)

    assert found.allocatable["memory"] == (SEEN_MIB - kept_mib) * MIB
    assert found.allocatable.keys() == found.capacity.keys()


@pytest.mark.parametrize(
    ("configured", "family", "memory_bytes"),
    [
        pytest.param({}, "AL2", 100 * MIB, id="default"),
        pytest.param({"hard": "200Mi"}, "AL2", 200 * MIB, id="hard"),
        pytest.param({"soft": "300Mi"}, "AL2", 300 * MIB, id="soft alone"),
        pytest.param({"hard": "400Mi", "soft": "300Mi"}, "AL2", 400 * MIB, id="the larger: hard"),
        pytest.param({"hard": "200Mi", "soft": "300Mi"}, "AL2", 300 * MIB, id="the larger: soft"),
        pytest.param({"hard": "50Mi"}, "AL2", 50 * MIB, id="below the default"),
        pytest.param({"soft": "300Mi"}, "Bottlerocket", 100 * MIB, id="no soft on Bottlerocket"),
        pytest.param({"hard": "5%"}, "AL2", 794558464, id="of capacity, 794558464.0 bytes"),
        pytest.param({"hard": "0.3%"}, "AL2", 47673508, id="47673507.84, rounded up"),
        pytest.param({"hard": "100%"}, "AL2", 0, id="100 % is off"),
        pytest.param({"hard": "0%"}, "AL2", 0, id="0 % keeps nothing"),
        pytest.param({"hard": "100%", "soft": "300Mi"}, "AL2", 300 * MIB, id="off, and soft"),
        pytest.param({"hard": "101%"}, "AL2", 100 * MIB, id="above 100 %"),
        pytest.param({"hard": "-5%"}, "AL2", 100 * MIB, id="below 0 %"),
        pytest.param({"hard": "5m%"}, "AL2", 100 * MIB, id="no percentage"),
        pytest.param({"hard": "%"}, "AL2", 100 * MIB, id="no number"),
        pytest.param({"hard": ""}, "AL2", 100 * MIB, id="nothing"),
        pytest.param({"hard": "-1Gi"}, "AL2", 100 * MIB, id="a negative quantity"),
        pytest.param({"hard": "some"}, "AL2", 100 * MIB, id="no quantity"),
        pytest.param({"hard": "some", "soft": "300Mi"}, "AL2", 300 * MIB, id="one is readable"),
    ],
)
def test_eviction(configured: dict[str, str], family: str, memory_bytes: int) -> None:
    fields: dict[str, object] = {
        f"eviction{when.title()}": {"memory.available": text} for when, text in configured.items()
    }
    found = amounts(PLAIN, kubelet(**fields), ami_family=family)

    assert found.capacity["memory"] == SEEN_MIB * MIB
    assert found.allocatable["memory"] == (SEEN_MIB - 893) * MIB - memory_bytes


@pytest.mark.parametrize(
    ("configured", "left"),
    [
        pytest.param(DEFAULTS, 17 * GIB, id="a gibibyte and a tenth"),
        pytest.param(kubelet(evictionHard={"nodefs.available": "15%"}), 16 * GIB, id="eviction"),
        pytest.param(kubelet(evictionHard={"imagefs.available": "15%"}), 17 * GIB, id="not images"),
        pytest.param(kubelet(kubeReserved={"ephemeral-storage": "3Gi"}), 15 * GIB, id="kube"),
        pytest.param(kubelet(systemReserved={"ephemeral-storage": "3Gi"}), 14 * GIB, id="system"),
    ],
)
def test_disk(configured: KubeletConfiguration, left: int) -> None:
    found = amounts(PLAIN, configured)

    assert found.capacity["ephemeral-storage"] == 20 * GIB
    assert found.allocatable["ephemeral-storage"] == left


def test_cpu_that_a_person_reserves_counts_in_place_of_ours() -> None:
    found = amounts(PLAIN, kubelet(kubeReserved={"cpu": "1"}, systemReserved={"cpu": "250m"}))

    assert found.allocatable["cpu"] == 4000 - 1000 - 250


def test_devices_are_all_for_pods() -> None:
    found = amounts(GPUS)

    assert found.capacity["nvidia.com/gpu"] == found.allocatable["nvidia.com/gpu"] == 4


def test_every_family_that_may_be_written_is_known() -> None:
    assert set(AMI_FAMILIES) == set(node_template.AMI_FAMILIES)


TEXTS = st.one_of(
    st.text(max_size=6),
    st.from_regex(r"\A[+-]?[0-9]{1,20}(\.[0-9])?(e[0-9]{1,3}|[mkMGE]i?)?%?\Z"),
)
NUMBERS = st.one_of(st.none(), st.integers(-5, 5), st.integers())


@given(
    max_pods=NUMBERS,
    pods_per_core=NUMBERS,
    reserved=st.dictionaries(st.sampled_from(["cpu", "memory", "ephemeral-storage", "x"]), TEXTS),
    eviction=st.dictionaries(st.sampled_from(["memory.available", "nodefs.available"]), TEXTS),
    settings=st.builds(
        AWSSettings,
        vm_memory_overhead_percent=st.floats(),
        enable_eni_limited_pod_density=st.booleans(),
        reserved_enis=st.integers(),
    ),
    family=st.sampled_from([*AMI_FAMILIES, "?"]),
)
def test_whatever_is_written_something_between_nothing_and_everything_is_left(
    *,
    max_pods: int | None,
    pods_per_core: int | None,
    reserved: dict[str, str],
    eviction: dict[str, str],
    settings: AWSSettings,
    family: str,
) -> None:
    configured = KubeletConfiguration(
        max_pods=max_pods,
        pods_per_core=pods_per_core,
        kube_reserved={**reserved},
        system_reserved={**reserved},
        eviction_hard=eviction,
        eviction_soft=eviction,
    )
    found = amounts(ARM, configured, settings, ami_family=family)

    assert all(0 <= found.allocatable[name] <= most for name, most in found.capacity.items())
