"""What can be the name or the address of a machine, and what cannot."""

import pytest

from unmoor.kube.host import is_host

UMLAUT = "b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher"
CAN = ("a", "kubernetes.default.svc", "a_b", "a.", "a" * 63, UMLAUT, "10.0.0.1", "::1")
NO_LETTERS = ("a b", "a/b", "ann@b", "a:1", "[::1]", "{host}", "%41", "a\n", "a\0", "\N{SNOWMAN}")
NO_PARTS = ("", ".a", "a..b", "a" * 64)


@pytest.mark.parametrize("text", CAN)
def test_these_can(text: str) -> None:
    assert is_host(text)


@pytest.mark.parametrize("text", [*NO_LETTERS, *NO_PARTS])
def test_these_cannot(text: str) -> None:
    assert not is_host(text)
