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


@pytest.mark.parametrize(
    ("name", "amount", "least", "most"),
    [
        ("cpu", 382_970, "382.97", "382.97"),
        ("cpu", 1_500, "1.5", "1.5"),
        ("cpu", 2_000, "2", "2"),
        ("cpu", 999, "999m", "999m"),
        ("cpu", -1_500, "-1500m", "-1500m"),
        ("memory", 1536 * 2**20, "1536Mi", "1536Mi"),
        ("memory", 15155 * 2**20, "14.79Gi", "14.8Gi"),
        ("memory", 2_892_789 * 2**20, "2.75Ti", "2.76Ti"),
        ("memory", 250 * 10**9, "232.83Gi", "232.84Gi"),
        ("memory", 2**40 + 1, "1Ti", "1.01Ti"),
        ("memory", 1_000, "1000", "1000"),
        ("memory", -15155 * 2**20, "-15155Mi", "-15155Mi"),
        ("hugepages-2Mi", 100_002 * 2**20, "97.65Gi", "97.66Gi"),
        ("nvidia.com/gpu", 123_456, "123456", "123456"),
    ],
)
def test_in_a_sentence_an_amount_has_few_digits_and_never_sounds_as_if_it_fitted(
    name: str, amount: int, least: str, most: str
) -> None:
    assert resources.said(name, amount) == least
    assert resources.said(name, amount, up=True) == most


@given(st.integers(0, resources.AMOUNT_LIMIT))
def test_what_is_said_is_on_the_right_side(amount: int) -> None:
    least, most = (resources.said("memory", amount, up=up) for up in (False, True))

    assert resources.parse_amount("memory", least) <= amount + 1
    assert resources.parse_amount("memory", most) >= amount


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
