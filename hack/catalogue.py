"""Make src/unmoor/cloud/data/ec2-types.json from a list of EC2 types: ``catalogue.py SOURCE``.

SOURCE is JSON: {"region", "as_of", "types": [{"name", "arch", "vcpus", "memory_mib", "max_pods",
"usage_classes", "on_demand_usd_per_hour"}, ...]}. Only facts are taken over; what is assumed (the
spot shares) stands here, with the reason, and is written into the file beside them.
"""

import json
import sys
from pathlib import Path

TARGET = Path(__file__).parent.parent / "src/unmoor/cloud/data/ec2-types.json"
FAMILIES = {
    "c6i": ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge"),
    "c7g": ("large", "xlarge", "2xlarge", "4xlarge"),
    "m5": ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge"),
    "m6i": ("large", "xlarge", "2xlarge", "4xlarge"),
    "m7g": ("medium", "large", "xlarge", "2xlarge", "4xlarge"),
    "r6i": ("large", "xlarge", "2xlarge", "4xlarge"),
    "r7g": ("large", "xlarge", "2xlarge", "4xlarge"),
    "t3": ("small", "medium", "large", "xlarge", "2xlarge"),
    "t4g": ("small", "medium", "large", "xlarge"),
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
    by_name = {one["name"]: one for one in source["types"]}
    region = source["region"]
    rows = []
    for family, sizes in FAMILIES.items():
        for size in sizes:
            fact = by_name[f"{family}.{size}"]
            row = {
                "name": fact["name"],
                "arch": ARCHITECTURES[fact["arch"][-1]],
                "vcpus": fact["vcpus"],
                "memory_mib": fact["memory_mib"],
                "max_pods": fact["max_pods"],
                "on_demand_usd_per_h": fact["on_demand_usd_per_hour"],
            }
            if "spot" in fact["usage_classes"]:
                row["has_spot"] = True
            rows.append("    " + json.dumps(row))
    spot = {region + zone: share for zone, share in SPOT_SHARE.items()}
    head = {
        "region": region,
        "as_of": source["as_of"],
        "zones": [region + zone for zone in ZONES],
        "spot_share_of_on_demand_assumed": spot,
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    body = ",\n".join(rows)
    TARGET.write_text("{\n" + "\n".join(lines) + f'\n  "types": [\n{body}\n  ]\n}}\n')
    print(f"{len(rows)} types in {TARGET.name}")


if __name__ == "__main__":
    main()
