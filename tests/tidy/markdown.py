"""Links of a Markdown page, and whether they lead anywhere."""

import re
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
ELSEWHERE = ("http://", "https://", "mailto:")


def broken_links(page: Path, root: Path) -> Iterator[str]:
    """Targets on this page that are neither a file of this repository nor a heading in one."""
    prose = CODE.sub("", FENCE.sub("", page.read_text()))
    for target in LINK.findall(prose) + REFERENCE.findall(prose):
        if target.startswith(ELSEWHERE):
            continue
        where, _, heading = target.partition("#")
        path = (page.parent / where).resolve() if where else page
        if not (path.is_relative_to(root) and path.exists() and _has(path, heading)):
            yield target


def _has(page: Path, heading: str) -> bool:
    return not heading or page.suffix != ".md" or heading in _anchors(page)


def _anchors(page: Path) -> set[str]:
    """Anchors as GitHub makes them; a heading that occurs twice counts up."""
    anchors: set[str] = set()
    for title in HEADING.findall(FENCE.sub("", page.read_text())):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (numbered := f"{anchor}-{number}" if number else anchor) in anchors:
            number += 1
        anchors.add(numbered)
    return anchors
