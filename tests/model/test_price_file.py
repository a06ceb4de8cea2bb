"""Files of prices: both notations mean the same, and what is wrong in one is said."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmoor.model import price_file
from unmoor.model.price_file import BYTES_MAX, PRICE_LEAST_USD_PER_H, PRICE_MOST_USD_PER_H
from unmoor.model.prices import PriceError

Key = tuple[str, str, str]

JSON = """
{
  "m5.large": {
    "*": {"on-demand": 0.1},
    "us-east-1a": {"on-demand": 0.096, "spot": 3.5e-2}
  },
  "c6i.large": {"*": {"spot": 1}}
}
"""
CSV = """\
Type,zone,Capacity-Type,USD per hour
m5.large,*,on-demand,0.1

m5.large, us-east-1a ,on-demand,.096
"m5.large",us-east-1a,spot,3.5E-2
c6i.large,*,spot,1
"""
SAME = {
    ("m5.large", "*", "on-demand"): 0.1,
    ("m5.large", "us-east-1a", "on-demand"): 0.096,
    ("m5.large", "us-east-1a", "spot"): 0.035,
    ("c6i.large", "*", "spot"): 1.0,
}


@pytest.mark.parametrize(
    ("file", "data"),
    [
        pytest.param("prices.json", JSON.encode(), id="json"),
        pytest.param("prices.csv", CSV.encode(), id="csv"),
        pytest.param("prices.CSV", CSV.replace("\n", "\r\n").encode(), id="csv, with CR"),
        pytest.param("prices.json", b"\xef\xbb\xbf" + JSON.encode(), id="json, with a mark"),
        pytest.param("prices.csv", b"\xef\xbb\xbf" + CSV.encode(), id="csv, with a mark"),
    ],
)
def test_what_a_file_says(file: str, data: bytes) -> None:
    book = price_file.read(file, data)

    assert (book.name, book.listed, book.rest) == (file, SAME, None)


def test_columns_come_in_any_order() -> None:
    text = "usd_per_hour,type,capacity type,zone\n0.1,m5.large,spot,a\n"

    assert price_file.read("p.csv", text.encode()).listed == {("m5.large", "a", "spot"): 0.1}


def test_the_rest_may_keep_its_own() -> None:
    assert price_file.read("p.json", JSON.encode(), rest=1.0).rest == 1.0


def one(value: str) -> str:
    return f'{{"m5.large": {{"a": {{"spot": {value}}}}}}}'


HERE = "p.json: m5.large/a/spot"
SHAPE = price_file.JSON_SHAPE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(one("-1"), f"{HERE} is '-1.0': it is negative", id="negative"),
        pytest.param(one("0"), f"{HERE} is '0.0': nothing is free to run; write its", id="zero"),
        pytest.param(one("-0.0"), "nothing is free", id="zero with a sign"),
        pytest.param(one("1e-9"), "at least 0.000001, or leave it out", id="next to zero"),
        pytest.param(one("NaN"), f"{HERE} is 'nan': it is no price", id="nan"),
        pytest.param(one("-Infinity"), f"{HERE} is '-inf': it is no price", id="infinite"),
        pytest.param(one("1e999"), "it is no price; leave it out", id="too large for a float"),
        pytest.param(one("9" * 5000), "is 'inf': it is no price", id="endless digits"),
        pytest.param(one("1e6"), "it is above 100,000 USD per hour; write USD per", id="dear"),
        pytest.param(one('"0.1"'), f"{HERE} is '0.1': it is no number", id="text"),
        pytest.param(one("true"), f"{HERE} is 'True': it is no number", id="a truth"),
        pytest.param(one("null"), f"{HERE} is 'None': it is no number", id="null"),
        pytest.param(one("[1]"), f"{HERE} is '...': it is no number", id="a list"),
        pytest.param(one("{}"), f"{HERE} is '...': it is no number", id="an object"),
        pytest.param("{}", "p.json: the file: it holds no price", id="empty"),
        pytest.param('{"m5.large": {}}', "it holds no price", id="a type without prices"),
        pytest.param("[]", f"the whole is '...': it is no JSON object; {SHAPE}", id="a list"),
        pytest.param("3", "the whole is '3.0': it is no JSON object", id="a number"),
        pytest.param('{"m5.large": 0.1}', "m5.large is '0.1': it is no JSON object", id="flat"),
        pytest.param('{"m5.large": {"a": 1}}', "m5.large/a is '1.0': it is no", id="flatter"),
        pytest.param('{"m5.large": ', "line 1, column 14: this is no JSON", id="cut off"),
        pytest.param("", "line 1, column 1: this is no JSON", id="nothing"),
        pytest.param("[" * 100_000, "it is nested too deeply", id="deep"),
        pytest.param(
            '{"m5.large": {"a": {"spot": 1}}, "m5.large": {"a": {"on-demand": 1}}}',
            "p.json: m5.large: it stands there twice; remove one of them",
            id="a type twice",
        ),
        pytest.param(
            '{"m5.large": {"a": {"spot": 1}, "a": {}}}', "m5.large/a: it stands", id="a zone twice"
        ),
        pytest.param(
            '{"m5.large": {"a": {"spot": 1, "spot": 1}}}', "m5.large/a/spot: it", id="twice"
        ),
        pytest.param('{"": {"a": {"spot": 1}}}', "/a/spot, type: it is empty", id="no type"),
        pytest.param(
            '{"m5 large": {"a": {"spot": 1}}}', "type is 'm5 large': a label value", id="no label"
        ),
        pytest.param(
            '{"m5.large": {"": {"spot": 1}}}',
            'm5.large//spot, zone: it is empty; write the zone as a node\'s label has it, or "*"',
            id="no zone",
        ),
        pytest.param(
            '{"*": {"a": {"spot": 1}}}', "*/a/spot, type is '*'", id="no price for every type"
        ),
        pytest.param(
            '{"m5.large": {"a": {"Spot": 1}}}',
            "m5.large/a/Spot, capacity type is 'Spot': it is no capacity type; use on-demand or",
            id="no capacity type",
        ),
    ],
)
def test_bad_json(text: str, words: str) -> None:
    with pytest.raises(PriceError) as caught:
        price_file.read("p.json", text.encode())

    assert words in str(caught.value)
    assert len(str(caught.value)) < 1000


HEAD = "type,zone,capacity type,USD per hour\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            HEAD + "m5.large,a,spot,-1", "p.csv: row 2 is '-1.0': it is neg", id="negative"
        ),
        pytest.param(HEAD + "m5.large,a,spot,0", "row 2 is '0.0': nothing is free", id="zero"),
        pytest.param(HEAD + "m5.large,a,spot,nan", "row 2 is 'nan': it is no number", id="nan"),
        pytest.param(HEAD + "m5.large,a,spot,inf", "is 'inf': it is no number", id="infinite"),
        pytest.param(HEAD + "m5.large,a,spot,1e999", "is 'inf': it is no price", id="too large"),
        pytest.param(HEAD + "m5.large,a,spot,$1", "is '$1': it is no number", id="a currency"),
        pytest.param(HEAD + "m5.large,a,spot,1_0", "is '1_0': it is no number", id="grouped"),
        pytest.param(HEAD + "m5.large,a,spot,\u0661", "is '\u0661': it is no number", id="digits"),
        pytest.param(HEAD + "m5.large,a,spot,", "row 2: it is no number", id="no price"),
        pytest.param(HEAD + "m5.large,a,spot", "row 2 is 'm5.large,a,spot': it has 3", id="short"),
        pytest.param(
            HEAD + "m5.large,a,spot,0,1", "it has 5 cells, not 4; separate cells by", id="long"
        ),
        pytest.param(
            HEAD + "\nm5.large,a,spot,1\nm5.large,a,spot,1",
            "row 4 is 'm5.large a spot': this price stands in row 3 already; remove one",
            id="twice",
        ),
        pytest.param(HEAD + "m5.large,,spot,1", "row 2, zone: it is empty", id="no zone"),
        pytest.param(HEAD + "m5.large,a,od,1", "row 2, capacity type is 'od'", id="capacity type"),
        pytest.param(HEAD, "p.csv: the file: it holds no price", id="only the first line"),
        pytest.param("", "it holds no price; name at least one", id="nothing"),
        pytest.param("m5.large,a,spot,1", "row 1 is 'm5.large,a,spot,1': these are not", id="head"),
        pytest.param("type,zone,type,zone", "these are not the four columns", id="columns twice"),
        pytest.param(
            "type;zone;capacity type;USD per hour",
            "begin with the line type,zone,capacity type,USD per hour",
            id="other separators",
        ),
        pytest.param(HEAD + '"m5.large,a,spot,1', "row 2: this is no CSV", id="open quotes"),
        pytest.param(HEAD + "x" * 200_000, "row 2: this is no CSV", id="a huge cell"),
        pytest.param(HEAD + "\0,a,spot,1", "row 2, type is", id="a zero byte"),
    ],
)
def test_bad_csv(text: str, words: str) -> None:
    with pytest.raises(PriceError) as caught:
        price_file.read("p.csv", text.encode())

    assert words in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("file", "data", "words"),
    [
        pytest.param("p.json", b"{\xff}", "p.json: byte 1: this is no UTF-8", id="encoding"),
        pytest.param("prices", b"{}", "prices: the file: its name does not say what", id="name"),
        pytest.param("p.json", b" " * (BYTES_MAX + 1), "it has more than 16,777,216", id="size"),
    ],
)
def test_bad_files(file: str, data: bytes, words: str) -> None:
    with pytest.raises(PriceError) as caught:
        price_file.read(file, data)

    assert words in str(caught.value)


def test_too_many_prices() -> None:
    rows = (f"t{index},*,spot,1" for index in range(price_file.PRICES_MAX + 1))
    text = HEAD + "\n".join(rows)

    with pytest.raises(PriceError, match="row 100002: it has more than 100,000 prices; leave out"):
        price_file.read("p.csv", text.encode())


NAMES = st.from_regex(r"\A[a-z0-9]([a-z0-9.-]{0,8}[a-z0-9])?\Z")
BOOKS = st.dictionaries(
    st.tuples(NAMES, NAMES | st.just("*"), st.sampled_from(["spot", "on-demand"])),
    st.floats(PRICE_LEAST_USD_PER_H, PRICE_MOST_USD_PER_H),
    min_size=1,
    max_size=12,
)


@given(BOOKS)
def test_both_notations_of_a_book_are_equal(listed: dict[Key, float]) -> None:
    tree: dict[str, dict[str, dict[str, float]]] = {}
    cells = io.StringIO()
    writer = csv.writer(cells)
    writer.writerow(price_file.COLUMNS)
    for (instance_type, zone, capacity_type), price in listed.items():
        tree.setdefault(instance_type, {}).setdefault(zone, {})[capacity_type] = price
        writer.writerow((instance_type, zone, capacity_type, price))
    from_json = price_file.read("p.json", json.dumps(tree).encode())
    from_csv = price_file.read("p.csv", cells.getvalue().encode())

    assert from_json.listed == from_csv.listed == listed


@given(st.sampled_from(["p.json", "p.csv"]), st.binary(max_size=60) | st.text().map(str.encode))
def test_any_bytes_are_a_book_or_a_price_error(file: str, data: bytes) -> None:
    assert said_of(file, data).startswith((f"{file}: ", "prices: "))


def said_of(file: str, data: bytes) -> str:
    try:
        return f"prices: {len(price_file.read(file, data).listed)}"
    except PriceError as error:
        return str(error)
