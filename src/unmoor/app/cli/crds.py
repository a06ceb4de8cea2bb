"""``unmoor crds``: which kinds must the API server know before unmoor can work?"""

from __future__ import annotations

import click

from unmoor.app.cli.command import Command, output_option, print_json, print_yaml


@click.command(
    cls=Command, examples=("unmoor crds | kubectl apply -f -", "unmoor crds -o json > crds.json")
)
@output_option
def crds(output: str) -> None:
    """Print the custom resource definitions that unmoor needs, ready to be applied.

    As text they are YAML documents, as JSON one List.
    """
    from unmoor.model.crds import all_crds  # noqa: PLC0415 - the overview does not need it

    definitions = all_crds()
    if output == "json":
        print_json({"apiVersion": "v1", "kind": "List", "items": list(definitions)})
    else:
        print_yaml(definitions)
