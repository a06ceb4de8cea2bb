"""Which prices count, as a person said with ``--prices``; the catalogue's own when nothing is said.

Must not: know how a price is read (``model.price_file``) or what it is used for.
"""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from unmoor.app.cli.command import Failure
from unmoor.cloud.catalogue import SPOT_NOTE, ec2_types, list_name
from unmoor.model import price_file, prices
from unmoor.model.instance import InstanceType
from unmoor.model.prices import PriceBook, PriceError
from unmoor.model.wording import named


class Offer(msgspec.Struct, frozen=True):
    """What is on sale. ``prices``: the name of the book that the prices are of."""

    types: tuple[InstanceType, ...]
    prices: str

    @property
    def types_by_name(self) -> dict[str, InstanceType]:
        """The types by name."""
        return {one.name: one for one in self.types}


def offer(given: str = "", *, keeps_rest: bool = False) -> tuple[Offer, str]:
    """Return the catalogue at the prices of ``given``, and what a person should know about them.

    ``given``: a file, a percentage, or nothing. ``keeps_rest``: what a file does not name has the
    catalogue's price. Raises Failure naming file, place, value and remedy.
    """
    if keeps_rest and (not given or prices.is_percentage(given)):
        raise click.UsageError(
            "--keep-rest is about what a file does not name: give a file with --prices, or leave "
            "it out"
        )
    own = list_name()
    try:
        if not given:
            book = prices.own(own, SPOT_NOTE)
        elif prices.is_percentage(given):
            book = prices.adjusted(own, given, SPOT_NOTE)
        else:
            book = _in_file(given, own if keeps_rest else "")
    except PriceError as error:
        raise Failure(f"--prices: {error}") from None
    idle = book.idle(ec2_types())
    about = f"{given} prices what is not on sale: {named(idle)}" if idle else ""
    return Offer(book.applied(ec2_types()), book.full_name), about


def _in_file(file: str, rest: str) -> PriceBook:
    path = Path(file)
    try:
        with path.open("rb") as opened:
            data = opened.read(price_file.BYTES_MAX + 1)
    except (OSError, ValueError) as error:  # a path with a zero byte is a ValueError
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Failure(f"--prices: {file}: {why}: check the path and its mode") from None
    name = "".join(char if char.isprintable() else "?" for char in path.name)
    book = price_file.read(name, data, rest=1.0 if rest else None)
    if not rest:
        return book
    name = f"{book.name}, the rest {rest}"
    return msgspec.structs.replace(book, name=name, spot_note=SPOT_NOTE)
