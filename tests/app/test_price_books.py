"""``--prices``: which book counts, how its name travels, and what is wrong with a file."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.app import simulated
from tests.app.loopback import UNMOOR
from unmoor.app import price_books
from unmoor.app.cli import main
from unmoor.app.cli.command import Failure
from unmoor.cloud.catalogue import ec2_types, list_name

CATALOGUE = "catalogue us-east-1 2026-07-20"
BOOK = {"m5.large": {"us-east-1a": {"on-demand": 0.2}, "*": {"spot": 0.04}}}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(BOOK))
    return file


def known(offer: price_books.Offer) -> dict[str, float]:
    """Every known price of m5.large."""
    return {
        f"{sold.zone[-1]} {sold.capacity_type}": sold.price_usd_per_h
        for sold in offer.types_by_name["m5.large"].offerings
        if sold.price_usd_per_h is not None
    }


def test_nothing_said_is_the_catalogue() -> None:
    offer, about = price_books.offer()

    assert (offer.types, offer.prices, about) == (ec2_types(), f"{CATALOGUE}, spot assumed", "")
    assert list_name() == CATALOGUE


def test_a_percentage() -> None:
    offer, _ = price_books.offer("+10%")

    assert offer.prices == f"{CATALOGUE} +10 %, spot assumed"
    m5 = offer.types_by_name["m5.large"]
    assert m5.book_of("on-demand") == f"{CATALOGUE} +10 %"
    assert m5.book_of("spot") == f"{CATALOGUE} +10 %, spot assumed"
    assert known(offer)["a on-demand"] == pytest.approx(0.1056)


def test_a_file_says_all(book: Path) -> None:
    offer, about = price_books.offer(str(book))

    assert (offer.prices, about) == ("mine.json", "")
    assert offer.types_by_name["m5.large"].book_of("spot") == "mine.json"
    assert known(offer) == {"a on-demand": 0.2, "a spot": 0.04, "b spot": 0.04, "c spot": 0.04}
    assert all(
        sold.price_usd_per_h is None
        for one in offer.types
        if one.name != "m5.large"
        for sold in one.offerings
    )


def test_a_file_and_the_rest_of_the_catalogue(book: Path) -> None:
    offer, _ = price_books.offer(str(book), keeps_rest=True)

    assert offer.prices == f"mine.json, the rest {CATALOGUE}, spot assumed"
    assert known(offer)["a on-demand"] == 0.2
    assert known(offer)["b on-demand"] == 0.096
    [nano] = (one for one in ec2_types() if one.name == "t3.nano")
    assert offer.types_by_name["t3.nano"].offerings == nano.offerings


def test_what_is_not_on_sale_is_told(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text("type,zone,capacity type,USD per hour\nm5.lrage,*,spot,1\n")
    _, about = price_books.offer(str(file))

    assert about == f"{file} prices what is not on sale: m5.lrage * spot"


def test_its_name_can_be_written_to_a_machine(tmp_path: Path) -> None:
    file = tmp_path / "two\nlines-\udcff.json"
    file.write_text(json.dumps(BOOK))
    offer, _ = price_books.offer(str(file))

    assert offer.prices == "two?lines-?.json"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("10%", "--prices: '10%' is no percentage; write it with a sign, as in +10% or -25%"),
        ("no-such.json", "no-such.json: No such file or directory: check the path and its mode"),
        (".", "--prices: .: Is a directory"),
        ("a\0b", "embedded null byte"),
    ],
)
def test_what_cannot_be_read(given: str, words: str) -> None:
    with pytest.raises(Failure) as caught:
        price_books.offer(given)

    assert words in caught.value.message


@pytest.mark.parametrize("args", [("--prices=+5%",), ("--keep-rest",)])
def test_without_a_cloud_no_price_counts(args: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["run", *args])

    assert result.exit_code == 2
    assert "there is none: add --cloud simulated" in " ".join(result.output.split())


def demo(*args: str) -> Result:
    return CliRunner().invoke(main, ["demo", *args])


def test_the_demo_names_the_book_and_leaves_unknown_prices_out(book: Path) -> None:
    told = demo("--prices", str(book)).stdout

    assert "cluster prices of machines: mine.json" in told
    assert re.search(r"ordered general-\w+ for .* from 0\.2 USD/h \(mine\.json\)", told)
    assert re.search(
        r"launched general-\w+: m5.large in us-east-1a, on-demand, 0\.2 USD/h \(mine\.json\)", told
    )
    assert re.search(
        r"launched general-\w+: \S+ in us-east-1b, on-demand, price unknown \(mine\.json\)", told
    )
    assert "(prices: mine.json)" in " ".join(told.split())
    words = " ".join(told.split())
    assert re.search(
        r"the fleet costs at least 0\.\d+ USD/h \(\d machines? without a price\)", words
    )
    assert re.search(r" s cost at least 0\.\d+ USD \(\d machines? without a price\)", words)
    assert "without a price: sim:///" in words


def test_the_demo_in_json_names_the_book() -> None:
    ending = json.loads(demo("-o", "json", "--prices=-50%").stdout)

    assert ending["prices"] == f"{CATALOGUE} -50 %, spot assumed"
    assert ending["unpriced"] == []


@pytest.mark.parametrize("args", [("--keep-rest",), ("--keep-rest", "--prices", "+5%")])
def test_the_rest_needs_a_file(args: tuple[str, ...]) -> None:
    result = demo(*args)

    assert result.exit_code == 2
    assert "--keep-rest is about what a file does not name" in result.output


def test_a_bad_file_is_said_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{"m5.large": {"*": {"spot": 0}}}')
    result = demo("--prices", str(file))

    assert result.exit_code == 1
    assert result.stderr.startswith(
        "unmoor: --prices: p.json: m5.large/*/spot is '0.0': nothing is free to run; write its"
    )
    assert result.stderr.count("\n") == 1


async def test_a_cluster_is_up_at_those_prices(book: Path, tmp_path: Path) -> None:
    async with simulated.up(tmp_path / "kubeconfig", "--prices", str(book)) as cluster:
        assert cluster.first["prices"] == "mine.json"
        assert len(cluster.first["nodes"]) == 4
        await cluster.stop()

    last = cluster.said[-1]
    zones = [one["zone"] for one in cluster.first["nodes"]]
    assert last["prices"] == "mine.json"
    assert last["usd_per_h_after"] == pytest.approx(0.2 * zones.count("us-east-1a"))
    assert len(last["unpriced"]) == 4 - zones.count("us-east-1a")


async def test_an_empty_one_tells_a_person_what_it_cost(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    process = await asyncio.create_subprocess_exec(
        UNMOOR, "sim", "up", "--empty", "--port=0", f"--kubeconfig={path}", "--no-controller",
        "--prices=+10%",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    said = await asyncio.wait_for(process.stdout.readuntil(b"Ctrl-C ends"), simulated.PATIENCE_S)
    process.send_signal(signal.SIGTERM)
    rest, _ = await asyncio.wait_for(process.communicate(), simulated.PATIENCE_S)

    beside = f"unmoor run --cloud simulated --kubeconfig {path} --prices=+10%"
    assert beside in " ".join(said.decode().split())
    assert b"Prices of machines: catalogue " in said
    cost = b"the fleet costs 0 USD/h, and when it came up it cost 0 USD/h; it spent 0 USD"
    assert cost in rest
