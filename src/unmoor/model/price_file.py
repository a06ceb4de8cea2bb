"""What does a file of prices say? Two notations for the same list.

JSON: ``{type: {zone or "*": {capacity type: USD per hour}}}``. CSV: a row for each price, under a
line that names the columns type, zone, capacity type and USD per hour, in any order.

Everything is refused that would be a guess: a price that is twice there, one that is no number, and
zero. A free machine is always worth launching and never worth ending, so a slip would fill a
cluster with it; what costs nothing extra still has a share of a bill.

Must not: open the file, or know which types are on sale.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from math import isfinite

from unmoor.model import names
from unmoor.model.prices import ANY_ZONE, CAPACITY_TYPES, PriceBook, PriceError
from unmoor.model.validation import FieldError, cut

BYTES_MAX = 16 * 2**20
PRICES_MAX = 100_000
"""All of EC2 in one region are about 16,000."""
PRICE_LEAST_USD_PER_H = 1e-6
PRICE_MOST_USD_PER_H = 100_000.0
"""The dearest machine of EC2 costs less than a hundredth of it."""
COLUMNS = ("type", "zone", "capacity type", "usd per hour")
JSON_SHAPE = 'write {type: {zone or "*": {capacity type: USD per hour}}}'
FORMATS = (".json", ".csv")

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_SEPARATORS = re.compile(r"[\s_-]+")


class _Object(list[tuple[str, object]]):
    """A JSON object as it is written, so that a key that stands there twice is seen."""


_Entry = tuple[str, tuple[str, str, str], object]
"""Where a price stands, what it is the price of, and the price as it was written."""


def read(file: str, data: bytes, *, rest: float | None = None) -> PriceBook:
    """Return the book of a file, named like it; the ending of the name says the notation.

    ``rest``: as in PriceBook. Raises PriceError naming file, row or path, value and remedy.
    """
    if len(data) > BYTES_MAX:
        raise _error(
            file, "", "", f"it has more than {BYTES_MAX:,} bytes", "split it, or shorten it"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start}"
        raise _error(file, where, "", "this is no UTF-8", "save it as UTF-8") from None
    lowered = file.lower()
    if lowered.endswith(".json"):
        entries = _in_json(file, text)
    elif lowered.endswith(".csv"):
        entries = _in_csv(file, text)
    else:
        remedy = f"name it {' or '.join(FORMATS)}, as what it is"
        raise _error(file, "", "", "its name does not say what it is", remedy)
    return PriceBook(name=file, listed=_listed(file, entries), rest=rest)


def _listed(file: str, entries: Iterator[_Entry]) -> dict[tuple[str, str, str], float]:
    found: dict[tuple[str, str, str], float] = {}
    places: dict[tuple[str, str, str], str] = {}
    for where, key, value in entries:
        _check_names(file, where, key)
        if key in places:
            problem = f"this price stands in {places[key]} already"
            raise _error(file, where, " ".join(key), problem, "remove one of them")
        if len(found) >= PRICES_MAX:
            remedy = f'leave out what you do not use, or write "{ANY_ZONE}" for all zones'
            raise _error(file, where, "", f"it has more than {PRICES_MAX:,} prices", remedy)
        found[key] = _price(file, where, value)
        places[key] = where
    if not found:
        raise _error(file, "", "", "it holds no price", "name at least one")
    return found


def _check_names(file: str, where: str, key: tuple[str, str, str]) -> None:
    instance_type, zone, capacity_type = key
    for what, name in (("type", instance_type), ("zone", zone)):
        if what == "zone" and name == ANY_ZONE:
            continue
        problem = names.label_value_problem(name) if name else "it is empty"
        if problem:
            every = f', or "{ANY_ZONE}" for every zone' if what == "zone" else ""
            remedy = f"write the {what} as a node's label has it{every}"
            raise _error(file, f"{where}, {what}", name, problem, remedy)
    if capacity_type not in CAPACITY_TYPES:
        remedy = f"use {' or '.join(CAPACITY_TYPES)}"
        place = f"{where}, capacity type"
        raise _error(file, place, capacity_type, "it is no capacity type", remedy)


def _price(file: str, where: str, value: object) -> float:
    """A price in USD per hour, from what JSON or a cell of CSV holds."""
    if not isinstance(value, float):  # JSON has whole numbers as floats here, too
        problem, remedy = "it is no number", "write USD per hour as a number, as in 0.096"
    elif not isfinite(value):
        problem, remedy = "it is no price", "leave it out if nobody knows it"
    elif value < 0:
        problem, remedy = "it is negative", "write what an hour costs"
    elif value < PRICE_LEAST_USD_PER_H:
        problem = "nothing is free to run"
        remedy = f"write its share of the bill, at least {PRICE_LEAST_USD_PER_H:f}, or leave it out"
    elif value > PRICE_MOST_USD_PER_H:
        problem = f"it is above {PRICE_MOST_USD_PER_H:,.0f} USD per hour"
        remedy = "write USD per hour, not per month or year"
    else:
        return value
    raise _error(file, where, value, problem, remedy)


def _in_json(file: str, text: str) -> Iterator[_Entry]:
    for instance_type, of_type in _members(file, "", _parsed(file, text)):
        for zone, of_zone in _members(file, instance_type, of_type):
            where = f"{cut(instance_type)}/{cut(zone)}"
            for capacity_type, value in _members(file, where, of_zone):
                path = f"{where}/{cut(capacity_type)}"
                yield path, (instance_type, zone, capacity_type), value


def _parsed(file: str, text: str) -> object:
    """Numbers become floats at once: an endless row of digits is infinite, not a long sum."""
    try:
        parsed: object = json.loads(text, object_pairs_hook=_Object, parse_int=float)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _error(file, where, "", f"this is no JSON: {error.msg}", JSON_SHAPE) from None
    except RecursionError:
        raise _error(file, "", "", "it is nested too deeply", JSON_SHAPE) from None
    return parsed


def _members(file: str, path: str, value: object) -> _Object:
    if not isinstance(value, _Object):
        raise _error(file, path or "the whole", value, "it is no JSON object", JSON_SHAPE)
    keys = set()
    for key, _ in value:
        if key in keys:
            where = f"{cut(path)}/{cut(key)}" if path else cut(key)
            raise _error(file, where, "", "it stands there twice", "remove one of them")
        keys.add(key)
    return value


def _in_csv(file: str, text: str) -> Iterator[_Entry]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    order: list[int] = []
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            where = f"row {rows.line_num}"
            if not any(cells):
                continue
            if not order:
                order = _columns(file, where, cells)
                continue
            if len(cells) != len(COLUMNS):
                problem = f"it has {len(cells)} cells, not {len(COLUMNS)}"
                remedy = "separate cells by commas, and write a price with a point"
                raise _error(file, where, ",".join(cells), problem, remedy)
            instance_type, zone, capacity_type, price = (cells[index] for index in order)
            value = float(price) if _NUMBER.fullmatch(price) else price
            yield where, (instance_type, zone, capacity_type), value
    except csv.Error as error:
        remedy = "close what is quoted, and separate cells by commas"
        place = f"row {rows.line_num}"
        raise _error(file, place, "", f"this is no CSV: {error}", remedy) from None


def _columns(file: str, where: str, cells: list[str]) -> list[int]:
    """Where each of COLUMNS stands. ``capacity-type`` and ``USD_per_hour`` are understood."""
    given = [_SEPARATORS.sub(" ", cell).lower() for cell in cells]
    if sorted(given) != sorted(COLUMNS):
        remedy = "begin with the line type,zone,capacity type,USD per hour"
        raise _error(file, where, ",".join(cells), "these are not the four columns", remedy)
    return [given.index(column) for column in COLUMNS]


def _error(file: str, where: str, value: object, problem: str, remedy: str) -> PriceError:
    shown = "..." if isinstance(value, list) else cut(str(value))
    return PriceError(str(FieldError(file, where or "the file", shown, problem, remedy)))
