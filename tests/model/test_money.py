"""How amounts of money are said."""

import pytest

from unmoor.model import money


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (0.0, "0"),
        (3.0, "3"),
        (0.192, "0.192"),
        (0.2592, "0.2592"),
        (0.00156, "0.00156"),
        (0.045764, "0.04576"),
        (0.1 + 0.2, "0.3"),
        (12.34567, "12.3457"),
        (1e-6, "0.000001"),
        (1e-12, "0.000000000001"),
        (100_000.0, "100000"),
        (0.99999, "1"),
    ],
)
def test_an_amount(amount: float, said: str) -> None:
    assert money.usd(amount) == said
    assert money.rounded_usd(amount) == float(said)


@pytest.mark.parametrize(
    ("price", "book", "said"),
    [
        (0.192, "", "0.192 USD/h"),
        (0.192, "mine.json", "0.192 USD/h (mine.json)"),
        (None, "", "price unknown"),
        (None, "mine.json", "price unknown (mine.json)"),
    ],
)
def test_a_price_and_whose_it_is(price: float | None, book: str, said: str) -> None:
    assert money.usd_per_h(price, book) == said
