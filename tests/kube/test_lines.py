"""A stream is cut into lines, wherever the network cuts it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmoor.kube import lines
from unmoor.kube.lines import Lines, LineTooLong


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(0, 400), max_size=20))
def test_the_same_lines_come_out_however_the_stream_is_cut(
    parts: list[bytes], cuts: list[int]
) -> None:
    stream = b"\n".join(parts)
    places = sorted({0, *(cut for cut in cuts if cut < len(stream)), len(stream)})
    chunks = [stream[start:end] for start, end in pairwise(places)]
    splitter = Lines()

    found = [line for chunk in chunks for line in splitter.feed(chunk)]
    if rest := splitter.rest():
        found.append(rest)

    assert found == [line.strip() for line in stream.split(b"\n") if line.strip()]


def test_a_line_without_end_is_given_up() -> None:
    splitter = Lines()
    half = b"x" * (lines.LINE_LIMIT_BYTES // 2)
    for _ in range(2):
        assert list(splitter.feed(half)) == []

    with pytest.raises(LineTooLong, match="longer than 64 MiB"):
        list(splitter.feed(b"x"))
