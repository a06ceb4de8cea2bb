"""The script that does what the tutorial says: what it takes for a block, and what it notices."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hack import tutorial
from hack.tutorial import Block, Failed, blocks, missing, play, section
from tests.tidy import tree

PAGE = """# A page

```sh
not this one
```

## Tutorial

Some words first.

Say hello
to everybody.

```sh
name=world
echo "hello $name" & wait
```

```text
hello world
```

Then go.

```sh
echo "bye $name"
```

## Another section

```sh
nor this one
```
"""
QUICK_S = 20.0


def block(commands: str, *expected: str) -> Block:
    return Block("", commands, expected)


def failure(*found: Block, limit_s: float = QUICK_S) -> str:
    with pytest.raises(Failed) as caught:
        play(list(found), os.environ, limit_s)
    return str(caught.value)


def test_the_blocks_of_one_section_are_found_with_what_shall_come_of_them() -> None:
    assert blocks(section(PAGE)) == [
        Block("Say hello", 'name=world\necho "hello $name" & wait\n', ("hello world",)),
        Block("Then go.", 'echo "bye $name"\n', ()),
    ]


def test_a_block_that_nobody_would_run_or_compare_is_an_error() -> None:
    with pytest.raises(Failed, match="what is this block for"):
        blocks("```yaml\na: 1\n```\n")
    with pytest.raises(Failed, match="no section"):
        section("# A page\n")


def test_blocks_run_in_one_shell(capsys: pytest.CaptureFixture[str]) -> None:
    play(blocks(section(PAGE)), os.environ, QUICK_S)

    printed = capsys.readouterr().out
    assert "[1/2] Say hello\n  $ name=world\n" in printed
    assert "    hello world\n" in printed
    assert "    bye world\n" in printed


def test_a_command_that_fails_ends_it() -> None:
    assert "a command failed: 3" in failure(block("(exit 3)\necho never"))
    # Something in the background holds the output open.
    assert "a command failed: 1" in failure(block("sleep 60 &\nfalse\n"))


def test_a_block_that_does_not_end_is_given_up() -> None:
    assert "did not end within 0.3 s" in failure(block("sleep 60"), limit_s=0.3)


def test_a_line_that_is_shown_must_come_and_in_its_place() -> None:
    assert "not in its place: b" in failure(block("echo a; echo c", "a", "...", "b"))
    assert "not in its place: a" in failure(block("echo a; echo b", "b", "a"))


def test_what_varies_from_run_to_run_is_not_compared() -> None:
    shown = ("NAME   AGE", "i-0123456789abcdef0   2m15s   10.0.0.1", "  0:05.4  cart-0123456789-0")
    came = ("NAME                  AGE", "i-fedcba98765432100   81s     10.9.8.7", "more")

    assert missing(shown[:2], came) == ""
    assert missing(shown, came) == shown[2]
    assert missing(["node/i-0123456789abcdef0 drained: 2 pods in 11.7 s"], ["drained"]) != ""


def test_the_readme_has_a_tutorial_whose_files_are_there() -> None:
    found = blocks(section(tutorial.README.read_text()))
    named = [
        word
        for one in found
        for line in one.commands.splitlines()
        for before, word in zip(line.split(), line.split()[1:], strict=False)
        if before == "-f"
    ]

    assert [one for one in found if not one.about] == []
    assert [one for one in found if one.expected] != []
    assert named != []
    assert [name for name in named if not (tree.ROOT / Path(name)).exists()] == []
