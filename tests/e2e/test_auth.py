"""Each way to prove who we are, on a real API server: it knows us, and does so after a change."""

import base64
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import certificates, controlplane
from tests.controlplane import ADMIN_TOKEN, UNPRIVILEGED_TOKEN, ControlPlane, eventually
from tests.e2e.identity import LaterClock, client_of, name, who
from tests.kube.authority import Authority
from tests.kube.issuer import CLIENT_ID, Issuer
from tests.kube.plugins import V1, V1BETA1, Plugin, says
from unmoor.kube import config
from unmoor.kube.client import KubeApi
from unmoor.model.kinds import NODES
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import ApiError

pytestmark = pytest.mark.e2e

HOUR_S = 3600.0


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuer]:
    with Issuer(tmp_path_factory.mktemp("issuer")).in_a_thread() as running:
        yield running


@pytest.fixture(scope="module")
def plane(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    directory = tmp_path_factory.mktemp("plane")
    authority = directory / "issuer.crt"
    authority.write_text(issuer.authority.certificate)
    oidc = [
        f"--oidc-issuer-url={issuer.url}",
        f"--oidc-client-id={CLIENT_ID}",
        f"--oidc-ca-file={authority}",
        "--oidc-username-claim=sub",
        "--oidc-username-prefix=oidc:",
    ]
    arguments: dict[controlplane.Component, list[str]] = {"kube-apiserver": oidc}
    with ControlPlane(directory=directory, components=[], extra_args=arguments) as started:
        yield started


@pytest.fixture
def clock() -> LaterClock:
    return LaterClock()


# ----------------------------------------------------------------------------------- certificates


async def test_a_client_certificate_that_is_replaced(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock
) -> None:
    certificates.issue(plane.directory, "ann", tmp_path / "us")
    user = {"client-certificate": "us.crt", "client-key": "us.key"}
    async with client_of(plane, tmp_path / "config", user, clock) as api:
        assert await name(api) == "ann"
        certificates.issue(plane.directory, "bob", tmp_path / "us")
        assert await name(api) == "ann"
        clock.ahead_s = 61
        assert await name(api) == "bob"


async def test_a_client_certificate_inside_the_file(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock
) -> None:
    user = {
        "client-certificate-data": inline(plane.client_certificate_file),
        "client-key-data": inline(plane.client_key_file),
    }
    async with client_of(plane, tmp_path / "config", user, clock) as api:
        assert await name(api) == "certificate-admin"


async def test_a_certificate_of_a_stranger_is_nobody(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock
) -> None:
    stranger = Authority("strangers").issue("ann")
    (tmp_path / "us.crt").write_text(stranger.certificate)
    (tmp_path / "us.key").write_text(stranger.key)
    user = {"client-certificate": "us.crt", "client-key": "us.key"}
    async with client_of(plane, tmp_path / "config", user, clock) as api:
        with pytest.raises(ApiError, match="401 Unauthorized"):
            await name(api)
        # It is mended while we run: the refusal makes us look.
        certificates.issue(plane.directory, "ann", tmp_path / "us")
        assert await name(api) == "ann"


def inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


# ------------------------------------------------------------------------------------- token file


async def test_a_token_file_that_rotates(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock
) -> None:
    token = tmp_path / "token"
    token.write_text(ADMIN_TOKEN)
    async with client_of(plane, tmp_path / "config", {"tokenFile": "token"}, clock) as api:
        assert await name(api) == "admin"
        token.write_text(f"{UNPRIVILEGED_TOKEN}\n")
        assert await name(api) == "admin"
        clock.ahead_s = 61
        assert await name(api) == "nobody"
        token.write_text("revoked")
        clock.ahead_s = 122
        with pytest.raises(ApiError, match="401"):
            await name(api)
        token.write_text(ADMIN_TOKEN)
        assert await name(api) == "admin"


# ---------------------------------------------------------------------------------------- plugins


def in_s(delay_s: float) -> str:
    at = datetime.now(UTC) + timedelta(seconds=delay_s)  # noqa: TID251 - the server's clock is real
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_plugin_whose_token_expires_and_is_refused_at_last(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock, version: str
) -> None:
    plugin = Plugin(
        tmp_path / "bin",
        says(version, token=ADMIN_TOKEN, expirationTimestamp=in_s(HOUR_S)),
        says(version, token=UNPRIVILEGED_TOKEN, expirationTimestamp=in_s(2 * HOUR_S)),
        says(version, token="revoked", expirationTimestamp=in_s(9 * HOUR_S)),
        says(version, token=ADMIN_TOKEN, expirationTimestamp=in_s(9 * HOUR_S)),
    )
    user = plugin.user(version, command="bin/plugin")
    async with client_of(plane, tmp_path / "config", user, clock) as api:
        assert [await name(api), await name(api)] == ["admin", "admin"]
        clock.ahead_s = HOUR_S
        assert [await name(api), await name(api)] == ["nobody", "nobody"]
        clock.ahead_s = 2 * HOUR_S
        assert await name(api) == "admin"  # after a 401

    assert len(plugin.asked()) == 4


async def test_a_plugin_that_gives_certificates(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock
) -> None:
    answers = []
    for number, common_name in enumerate(("ann", "bob"), start=1):
        stem = tmp_path / common_name
        certificates.issue(plane.directory, common_name, stem)
        answers.append(
            says(
                clientCertificateData=stem.with_suffix(".crt").read_text(),
                clientKeyData=stem.with_suffix(".key").read_text(),
                expirationTimestamp=in_s(number * HOUR_S),
            )
        )
    plugin = Plugin(tmp_path / "bin", *answers)
    user = plugin.user(provideClusterInfo=True)
    async with client_of(plane, tmp_path / "config", user, clock) as api:
        assert await name(api) == "ann"
        clock.ahead_s = HOUR_S
        assert await name(api) == "bob"

    told = plugin.asked()[0][1]["spec"]["cluster"]
    assert told == {"server": plane.url, "certificate-authority-data": inline(plane.ca_file)}


# ------------------------------------------------------------------------------------------- OIDC


async def test_an_id_token_that_is_renewed(
    plane: ControlPlane, issuer: Issuer, tmp_path: Path, clock: LaterClock
) -> None:
    await_keys(plane, issuer)
    issuer.valid, before = {"refresh-0"}, issuer.refreshes
    user = issuer.user(issuer.id_token(600))
    async with client_of(plane, tmp_path / "config", user, clock) as api:
        assert await name(api) == "oidc:ann"
        assert issuer.refreshes == before
        clock.ahead_s = 591  # it is still valid
        assert await name(api) == "oidc:ann"
        assert issuer.refreshes == before + 1

    # What stands in the file now opens the door for the next process.
    found = config.load(path=str(tmp_path / "config"), environ={})
    async with KubeApi(found, clock=SystemClock(), random=random.Random(1)) as api:
        assert await name(api) == "oidc:ann"
    assert issuer.refreshes == before + 1


async def test_an_id_token_that_has_expired_and_one_that_is_refused(
    plane: ControlPlane, issuer: Issuer, tmp_path: Path, clock: LaterClock
) -> None:
    await_keys(plane, issuer)
    for token in (issuer.id_token(-60), issuer.id_token(600, aud="somebody else")):
        issuer.valid, before = {"refresh-0"}, issuer.refreshes
        async with client_of(plane, tmp_path / "config", issuer.user(token), clock) as api:
            assert await name(api) == "oidc:ann"
        assert issuer.refreshes == before + 1


def await_keys(plane: ControlPlane, issuer: Issuer) -> None:
    """The server fetches the issuer's keys a while after its start."""
    token = issuer.id_token(600)

    def is_known() -> bool:
        asked = plane.kubectl("auth", "whoami", f"--token={token}", check=False)
        return asked.returncode == 0 and "oidc:ann" in asked.stdout

    eventually("keys of the issuer", is_known)


# ---------------------------------------------------------------------------------- impersonation


async def test_impersonation_of_everything(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock
) -> None:
    user = {
        "token": ADMIN_TOKEN,
        "as": "ann",
        "as-uid": "u-1",
        "as-groups": ["on call", "admins"],
        "as-user-extra": {"acme.com/project": ["x", "y"], "scopes": ["ä"]},
    }
    async with client_of(plane, tmp_path / "config", user, clock) as api:
        taken_for = await who(api)

    assert taken_for == {
        "username": "ann",
        "uid": "u-1",
        "groups": ["on call", "admins", "system:authenticated"],
        "extra": {"acme.com/project": ["x", "y"], "scopes": ["ä"]},
    }


async def test_impersonation_needs_the_right_and_gives_rights(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock
) -> None:
    acting = {"token": UNPRIVILEGED_TOKEN, "as": "carol", "as-groups": ["readers"]}
    async with client_of(plane, tmp_path / "config", acting, clock) as api:
        with pytest.raises(ApiError, match='User "nobody" cannot impersonate'):
            await api.list(NODES)

        plane.create(*rights())
        eventually("right to act as carol", lambda: may_act(plane))

        assert (await api.list(NODES)).items == ()
        with pytest.raises(ApiError, match='User "carol" cannot delete resource "nodes"'):
            await api.delete(NODES.ref("a"))
    async with client_of(plane, tmp_path / "config", acting | {"as-groups": []}, clock) as api:
        with pytest.raises(ApiError, match='User "carol" cannot list resource "nodes"'):
            await api.list(NODES)


def may_act(plane: ControlPlane) -> bool:
    """The server knows its rules a moment after it was told."""
    user = [f"--token={UNPRIVILEGED_TOKEN}", "--as=carol", "--as-group=readers"]
    return plane.kubectl("get", "nodes", *user, check=False).returncode == 0


def rights() -> list[dict[str, Any]]:
    """Nobody may act as carol and as the readers; readers may list nodes."""
    impersonate = {
        "apiGroups": [""],
        "resources": ["users", "groups"],
        "verbs": ["impersonate"],
        "resourceNames": ["carol", "readers"],
    }
    read = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
    made = []
    for role, rule, kind, subject in (
        ("actor", impersonate, "User", "nobody"),
        ("reader", read, "Group", "readers"),
    ):
        group = "rbac.authorization.k8s.io"
        head: dict[str, Any] = {"apiVersion": f"{group}/v1", "metadata": {"name": role}}
        made.append(head | {"kind": "ClusterRole", "rules": [rule]})
        made.append(
            head
            | {
                "kind": "ClusterRoleBinding",
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": group, "kind": kind, "name": subject}],
            }
        )
    return made
