"""Go durations, read and printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmoor.model import duration

READ = {
    "0": 0.0,
    "0s": 0.0,
    "10s": 10.0,
    "1h30m": 5400.0,
    "1h30m5s": 5405.0,
    "30m1h": 5400.0,
    "1.5h": 5400.0,
    ".5s": 0.5,
    "1.s": 1.0,
    "300ms": 0.3,
    "-1.5s": -1.5,
    "+5s": 5.0,
    "250us": 0.00025,
    "250\u00b5s": 0.00025,
    "250\u03bcs": 0.00025,
    "100ns": 1e-7,
    "720h": 2_592_000.0,
}

REFUSED = [
    "",
    "1",
    "1d",
    "1hr",
    "FooNever",
    "Never",
    "s",
    "h1",
    "1 s",
    " 1s",
    "1e3s",
    "-",
    "1s-",
    "1,5s",
]


@pytest.mark.parametrize(("text", "seconds"), READ.items(), ids=READ)
def test_durations_are_read_as_go_reads_them(text: str, seconds: float) -> None:
    assert duration.parse(text) == seconds


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_what_is_no_duration_is_refused_by_name(text: str) -> None:
    """W12: "1hr", "FooNever" and "" are rejected."""
    with pytest.raises(duration.DurationError, match="is not a duration") as refused:
        duration.parse(text)

    assert refused.value.value == text


@pytest.mark.parametrize("text", ["9999999h", "1" * 1000 + "s"], ids=["300 years", "endless"])
def test_what_is_too_long_is_refused(text: str) -> None:
    with pytest.raises(duration.DurationError, match="longer than"):
        duration.parse(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (10, "10s"),
        (5400, "1h30m"),
        (3661, "1h1m1s"),
        (86400, "24h"),
        (1.5, "1.5s"),
        (0.3, "300ms"),
        (0.001, "1ms"),
        (0.00025, "0.25ms"),
        (570, "9m30s"),
        (-90, "-1m30s"),
    ],
)
def test_durations_are_printed_without_idle_parts(seconds: float, text: str) -> None:
    assert duration.format_duration(seconds) == text
    assert duration.parse(text) == seconds


@given(st.integers(-(10**12), 10**12))
def test_what_is_printed_is_read_back_unchanged(milliseconds: int) -> None:
    text = duration.format_duration(milliseconds / 1000)

    assert duration.parse(text) == milliseconds / 1000
