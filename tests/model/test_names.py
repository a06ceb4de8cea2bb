"""Names: what is valid, what is kept for the system, what was probably meant."""

import pytest

from unmoor.model import names


@pytest.mark.parametrize(
    "key",
    ["a", "A1", "a-b_c.d", "example.com/a", "a.b.c/D", "x" * 63, f"{'a' * 63}.example/x"],
)
def test_qualified_names(key: str) -> None:
    assert names.qualified_name_problem(key) == ""


@pytest.mark.parametrize(
    "key",
    [
        "",
        "-a",
        "a-",
        "a b",
        "/a",
        "a/",
        "A.com/a",
        "a/b/c",
        "a_b/c",
        "x" * 64,
        f"{'a' * 254}/x",
        "ä",
        "a\n",
    ],
)
def test_what_is_no_qualified_name(key: str) -> None:
    assert names.qualified_name_problem(key)


@pytest.mark.parametrize("value", ["", "a", "A-1_2.3", "x" * 63])
def test_label_values(value: str) -> None:
    assert names.label_value_problem(value) == ""


@pytest.mark.parametrize("value", ["-a", "a-", "a b", "a/b", "x" * 64, "a\n"])
def test_what_is_no_label_value(value: str) -> None:
    assert names.label_value_problem(value)


@pytest.mark.parametrize(
    ("key", "is_restricted"),
    [
        ("team", False),
        ("example.com/team", False),
        ("kubernetes.io/team", True),
        ("sub.kubernetes.io/team", True),
        ("notkubernetes.io/team", False),
        ("k8s.io/team", True),
        ("karpenter.sh/team", True),
        ("karpenter.k8s.aws/team", True),
        ("kops.k8s.io/instancegroup", False),
        ("sub.kops.k8s.io/x", True),
        ("node.kubernetes.io/team", False),
        ("sub.node.kubernetes.io/team", True),
        ("node-restriction.kubernetes.io/team", False),
        (names.ZONE, False),
        (names.CAPACITY_TYPE, False),
        (names.INSTANCE_CATEGORY, False),
        (names.HOSTNAME, True),
        (names.EMPTINESS_TIMESTAMP, True),
    ],
)
def test_labels_kept_for_the_system(key: str, *, is_restricted: bool) -> None:
    """Spec 1.6: domains by suffix, exceptions by equality, well-known labels always allowed."""
    assert bool(names.restricted_label_problem(key)) is is_restricted


def test_older_names_of_labels() -> None:
    assert names.normalised("beta.kubernetes.io/arch") == names.ARCH
    assert names.normalised("topology.ebs.csi.aws.com/zone") == names.ZONE
    assert names.normalised("team") == "team"
    assert set(names.LABEL_ALIASES.values()) <= names.WELL_KNOWN_LABELS


@pytest.mark.parametrize(
    ("key", "is_restricted"),
    [
        ("kubernetes.io/cluster/prod", True),
        ("kubernetesxio/cluster/prod", False),
        ("kubernetes.io/clusters", False),
        ("kubernetes.io/cluster", False),
        (names.PROVISIONER_NAME, True),
        (names.KARPENTER_MANAGED_BY, True),
        ("karpenter.sh/managed-by/x", False),
        ("Name", False),
    ],
)
def test_tags_kept_for_the_system(key: str, *, is_restricted: bool) -> None:
    """T425, T426: parts of a restricted name are fine, and "." stands for itself."""
    assert names.is_restricted_tag(key) is is_restricted


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("topology.kubernetes.io/zon", names.ZONE),
        ("topology.kubernetesio/zone", names.ZONE),
        ("zone", names.ZONE),
        ("karpenter.sh/capacitytype", names.CAPACITY_TYPE),
        ("team", ""),
        ("", ""),
    ],
)
def test_what_was_probably_meant(written: str, meant: str) -> None:
    """T382: truncation, edit distance, unknown."""
    assert names.nearest(written, sorted(names.WELL_KNOWN_LABELS)) == meant


def test_what_is_no_name_at_all_is_not_compared() -> None:
    assert names.nearest("In" * 500_000, ["In", "NotIn"]) == ""
