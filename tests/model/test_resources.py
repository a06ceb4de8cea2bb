"""Sums of named amounts: units, room, and numbers that are too large to be true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmoor.model import quantity, resources
from unmoor.model.resources import AMOUNT_LIMIT

INT64_MAX = 2**63 - 1


def test_cpu_is_in_milli_cores_and_the_rest_in_whole_units() -> None:
    parsed = resources.parse_resources(
        {
            "cpu": "1.5",
            "memory": "1Gi",
            "pods": 110,
            "nvidia.com/gpu": "2",
            "ephemeral-storage": "1k",
        }
    )

    assert parsed == {
        "cpu": 1500,
        "memory": 2**30,
        "pods": 110,
        "nvidia.com/gpu": 2,
        "ephemeral-storage": 1000,
    }


def test_parts_of_a_unit_are_rounded_up_as_the_api_does() -> None:
    assert resources.parse_resources({"cpu": "1n", "memory": "100m"}) == {"cpu": 1, "memory": 1}


def test_a_bad_quantity_names_its_resource() -> None:
    with pytest.raises(quantity.QuantityError, match="'1GB' is not a quantity: resource memory"):
        resources.parse_resources({"cpu": "1", "memory": "1GB"})


def test_sums_and_differences_keep_what_only_one_side_names() -> None:
    one, other = {"cpu": 100, "memory": 5}, {"cpu": 200, "pods": 1}

    assert resources.add(one, other) == {"cpu": 300, "memory": 5, "pods": 1}
    assert resources.subtract(one, other) == {"cpu": -100, "memory": 5, "pods": -1}
    assert resources.largest(one, other) == {"cpu": 200, "memory": 5, "pods": 1}
    assert resources.add() == {}


@pytest.mark.parametrize(
    ("request_", "free", "short"),
    [
        ({}, {}, {}),
        ({"cpu": 100}, {"cpu": 100}, {}),
        ({"cpu": 101}, {"cpu": 100}, {"cpu": 1}),
        ({"gpu": 1}, {"cpu": 100}, {"gpu": 1}),
        ({"gpu": 0}, {"cpu": 100}, {}),
        ({"cpu": 1}, {"cpu": 100, "memory": -5}, {"memory": 5}),
        ({}, {"memory": -5}, {"memory": 5}),
    ],
    ids=[
        "nothing",
        "equal",
        "one short",
        "unknown",
        "zero fits",
        "overcommitted",
        "also for nothing",
    ],
)
def test_what_is_lacking(
    request_: dict[str, int], free: dict[str, int], short: dict[str, int]
) -> None:
    assert resources.lacking(request_, free) == short
    assert resources.fits(request_, free) is not bool(short)


@pytest.mark.parametrize("cpu", ["4611686018427387904m", "9223372036854775807", "1E", "1e30"])
def test_n22_a_request_beyond_64_bits_fits_nowhere(cpu: str) -> None:
    """N22: two of them must not wrap around to a negative number, which would fit."""
    one = resources.parse_resources({"cpu": cpu})
    both = resources.add(one, one)

    assert both["cpu"] == AMOUNT_LIMIT
    for free in ({"cpu": 4000}, both):
        assert not resources.fits(one, free)
        assert not resources.fits(both, free)


def test_the_limit_leaves_room_for_one_more_sum_in_64_bits() -> None:
    assert 2 * AMOUNT_LIMIT <= INT64_MAX
    assert -2 * AMOUNT_LIMIT >= -INT64_MAX - 1


def test_limits_may_be_reached_but_not_exceeded() -> None:
    """T371."""
    limits = {"cpu": 1000, "memory": 10}

    assert resources.exceeds({"cpu": 999}, limits) == ()
    assert resources.exceeds({"cpu": 1000, "pods": 7}, limits) == ()
    assert resources.exceeds({"memory": 11, "cpu": 1001}, limits) == ("cpu", "memory")
    assert resources.exceeds({"cpu": 1}, {}) == ()


def test_amounts_are_printed_as_people_write_them() -> None:
    amounts = {
        "pods": 1000,
        "cpu": 1500,
        "memory": 3 * 2**29,
        "hugepages-2Mi": 2**22,
        "nvidia.com/gpu": 2,
    }

    assert list(resources.render(amounts).items()) == [
        ("cpu", "1500m"),
        ("hugepages-2Mi", "4Mi"),
        ("memory", "1536Mi"),
        ("nvidia.com/gpu", "2"),
        ("pods", "1000"),
    ]
    assert resources.render({"cpu": 2000}) == {"cpu": "2"}


amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "gpu"]), st.integers(-AMOUNT_LIMIT, AMOUNT_LIMIT)
)


@given(amounts)
def test_what_is_printed_is_read_back_unchanged(some: dict[str, int]) -> None:
    assert resources.parse_resources(resources.render(some)) == some


@given(amounts, amounts)
def test_no_sum_leaves_the_limit(one: dict[str, int], other: dict[str, int]) -> None:
    for result in (resources.add(one, other), resources.subtract(one, other)):
        assert all(abs(amount) <= AMOUNT_LIMIT for amount in result.values())
    assert resources.add(one, other) == resources.add(other, one)
