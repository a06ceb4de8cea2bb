"""What ``deploy/`` has as an example is an example that works."""

import re
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from unmoor.app import price_books
from unmoor.app.cli import main
from unmoor.app.cli.run import PLACEHOLDER

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = "prices"


def documents(text: str) -> dict[str, Any]:
    """By kind."""
    return {one["kind"]: one for one in yaml.safe_load_all(text)}


def with_prices(text: str) -> str:
    """Take the # away, as the comment says; sentences begin with a capital letter and stay."""
    return re.sub(r"(?m)^( *)# (?=[-a-z ])", r"\1", text)


def test_the_example_of_prices_is_mounted_where_it_is_looked_for(tmp_path: Path) -> None:
    plain = (DEPLOY / "deployment.yaml").read_text()
    pod = documents(with_prices(plain))["Deployment"]["spec"]["template"]["spec"]
    config = documents((DEPLOY / "prices.yaml").read_text())["ConfigMap"]
    [container], [volume] = pod["containers"], pod["volumes"]
    [mount] = container["volumeMounts"]
    [path] = [one.partition("=")[2] for one in container["args"] if one.startswith("--prices=")]

    assert volume == {"name": NAME, "configMap": {"name": config["metadata"]["name"]}}
    assert config["metadata"]["namespace"] == "karpenter"
    assert mount["name"] == NAME
    [(file, text)] = config["data"].items()
    assert path == f"{mount['mountPath']}/{file}"

    (tmp_path / file).write_text(text)
    offer, about = price_books.offer(str(tmp_path / file))
    assert about == ""
    offered = offer.types_by_name["c6a.large"].offerings
    known = {one.zone: one.price_usd_per_h for one in offered if one.capacity_type == "on-demand"}
    assert (known["us-east-1a"], known["us-east-1b"]) == (0.071, 0.078)

    args = [one.replace(path, str(tmp_path / file)) for one in container["args"]]
    result = CliRunner().invoke(main, args)
    assert PLACEHOLDER in result.output, "the only thing that is still wrong with it"


def test_nothing_of_it_is_asked_for_unless_it_is_wanted() -> None:
    pod = documents((DEPLOY / "deployment.yaml").read_text())["Deployment"]["spec"]["template"][
        "spec"
    ]

    assert pod["containers"][0]["args"] == ["run", f"--cluster-name={PLACEHOLDER}"]
    assert "volumes" not in pod
