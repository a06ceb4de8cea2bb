"""Writes how the built-in kinds look as protobuf: src/unmoor/sim/data/wire.json.

Go clients send what they have as protobuf, so the embedded server must be able to read it. The
numbers of the fields stand in the tags of the API's Go types; hack/controlplane/wire prints them
from the very modules that the real control plane is built of.

    .venv/bin/python -m hack.wire_extract
"""

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "unmoor" / "sim" / "data" / "wire.json"


def main() -> None:
    printed = subprocess.run(
        ["go", "run", "./wire"], cwd=HERE / "controlplane", check=True, capture_output=True
    )
    found = json.loads(printed.stdout)
    lines = [
        f"{json.dumps(name)}: {json.dumps(fields, separators=(',', ':'))}"
        for name, fields in sorted(found["messages"].items())
    ]
    kinds = json.dumps(found["kinds"], indent=1, sort_keys=True)
    TARGET.write_text(
        f'{{"kinds": {kinds},\n"messages": {{\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8"
    )
    print(f"{TARGET}: {len(lines)} messages, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
