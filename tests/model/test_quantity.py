"""Quantities: a table of notations, and the official client as a stranger who must agree."""

from decimal import ROUND_UP, Context, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from unmoor.model import quantity

NANO = 10**9

NOTATIONS = {
    "0": 0,
    "-0": 0,
    "00": 0,
    "1": NANO,
    "+1": NANO,
    "-1": -NANO,
    "007": 7 * NANO,
    "1.5": 1_500_000_000,
    ".5": 500_000_000,
    "-.5": -500_000_000,
    "5.": 5 * NANO,
    "1.50": 1_500_000_000,
    "1n": 1,
    "1u": 1_000,
    "1m": 1_000_000,
    "100m": 100_000_000,
    "1500m": 1_500_000_000,
    "0.5m": 500_000,
    "1k": 10**3 * NANO,
    "1M": 10**6 * NANO,
    "1G": 10**9 * NANO,
    "1T": 10**12 * NANO,
    "1P": 10**15 * NANO,
    "1E": 10**18 * NANO,
    "9E": 9 * 10**18 * NANO,
    "1Ki": 2**10 * NANO,
    "1Mi": 2**20 * NANO,
    "1Gi": 2**30 * NANO,
    "1Ti": 2**40 * NANO,
    "1Pi": 2**50 * NANO,
    "1Ei": 2**60 * NANO,
    "1.5Gi": 3 * 2**29 * NANO,
    "-2Gi": -(2**31) * NANO,
    ".25Ki": 256 * NANO,
    "1e3": 1000 * NANO,
    "1E3": 1000 * NANO,
    "1e+3": 1000 * NANO,
    "1E-3": 1_000_000,
    "1.5e1": 15 * NANO,
    "12e0": 12 * NANO,
    "0e999999999999": 0,
    "4611686018427387904m": 4611686018427387904 * 10**6,
}

ROUNDED_UP = {
    "0.1n": 1,
    "-0.1n": -1,
    "1.1n": 2,
    "1.0000000001": NANO + 1,
    "1e-12": 1,
    "1e-999999999999": 1,
    "-1e-99999": -1,
    "0.0000000001Ki": 103,
}

CAPPED = ["10E", "8Ei", "1e19", "1e30", "1e999999999999", "9" * 200, "9223372036854775808"]

REFUSED = [
    "",
    " ",
    "1GB",
    "1gi",
    "1ki",
    "1K",
    "1mi",
    "1i",
    "1e",
    "1e3.5",
    "1e3k",
    "1.1.1",
    ".",
    "-",
    "+-1",
    "--1",
    "1 Gi",
    "0x10",
    "1_000",
    "1,5",
    "inf",
    "nan",
    "Infinity",
    "٣",
    "1\n2",
    "cpu",
]


@pytest.mark.parametrize(("text", "nano"), NOTATIONS.items(), ids=NOTATIONS)
def test_every_legal_notation_is_read_exactly(text: str, nano: int) -> None:
    assert quantity.parse(text) == nano


@pytest.mark.parametrize(("text", "nano"), ROUNDED_UP.items(), ids=ROUNDED_UP)
def test_below_a_nano_unit_is_rounded_away_from_zero(text: str, nano: int) -> None:
    assert quantity.parse(text) == nano


@pytest.mark.parametrize("text", CAPPED, ids=lambda text: text[:12])
def test_what_exceeds_64_bits_is_capped_and_an_absurd_exponent_costs_nothing(text: str) -> None:
    """N19: "1e30" is neither a crash nor a small number."""
    assert quantity.parse(text) == quantity.QUANTITY_LIMIT
    assert quantity.parse("-" + text) == -quantity.QUANTITY_LIMIT


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_what_is_no_quantity_is_refused_by_name(text: str) -> None:
    with pytest.raises(quantity.QuantityError) as refused:
        quantity.parse(text)

    assert refused.value.value == text
    assert repr(text) in str(refused.value)
    assert not quantity.is_quantity(text)


def test_an_endless_text_is_refused_before_it_costs_time() -> None:
    with pytest.raises(quantity.QuantityError, match="longer than 256 characters"):
        quantity.parse("1" * 100_000)


@pytest.mark.parametrize(
    ("value", "nano"),
    [
        (3, 3 * NANO),
        (-2, -2 * NANO),
        (0.1, 10**8),
        (1e22, quantity.QUANTITY_LIMIT),
        (2.5e-4, 250_000),
    ],
)
def test_bare_numbers_are_taken_as_json_writes_them(value: float, nano: int) -> None:
    assert quantity.parse(value) == nano


@pytest.mark.parametrize("value", [True, False, float("inf"), float("nan")], ids=str)
def test_a_bare_value_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(quantity.QuantityError):
        quantity.parse(value)


@pytest.mark.parametrize(
    ("text", "milli", "whole"),
    [
        ("1", 1000, 1),
        ("1n", 1, 1),
        ("1500m", 1500, 2),
        ("1.0001", 1001, 2),
        ("-1.0001", -1001, -2),
        ("0", 0, 0),
        ("100m", 100, 1),
        ("-100m", -100, -1),
    ],
)
def test_thousandths_and_units_are_rounded_away_from_zero(
    text: str, milli: int, whole: int
) -> None:
    nano = quantity.parse(text)

    assert quantity.milli(nano) == milli
    assert quantity.whole(nano) == whole


@pytest.mark.parametrize(
    ("text", "decimal", "binary"),
    [
        ("0", "0", "0"),
        ("1500m", "1500m", "1500m"),
        ("2000m", "2", "2"),
        ("1000", "1k", "1000"),
        ("1024", "1024", "1Ki"),
        ("1.5Gi", "1610612736", "1536Mi"),
        ("-2Gi", "-2147483648", "-2Gi"),
        ("1n", "1n", "1n"),
        ("3000000", "3M", "3000000"),
    ],
)
def test_printing_takes_the_largest_suffix_without_a_fraction(
    text: str, decimal: str, binary: str
) -> None:
    nano = quantity.parse(text)

    assert quantity.format_decimal(nano) == decimal
    assert quantity.format_binary(nano) == binary


nanos = st.integers(-quantity.QUANTITY_LIMIT, quantity.QUANTITY_LIMIT)


@given(nanos)
def test_what_is_printed_is_read_back_unchanged(nano: int) -> None:
    assert quantity.parse(quantity.format_decimal(nano)) == nano
    assert quantity.parse(quantity.format_binary(nano)) == nano


notations = st.builds(
    lambda sign, whole, part, suffix: f"{sign}{whole}{part}{suffix}",
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**7).map(str),
    st.sampled_from(["", ".", ".5", ".25", ".000001", ".123456789012"]),
    st.sampled_from(
        [*"numkMGT", "", "Ki", "Mi", "Gi", "Ti", "e3", "E3", "e-3", "e+2", "E-12", "e0"]
    ),
)


@given(notations)
def test_the_official_client_reads_the_same(text: str) -> None:
    with localcontext(prec=100):
        exact: Decimal = parse_quantity(text) * NANO  # type: ignore[no-untyped-call]
        rounded = int(exact.to_integral_value(ROUND_UP))
    limit = quantity.QUANTITY_LIMIT  # the client has none

    assert quantity.parse(text) == max(-limit, min(rounded, limit))


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9))
def test_every_decimal_python_prints_is_read(number: Decimal) -> None:
    exact = int((number * NANO).to_integral_value(ROUND_UP, Context(prec=2000)))

    text = str(number)
    if len(text) <= quantity.TEXT_LIMIT_CHARS:
        assert quantity.parse(text) == exact


@given(st.text(alphabet="0123456789.+-eEinumkKMGTP ", max_size=12))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    if quantity.is_quantity(text):
        assert abs(quantity.parse(text)) <= quantity.QUANTITY_LIMIT
    else:
        with pytest.raises(quantity.QuantityError, match="is not a quantity"):
            quantity.parse(text)
