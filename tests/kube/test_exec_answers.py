"""What credential plugins answer: certificates, and what is no answer at all."""

import json
import ssl
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from tests.kube.asking import client_of, get, tokens
from tests.kube.authority import Authority
from tests.kube.kubeconfigs import HIDDEN, inline, write
from tests.kube.plugins import V1, V1BETA1, Plugin, at, says
from tests.kube.server import ManualClock, Server, node
from tests.kube.server import says as answers
from unmoor.kube.client import NoCredentials
from unmoor.kube.plugin import OUTPUT_LIMIT_BYTES

OURS = Authority("ours")


async def test_a_plugin_may_give_a_certificate_and_then_another_one(
    clock: ManualClock, tmp_path: Path
) -> None:
    here = OURS.issue("server", x509.IPAddress(ip_address("127.0.0.1")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write(tmp_path / "server.pem", here.certificate + here.key))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=OURS.certificate)
    first, second = OURS.issue("ann"), OURS.issue("bob")
    plugin = Plugin(
        tmp_path,
        *(
            says(
                clientCertificateData=one.certificate,
                clientKeyData=one.key,
                expirationTimestamp=at(expires_s),
            )
            for one, expires_s in ((first, 100), (second, 1000))
        ),
    )
    seen: list[str] = []

    async def who(request: Any) -> Any:
        peer = request.transport.get_extra_info("peercert")
        seen.append(dict(part[0] for part in peer["subject"])["commonName"])
        return await answers(200, node("a"))(request)

    async with Server(tls=context) as server:
        server.otherwise = who
        authority = {"certificate-authority-data": inline(OURS.certificate)}
        async with client_of(server, plugin.user(), clock, tmp_path / "config", **authority) as api:
            await get(api, 2)
            clock.elapsed_s = 95
            await get(api)

    assert seen == ["ann", "ann", "bob"]
    assert tokens(server) == ["", "", ""]


# -------------------------------------------------------------------------------- wrong answers

PAIR = OURS.issue("ann")
WRONG: dict[str, tuple[tuple[int, str], str]] = {
    "not JSON": ((0, HIDDEN), "its answer is not JSON"),
    "nothing": ((0, ""), "its answer is not JSON"),
    "a list": ((0, json.dumps([HIDDEN])), "not an ExecCredential"),
    "a number for a token": (says(token=7), r"not an ExecCredential: .*status.token"),
    "another kind": (says(kind="Pod", token=HIDDEN), "of kind 'Pod'"),
    "another version": (says(V1BETA1, token=HIDDEN), f"asked in '{V1}', it answers in '{V1BETA1}'"),
    "no status": ((0, json.dumps({"kind": "ExecCredential", "apiVersion": V1})), "neither"),
    "an empty status": (says(), "neither a token nor a certificate"),
    "a token over lines": (says(token=f"a\n{HIDDEN}"), "spaces or odd characters"),
    "no key": (says(clientCertificateData=PAIR.certificate), "only one of certificate and key"),
    "no certificate": (says(clientKeyData=PAIR.key), "only one of certificate and key"),
    "no pair": (
        says(clientCertificateData=PAIR.certificate, clientKeyData=OURS.issue("x").key),
        "do not make a pair",
    ),
    "no PEM": (says(clientCertificateData="x", clientKeyData=HIDDEN), "do not make a pair"),
    "a time without zone": (
        says(token=HIDDEN, expirationTimestamp="2026-01-01T00:00:00"),
        "no time zone",
    ),
    "no time": (says(token=HIDDEN, expirationTimestamp="soon"), "expirationTimestamp"),
    "failure": ((3, json.dumps({"token": HIDDEN})), "it failed with exit code 3"),
    "no end": ((0, HIDDEN * (OUTPUT_LIMIT_BYTES // 7 + 2)), "prints without end"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_answer_is_told_without_a_secret(
    server: Server, clock: ManualClock, tmp_path: Path, case: str
) -> None:
    answer, problem = WRONG[case]
    plugin = Plugin(tmp_path, answer)
    user = plugin.user(args=[HIDDEN], env=[{"name": "A", "value": HIDDEN}])
    async with client_of(server, user, clock, tmp_path / "config") as api:
        with pytest.raises(NoCredentials, match=problem) as refused:
            await get(api)

    text = str(refused.value)
    assert f"{tmp_path / 'config'}: context 'prod': user 'alice': exec: {plugin.path}: " in text
    assert "; " in text
    assert HIDDEN not in text
    assert "PRIVATE KEY" not in text
    assert server.seen == []


async def test_a_plugin_that_is_gone_says_its_hint(
    server: Server, clock: ManualClock, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path, says(token="t"))
    async with client_of(
        server, plugin.user(installHint="pip it"), clock, tmp_path / "config"
    ) as api:
        plugin.path.unlink()
        with pytest.raises(NoCredentials, match="No such file or directory; pip it"):
            await get(api)


async def test_what_it_says_to_a_person_reaches_the_person(
    server: Server, clock: ManualClock, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plugin = Plugin(tmp_path, says(token="t"))
    async with client_of(server, plugin.user(), clock, tmp_path / "config") as api:
        await get(api)

    out, err = capfd.readouterr()
    assert (out, err) == ("", "the plugin has a word to say\n")
