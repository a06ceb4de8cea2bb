"""A price book: what a type costs under it, and what it does not know."""

import msgspec
import pytest

from unmoor.model import prices
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.prices import PriceBook, PriceError


def shape(name: str, **own: float | None) -> InstanceType:
    """``a_spot=0.1``: zone a, spot."""
    words = {key.partition("_")[::2]: price for key, price in own.items()}
    return InstanceType(
        name=name,
        arch="amd64",
        capacity={"cpu": 1},
        allocatable={"cpu": 1},
        offerings=tuple(
            Offering(zone=zone, capacity_type=kind.replace("_", "-"), price_usd_per_h=price)
            for (zone, kind), price in words.items()
        ),
        labels={"team": "shop"},
    )


SMALL = shape("small", a_on_demand=0.1, b_on_demand=0.1, b_spot=0.04)
LARGE = shape("large", a_on_demand=0.8, a_spot=None)
LISTED = {
    ("small", "*", "on-demand"): 0.5,
    ("small", "b", "on-demand"): 0.6,
    ("large", "a", "spot"): 0.3,
}


def priced(book: PriceBook, *types: InstanceType) -> list[float | None]:
    return [sold.price_usd_per_h for one in book.applied(types) for sold in one.offerings]


@pytest.mark.parametrize(
    ("book", "expected"),
    [
        pytest.param(prices.own("own"), [0.1, 0.1, 0.04, 0.8, None], id="their own"),
        pytest.param(
            PriceBook(name="file", listed=LISTED),
            [0.5, 0.6, None, None, 0.3],
            id="what is not listed is unknown",
        ),
        pytest.param(
            PriceBook(name="file", listed=LISTED, rest=0.5),
            [0.5, 0.6, 0.02, 0.4, 0.3],
            id="what is not listed has its own",
        ),
        pytest.param(
            prices.adjusted("own", "+100%"), [0.2, 0.2, 0.08, 1.6, None], id="unknown stays unknown"
        ),
        pytest.param(PriceBook(name="empty"), [None] * 5, id="knows nothing"),
    ],
)
def test_what_offerings_cost(book: PriceBook, expected: list[float | None]) -> None:
    assert priced(book, SMALL, LARGE) == expected


def test_nothing_else_changes() -> None:
    (changed,) = PriceBook(name="empty").applied([SMALL])
    (restored,) = PriceBook(
        name="same",
        listed={("small", "*", "on-demand"): 0.1, ("small", "*", "spot"): 0.04},
    ).applied([changed])

    assert changed.offerings != SMALL.offerings
    assert (changed.price_book, restored.price_book) == ("empty", "same")
    assert msgspec.structs.replace(restored, price_book=SMALL.price_book) == SMALL


@pytest.mark.parametrize(
    ("text", "share", "name"),
    [
        ("+10%", 1.1, "catalogue +10 %"),
        ("-25%", 0.75, "catalogue -25 %"),
        (" -2.5 % ", 0.975, "catalogue -2.5 %"),
        ("+0%", 1.0, "catalogue +0 %"),
        ("-99%", 0.01, "catalogue -99 %"),
        ("+1000%", 11.0, "catalogue +1000 %"),
    ],
)
def test_a_percentage(text: str, share: float, name: str) -> None:
    assert prices.is_percentage(text)
    assert prices.adjusted("catalogue", text) == PriceBook(name=name, rest=share)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("10%", "'10%' is no percentage; write it with a sign, as in +10% or -25%"),
        ("+%", "'+%' is no percentage"),
        ("+nan%", "'+nan%' is no percentage"),
        ("+1e3%", "'+1e3%' is no percentage"),
        ("-100%", "'-100%' leaves no price that can be compared; use -99% to +1000%"),
        ("+1000.1%", "'+1000.1%' leaves no price"),
        ("+" + "9" * 300 + "%", "(302 characters)' is no percentage"),
    ],
)
def test_what_is_no_percentage(text: str, words: str) -> None:
    with pytest.raises(PriceError) as caught:
        prices.adjusted("catalogue", text)

    assert words in str(caught.value)


def test_what_prices_nothing_is_told() -> None:
    listed = {
        **LISTED,
        ("smal", "a", "spot"): 1.0,
        ("small", "z", "spot"): 1.0,
        ("large", "*", "reserved"): 1.0,
    }

    assert PriceBook(name="file", listed=listed).idle([SMALL, LARGE]) == (
        "large * reserved",
        "smal a spot",
        "small z spot",
    )
