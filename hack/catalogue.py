"""Make src/unmoor/cloud/data/ec2-types.json from a list of EC2 types: ``catalogue.py SOURCE``.

SOURCE is JSON: {"region", "as_of", "types": [{"name", "arch", "vcpus", "memory_mib", "max_pods",
"gpus", "gpu_name", "usage_classes", "on_demand_usd_per_hour"}, ...]}. Only facts are taken over.
What SOURCE does not know stands here: the spot shares, which are assumed and are called so in the
file, and how many Inferentia and Trainium chips a type has.
"""

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "src/unmoor/cloud/data/ec2-types.json"
FAMILIES = (
    *("c6a", "c6g", "c6i", "c7a", "c7g", "c7i", "c7i-flex", "c8g", "c8i"),
    *("m5", "m6a", "m6g", "m6i", "m7a", "m7g", "m7i", "m7i-flex", "m8g", "m8i"),
    *("r6a", "r6g", "r6i", "r7a", "r7g", "r7i", "r8g", "r8i"),
    *("t3", "t3a", "t4g"),
    *("g4dn", "g5", "g5g", "g6", "g6e", "p4d", "p5"),
    *("inf1", "inf2", "trn1"),
)
"""General machines of both architectures in their current generations and one or two before, and
some with GPUs or accelerators. All sizes of each, bare metal included."""
ACCELERATORS = {
    "inf1": ("inferentia", {"xlarge": 1, "2xlarge": 1, "6xlarge": 4, "24xlarge": 16}),
    "inf2": ("inferentia", {"xlarge": 1, "8xlarge": 1, "24xlarge": 6, "48xlarge": 12}),
    "trn1": ("trainium", {"2xlarge": 1, "32xlarge": 16}),
}
ZONES = ("a", "b", "c")
SPOT_SHARE = {"a": 0.36, "b": 0.38, "c": 0.41}
"""Assumed: the source knows no spot prices. A share of the on-demand price for each zone, near the
long-run middle, different by zone so that a cheapest one exists."""
ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}


def main() -> None:
    if len(sys.argv) != 2:  # noqa: PLR2004
        sys.exit(f"usage: {sys.argv[0]} SOURCE.json")
    source = json.loads(Path(sys.argv[1]).read_text())
    region = source["region"]
    found = sorted(source["types"], key=lambda fact: (family_of(fact), fact["vcpus"], fact["name"]))
    facts = {name: list(those) for name, those in groupby(found, key=family_of)}
    head = {
        "region": region,
        "as_of": source["as_of"],
        "zones": [region + zone for zone in ZONES],
        "spot_share_of_on_demand_assumed": {region + z: share for z, share in SPOT_SHARE.items()},
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    families = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(family(name, facts[name]))}" for name in FAMILIES
    )
    TARGET.write_text("{\n" + "\n".join(lines) + f'\n "families": {{\n{families}\n }}\n}}\n')
    print(f"{sum(len(facts[name]) for name in FAMILIES)} types in {TARGET.name}")


def family_of(fact: dict[str, Any]) -> str:
    return str(fact["name"]).partition(".")[0]


def family(name: str, facts: list[dict[str, Any]]) -> dict[str, Any]:
    """What all types of a family share, and a row for each: the columns of cloud/catalogue.py."""
    ((gpu, arch),) = {(fact["gpu_name"], fact["arch"][-1]) for fact in facts}
    shared = {"arch": ARCHITECTURES[arch]}
    assert all("spot" in fact["usage_classes"] for fact in facts), name
    if gpu:
        shared |= {"device": "gpu", "device_name": gpu.lower().replace(" ", "-")}
    elif name in ACCELERATORS:
        shared |= {"device": "accelerator", "device_name": ACCELERATORS[name][0]}
    return {**shared, "types": [row(name, fact) for fact in facts]}


def row(name: str, fact: dict[str, Any]) -> list[Any]:
    size = fact["name"].partition(".")[2]
    devices = ACCELERATORS[name][1][size] if name in ACCELERATORS else fact["gpus"]
    amounts = [fact["vcpus"], fact["memory_mib"], fact["max_pods"], fact["on_demand_usd_per_hour"]]
    return [size, *amounts, *([devices] if devices else [])]


if __name__ == "__main__":
    main()
