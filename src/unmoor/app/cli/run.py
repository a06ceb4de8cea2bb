"""``unmoor run``: the controller as a process, in a pod or on a laptop.

Must not: assemble anything itself (``app.process``).
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from typing import TYPE_CHECKING, Any

import click

from unmoor.app.cli.command import (
    Command,
    Failure,
    cluster_options,
    output_option,
    price_options,
    print_json,
)
from unmoor.model.names import MANAGED_BY
from unmoor.model.settings import CONFIG_MAP_NAME, NAMESPACE

if TYPE_CHECKING:
    from unmoor.app.price_books import Offer

PORT = click.IntRange(0, 65535)
PLACEHOLDER = "CHANGE-ME"
"""The cluster name in the files of ``deploy/``, until somebody has put theirs there."""

OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


def _object_name(_context: click.Context, _option: click.Parameter, given: str) -> str:
    """Refuse at once what no object can be called: it would be waited for in vain."""
    if not OBJECT_NAME.fullmatch(given):
        raise click.BadParameter(f"{given!r} is no name: use a-z, 0-9, '-' and '.'")
    return given


def _cluster_name(_context: click.Context, _option: click.Parameter, given: str) -> str:
    """Refuse the name that stands in ``deploy/`` for a name."""
    if given == PLACEHOLDER:
        raise click.BadParameter(
            f"{given} stands for the name of your cluster: put the name there that your Machines "
            f"are annotated with ({MANAGED_BY})"
        )
    return given


@click.command(
    cls=Command,
    examples=(
        "unmoor run --cluster-name shop",
        "unmoor run --context kind --cloud simulated --cluster-name shop --log-format text",
        "unmoor run --cluster-name shop --cloud simulated --prices prices.csv --keep-rest",
        "unmoor run --cluster-name shop --observe",
        "unmoor run --cluster-name shop --metrics-port 0 --health-port 0",
    ),
)
@cluster_options
@click.option(
    "--cloud",
    type=click.Choice(["none", "simulated"]),
    default="none",
    show_default=True,
    help="Where machines come from. On a cluster whose machines belong to a provider that is not "
    "configured, unmoor does nothing.",
)
@price_options
@click.option(
    "--cluster-name",
    default="",
    callback=_cluster_name,
    metavar="NAME",
    help="Whose machines are ours: those annotated unmoor.dev/managed-by with this name. By "
    "default aws.clusterName of the settings.",
)
@click.option(
    "--namespace",
    default=NAMESPACE,
    callback=_object_name,
    show_default=True,
    help="Where the settings and the lease are.",
)
@click.option(
    "--settings-name",
    default=CONFIG_MAP_NAME,
    callback=_object_name,
    show_default=True,
    metavar="NAME",
    help="The ConfigMap with the settings.",
)
@click.option(
    "--observe",
    is_flag=True,
    help="Decide and record what would be done (kubectl get disruptions), and touch no node, pod "
    "or machine.",
)
@click.option(
    "--address",
    default="0.0.0.0",  # noqa: S104 - a kubelet and a Prometheus ask from outside
    show_default=True,
    help="Where to listen; :: for IPv6.",
)
@click.option(
    "--metrics-port",
    type=PORT,
    default=8000,
    show_default=True,
    help="Serves /metrics. 0: a free port, which is printed.",
)
@click.option(
    "--health-port",
    type=PORT,
    default=8081,
    show_default=True,
    help="Serves /healthz and /readyz. 0: a free port, which is printed.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
)
@click.option(
    "--log-format", type=click.Choice(["json", "text"]), default="json", show_default=True
)
@click.option(
    "--no-leader-election",
    is_flag=True,
    help="Act without holding the lease. Only while nobody else does.",
)
@click.option(
    "--identity",
    default="",
    metavar="NAME",
    help="Our name in the lease, different for each instance; by default host name and process.",
)
@output_option
def run(output: str, log_level: str, log_format: str, **chosen: Any) -> None:
    """Run the controller until SIGTERM or SIGINT; one more, a second later, ends it at once.

    Prints the served ports on stdout and logs to stderr.
    """
    from unmoor.app import logs, process, stopping, web  # noqa: PLC0415 - heavy

    logs.configure(level=log_level, form=log_format)
    prices, keeps_rest = chosen.pop("prices"), chosen.pop("keep_rest")
    offer, about_prices = _offer(chosen["cloud"], prices, keeps_rest=keeps_rest)
    options = process.RunOptions(
        offer=offer,
        about_prices=about_prices,
        has_lease=not chosen.pop("no_leader_election"),
        identity=chosen.pop("identity") or _identity(),
        **chosen,
    )

    def tell(bound: web.Bound) -> None:
        if output == "json":
            print_json({"metrics_port": bound.metrics_port, "health_port": bound.health_port})
        else:
            click.echo(f"metrics on port {bound.metrics_port}, health on {bound.health_port}")

    try:
        asyncio.run(stopping.until_stopped(process.run(options, tell)))
    except web.PortTaken as error:
        raise Failure(str(error)) from None


def _offer(cloud: str, prices: str, *, keeps_rest: bool) -> tuple[Offer | None, str]:
    """What is on sale, and what is odd about the prices."""
    from unmoor.app import price_books  # noqa: PLC0415 - reads the catalogue

    if cloud != "none":
        return price_books.offer(prices, keeps_rest=keeps_rest)
    if prices or keeps_rest:
        raise click.UsageError(
            "--prices and --keep-rest are about a cloud, and there is none: add --cloud simulated, "
            "or leave them out"
        )
    return None, ""


def _identity() -> str:
    """In a pod the host name is the pod's: a restarted container takes its lease up again."""
    host = socket.gethostname()
    return host if "KUBERNETES_SERVICE_HOST" in os.environ else f"{host}-{os.getpid()}"
