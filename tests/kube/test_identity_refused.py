"""Plugins, providers, impersonation and proxies that we cannot use: which field, and what to do."""

from pathlib import Path
from typing import Any

import pytest

from tests.kube.kubeconfigs import HIDDEN, inline, kubeconfig, load_file, write
from unmoor.kube.config import ConfigError

V1 = "client.authentication.k8s.io/v1"
JWT = "e30.eyJleHAiOjF9.x"


def plugin(**fields: Any) -> dict[str, Any]:
    secret = {"args": ["--secret", HIDDEN], "env": [{"name": "KEY", "value": HIDDEN}]}
    given = {"apiVersion": V1, "command": "/bin/true", "interactiveMode": "Never"}
    return kubeconfig({"exec": secret | given | fields})


def oidc(name: str = "oidc", **fields: Any) -> dict[str, Any]:
    config = {
        "idp-issuer-url": "https://issuer",
        "client-id": "unmoor",
        "client-secret": HIDDEN,
        "refresh-token": HIDDEN,
        "id-token": JWT,
    } | {key.replace("_", "-"): value for key, value in fields.items()}
    return kubeconfig({"auth-provider": {"name": name, "config": config}})


def via(url: Any) -> dict[str, Any]:
    return kubeconfig(cluster={"proxy-url": url})


CONFIG = "auth-provider.config."
REFUSED: dict[str, tuple[Any, str, str, str]] = {
    # name: (file, field, part of the problem, part of the remedy)
    "plugin without version": (plugin(apiVersion=""), "exec.apiVersion", "not set", V1),
    "plugin of an old version": (
        plugin(apiVersion="client.authentication.k8s.io/v1alpha1"),
        "exec.apiVersion",
        "'client.authentication.k8s.io/v1alpha1': no such version",
        V1,
    ),
    "plugin without command": (plugin(command=""), "exec.command", "not set", "name"),
    "plugin that is not there": (
        plugin(command="no-such-plugin"),
        "exec.command",
        "'no-such-plugin': there is no such program",
        "PATH",
    ),
    "plugin with a hint": (
        plugin(command="./no-such-plugin", installHint="brew install it,\n  then log in"),
        "exec.command",
        "'./no-such-plugin': there is no such program",
        "brew install it, then log in",
    ),
    "plugin that is no program": (plugin(command="./token"), "exec.command", "executed", "install"),
    "plugin without a mode": (
        plugin(interactiveMode=None),
        "exec.interactiveMode",
        "not set",
        "Never, IfAvailable, Always",
    ),
    "plugin of an unknown mode": (
        plugin(interactiveMode="Sometimes"),
        "exec.interactiveMode",
        "'Sometimes': it is unknown",
        "Never, IfAvailable, Always",
    ),
    "plugin with a nameless variable": (
        plugin(env=[{"name": "A"}, {"value": HIDDEN}]),
        "exec.env[1].name",
        "no variable",
        "name",
    ),
    "plugin with a variable that is a number": (
        plugin(env=[{"name": "A", "value": 31337}]),
        "exec.env[0].value",
        "Expected `str | null`, got `int`",
        "quotes",
    ),
    "plugin with a number for a command": (
        plugin(command=31337),
        "exec.command",
        "31337: Expected `str | null`, got `int`",
        "quotes",
    ),
    "plugin with arguments that are a text": (
        plugin(args=HIDDEN),
        "exec.args",
        "Expected `array | null`",
        "quotes",
    ),
    "plugin that is a text": (
        kubeconfig({"exec": HIDDEN}),
        "exec",
        "Expected `object | null`, got `str`",
        "quotes",
    ),
    "plugin and provider": (
        kubeconfig(
            {"exec": {"command": "x"}, "auth-provider": {"name": "oidc", "config": {"x": HIDDEN}}}
        ),
        "exec",
        "contradicts auth-provider",
        "keep exec",
    ),
    "gcp": (oidc("gcp"), "auth-provider.name", "'gcp': this provider left", "gke-gcloud-auth"),
    "azure": (oidc("azure"), "auth-provider.name", "'azure': this provider left", "kubelogin"),
    "another provider": (oidc("acme"), "auth-provider.name", "'acme': unknown", "exec plugin"),
    "no issuer": (oidc(idp_issuer_url=""), f"{CONFIG}idp-issuer-url", "not set", "knows it"),
    "issuer in the clear": (
        oidc(idp_issuer_url="http://issuer"),
        f"{CONFIG}idp-issuer-url",
        "'http://issuer': it is not an https URL",
        "https://",
    ),
    "issuer with a user": (
        oidc(idp_issuer_url=f"https://u:{HIDDEN}@issuer"),
        f"{CONFIG}idp-issuer-url",
        "not an https URL",
        "https://",
    ),
    "issuer with a bad port": (
        oidc(idp_issuer_url="https://issuer:x"),
        f"{CONFIG}idp-issuer-url",
        "not an https URL",
        "https://",
    ),
    "no client": (oidc(client_id=None), f"{CONFIG}client-id", "not set", "administrator"),
    "no tokens": (
        oidc(id_token="", refresh_token=""),
        f"{CONFIG}refresh-token",
        "neither it nor id-token",
        "log in",
    ),
    "id token that is none": (oidc(id_token=HIDDEN), f"{CONFIG}id-token", "not a JWT", "log in"),
    "id token without an end": (
        oidc(id_token=f"e30.e30.{HIDDEN}"),
        f"{CONFIG}id-token",
        "not a JWT that expires",
        "log in",
    ),
    "authority of the issuer missing": (
        oidc(idp_certificate_authority="none.crt"),
        f"{CONFIG}idp-certificate-authority",
        "none.crt: No such file",
        "check the path",
    ),
    "authority of the issuer not base64": (
        oidc(idp_certificate_authority_data="%%"),
        f"{CONFIG}idp-certificate-authority-data",
        "not PEM in base64",
        "base64 -w0",
    ),
    "provider with a number": (
        oidc(client_secret=31337),
        f"{CONFIG}client-secret",
        "Expected `str | null`",
        "quotes",
    ),
    "uid without a user": (kubeconfig({"as-uid": "7"}), "as-uid", "needs a user", "set as"),
    "groups without a user": (
        kubeconfig({"as-groups": ["x"]}),
        "as-groups",
        "needs a user",
        "set as",
    ),
    "extra without a user": (
        kubeconfig({"as-user-extra": {"scopes": ["x"]}}),
        "as-user-extra",
        "needs a user",
        "set as",
    ),
    "user over two lines": (
        kubeconfig({"as": "ann\nroot"}),
        "as",
        r"'ann\nroot': it cannot stand in a header",
        "plain",
    ),
    "group over two lines": (
        kubeconfig({"as": "ann", "as-groups": ["a", "b\r\nX: y"]}),
        "as-groups",
        r"'b\r\nX: y': it cannot",
        "plain",
    ),
    "groups as a text": (
        kubeconfig({"as": "ann", "as-groups": "admins"}),
        "as-groups",
        "'admins': Expected `array | null`, got `str`",
        "quotes",
    ),
    "user that is a number": (
        kubeconfig({"as": 7}),
        "as",
        "7: Expected `str | null`, got `int`",
        "quotes",
    ),
    "socks": (
        via("socks5://proxy:1080"),
        "proxy-url",
        "socks5 proxies are not supported",
        "ssh -L",
    ),
    "socks with a user": (via(f"socks5h://u:{HIDDEN}@proxy"), "proxy-url", "socks5h", "http proxy"),
    "proxy without a scheme": (via("proxy:3128"), "proxy-url", "'proxy:3128'", "http://"),
    "proxy of another scheme": (
        via(f"ftp://u:{HIDDEN}@proxy"),
        "proxy-url",
        "not the URL of a proxy",
        "http://",
    ),
    "proxy with a bad port": (
        via(f"http://u:{HIDDEN}@proxy:x"),
        "proxy-url",
        "not a URL",
        "http://",
    ),
    "proxy with a path": (
        via("http://proxy/x"),
        "proxy-url",
        "'http://proxy/x': it has a path",
        "http://",
    ),
    "proxy that is a number": (via(7), "proxy-url", "Expected `str | null`", "quotes"),
    "server name with a port": (
        kubeconfig(cluster={"tls-server-name": "api:6443"}),
        "tls-server-name",
        "'api:6443': it is not the name of a host",
        "without a port",
    ),
    "server name that is a number": (
        kubeconfig(cluster={"tls-server-name": 7}),
        "tls-server-name",
        "7: Expected `str | null`",
        "quotes",
    ),
    "extensions that are a text": (
        kubeconfig(cluster={"extensions": HIDDEN}),
        "extensions",
        "Expected `array | null`",
        "quotes",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_file_context_field_value_and_remedy(file: Path, case: str) -> None:
    content, field, problem, remedy = REFUSED[case]

    with pytest.raises(ConfigError) as refused:
        load_file(write(file, content))

    error = refused.value
    assert error.field == field
    assert problem in error.problem
    assert remedy in error.remedy
    assert f"{file}: context 'prod': " in error.where
    for secret in (HIDDEN, inline(HIDDEN), JWT):
        assert secret not in str(error)


def test_a_version_of_its_time_needs_no_mode(file: Path) -> None:
    content = plugin(apiVersion=f"{V1}beta1", interactiveMode=None)

    assert "IfAvailable" in repr(load_file(write(file, content)).auth)
