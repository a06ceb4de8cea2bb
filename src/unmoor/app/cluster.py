"""Which cluster do we speak to, and does it know our kinds?

Must not: decide what a command does there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from http import HTTPStatus
from random import Random
from typing import Any

from unmoor.app.cli.command import Failure
from unmoor.kube import config
from unmoor.kube.client import KubeApi, NoCredentials
from unmoor.model.kinds import Resource
from unmoor.runtime.ports import Api, ApiError, Clock, Unreachable


@asynccontextmanager
async def connected(kubeconfig: str, context: str, clock: Clock) -> AsyncIterator[KubeApi]:
    """A client for the cluster that a person means. Raises ConfigError."""
    chosen = config.load(path=kubeconfig, context=context)
    async with KubeApi(chosen, clock=clock, random=Random()) as api:
        try:
            yield api
        except NoCredentials as error:
            raise Failure(str(error)) from None  # it says itself where and what to do
        except Unreachable as error:
            raise Failure(
                f"{chosen.server}: {error}; check the server's address in {chosen.origin}"
            ) from None


async def check_served(api: Api, resources: Iterable[Resource[Any]]) -> None:
    """Fail with a remedy when the API server does not know some of these kinds."""
    asked = sorted(resources, key=lambda resource: resource.plural)
    served = await asyncio.gather(*(_is_served(api, resource) for resource in asked))
    missing = [r for r, is_served in zip(asked, served, strict=True) if not is_served]
    if missing:
        named = ", ".join(f"{r.plural}.{r.group}/{r.version}" for r in missing)
        raise Failure(
            f"the API server does not serve {named}: apply the definitions with "
            "`unmoor crds | kubectl apply -f -`"
        )


async def _is_served(api: Api, resource: Resource[Any]) -> bool:
    try:
        await api.list(resource.raw(), limit=1)
    except ApiError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return False
        if error.code == HTTPStatus.UNAUTHORIZED:
            raise Failure(
                f"the API server does not accept our credentials ({error.message}): check the "
                "user in the kubeconfig"
            ) from None
        if error.code == HTTPStatus.FORBIDDEN:
            raise Failure(
                f"we may not list {resource.plural} ({error.message}): grant what "
                "deploy/rbac.yaml lists"
            ) from None
        raise
    return True
