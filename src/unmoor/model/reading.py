"""How is the value of a setting written? One reader for each kind of value.

Each takes the text and returns the value, or raises ValueError, whose text is the remedy.

Must not: know any setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from unmoor.model import duration as durations
from unmoor.model import names

OFF = "off"
"""How a limit that may be unset is switched off by name."""

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_ABSOLUTE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#]+\S*")
_WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")
_DECIMAL_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}")


def text(given: str) -> str:
    """Return it as it is."""
    return given


def boolean(given: str) -> bool:
    """Read true or false, as Go writes them."""
    if given in _TRUE or given in _FALSE:
        return given in _TRUE
    raise ValueError("write true or false")


def duration(least_s: float) -> Callable[[str], float]:
    """Read seconds, at least ``least_s``."""

    def read_duration(given: str) -> float:
        try:
            seconds = durations.parse(given)
        except durations.DurationError:
            raise ValueError("write a duration, as in 1h30m or 300ms") from None
        if seconds < least_s:
            raise ValueError(f"use at least {durations.format_duration(least_s)}")
        return seconds

    return read_duration


def limit(least_s: float) -> Callable[[str], float | None]:
    """Read seconds, at least ``least_s``, or OFF."""
    read_duration = duration(least_s)

    def read_limit(given: str) -> float | None:
        return None if given == OFF else read_duration(given)

    return read_limit


def count(least: int) -> Callable[[str], int]:
    """Read a whole number."""

    def read_count(given: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(given) or int(given) < least:
            raise ValueError(f"write a whole number, at least {least}")
        return int(given)

    return read_count


def most(least: int) -> Callable[[str], int | None]:
    """Read a whole number, or OFF."""

    def read_most(given: str) -> int | None:
        try:
            return None if given == OFF else count(least)(given)
        except ValueError as error:
            raise ValueError(f"{error}, or {OFF}") from None

    return read_most


def share(given: str) -> float:
    """Read a decimal number that is not negative."""
    if not _DECIMAL_NUMBER.fullmatch(given):
        raise ValueError("write a decimal number that is not negative, as in 0.075")
    return float(given)


def factor(given: str) -> float | None:
    """Read a decimal number above zero, or OFF."""
    if given == OFF:
        return None
    if not _DECIMAL_NUMBER.fullmatch(given) or float(given) <= 0:
        raise ValueError(f"write a decimal number above zero, as in 2, or {OFF}")
    return float(given)


def one_of(allowed: tuple[str, ...]) -> Callable[[str], str]:
    """Read one of these words."""

    def read_one_of(given: str) -> str:
        if given not in allowed:
            raise ValueError(f"write {' or '.join(allowed)}")
        return given

    return read_one_of


def some_of(allowed: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Read some of these words, with commas in between; each once, in their own order."""

    def read_some_of(given: str) -> tuple[str, ...]:
        words = {word.strip() for word in given.split(",")} - {""}
        if not words <= set(allowed):
            raise ValueError(f"write some of {', '.join(allowed)}, with commas, or nothing")
        return tuple(word for word in allowed if word in words)

    return read_some_of


def url(given: str) -> str:
    """Read an absolute URL, or nothing."""
    if given and not _ABSOLUTE_URL.fullmatch(given):
        raise ValueError("write an absolute URL, as in https://example.org, or nothing")
    return given


def tags(given: str) -> dict[str, str]:
    """Read a JSON object of texts, without the tags that are ours."""
    try:
        tags = msgspec.json.decode(given, type=dict[str, str])
    except msgspec.MsgspecError:
        raise ValueError('write a JSON object of texts, as in {"team": "shop"}') from None
    for key in tags:
        if names.is_restricted_tag(key):
            raise ValueError(f"remove the tag {key}: instances are found by it")
    return tags
