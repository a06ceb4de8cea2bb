"""What is there? The lists from which clients learn groups, kinds, verbs and short names.

Both ways of asking are answered: group by group, and all at once (aggregated).

Must not: know any kind that the catalogue does not have, reviews apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.apiserver import status
from unmoor.sim.http import negotiation, reviews
from unmoor.sim.http.catalog import Catalog, Served

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
_AGGREGATED_VERSIONS = ("v2", "v2beta1")
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def aggregated_version(accept: str) -> str:
    """Which version of the aggregated form is wanted, "" for the plain one."""
    for one in negotiation.ranges(accept):
        if one.media not in {"application/json", "application/*", "*/*"}:
            continue
        wanted = one.parameters
        if not wanted.get("as"):
            return ""
        version = wanted.get("v", "")
        is_ours = wanted.get("g") == "apidiscovery.k8s.io" and version in _AGGREGATED_VERSIONS
        if wanted["as"] == "APIGroupDiscoveryList" and is_ours:
            return version
    return ""


class Discovery:
    """The answers to requests for ``/api``, ``/apis`` and what is right below."""

    def __init__(self, catalog: Catalog) -> None:
        """Answer from this catalogue."""
        self._catalog = catalog

    def answer(self, parts: list[str], accept: str) -> tuple[JSON, str] | None:
        """The document under a path and its content type; None when it is no discovery path."""
        match parts:
            case ["api"] | ["apis"]:
                is_core = parts == ["api"]
                version = aggregated_version(accept)
                if version:
                    return self._aggregated(version, is_core=is_core), AGGREGATED.format(
                        version=version
                    )
                return (_CORE if is_core else self._groups()), "application/json"
            case ["api", version]:
                return self._resources("", version), "application/json"
            case ["apis", group]:
                return self._group(group), "application/json"
            case ["apis", group, version]:
                return self._resources(group, version), "application/json"
            case _:
                return None

    def group_versions(self) -> dict[str, tuple[str, ...]]:
        """The versions of every group."""
        found = self._catalog.groups()
        for group, version in reviews.GROUPS:
            found.setdefault(group, (version,))
        return found

    # ---------------------------------------------------------------------------- group by group

    def _groups(self) -> JSON:
        groups = [
            _group(name, versions) for name, versions in self.group_versions().items() if name
        ]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def _group(self, name: str) -> JSON:
        versions = self.group_versions().get(name) if name else None
        if versions is None:
            raise status.no_such_page()
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}

    def _resources(self, group: str, version: str) -> JSON:
        if version not in self.group_versions().get(group, ()):
            raise status.no_such_page()
        found: list[JSON] = []
        for served in self._catalog.of(group, version):
            found += _listed(served)
        found += [_review(one) for one in reviews.of(group, version)]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": found,
        }

    # ------------------------------------------------------------------------------- all at once

    def _aggregated(self, version: str, *, is_core: bool) -> JSON:
        items = []
        for group, versions in self.group_versions().items():
            if (group == "") != is_core:
                continue
            shown = [self._aggregated_version(group, one) for one in versions]
            items.append({"metadata": {"name": group} if group else {}, "versions": shown})
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": items,
        }

    def _aggregated_version(self, group: str, version: str) -> JSON:
        found = [_aggregated(one) for one in self._catalog.of(group, version)]
        found += [_aggregated_review(one) for one in reviews.of(group, version)]
        return {"version": version, "resources": found, "freshness": "Current"}


_CORE: JSON = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def _group(name: str, versions: Iterable[str]) -> JSON:
    listed = [{"groupVersion": f"{name}/{one}", "version": one} for one in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _verbs(served: Served) -> list[str]:
    verbs = _CUSTOM_VERBS if served.rules.is_custom else served.verbs
    return list(verbs)


def _listed(served: Served) -> list[JSON]:
    is_namespaced = served.resource.is_namespaced
    one: JSON = {
        "name": served.plural,
        "singularName": served.singular,
        "namespaced": is_namespaced,
        "kind": served.kind,
        "verbs": _verbs(served),
    }
    if served.short:
        one["shortNames"] = list(served.short)
    if served.categories:
        one["categories"] = list(served.categories)
    found = [one]
    for name, kind, api_version, verbs in sorted(served.subresources()):
        door: JSON = {
            "name": f"{served.plural}/{name}",
            "singularName": "",
            "namespaced": is_namespaced,
        }
        if api_version != served.api_version:
            group, _, version = api_version.rpartition("/")
            door |= {"group": group, "version": version}
        found.append({**door, "kind": kind, "verbs": list(verbs)})
    return found


def _aggregated(served: Served) -> JSON:
    one: JSON = {
        "resource": served.plural,
        "responseKind": _kind(served.kind, served.api_version),
        "scope": "Namespaced" if served.resource.is_namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": _verbs(served),
    }
    if served.short:
        one["shortNames"] = list(served.short)
    if served.categories:
        one["categories"] = list(served.categories)
    doors = [
        {
            "subresource": name,
            "responseKind": _kind(kind, api_version),
            "verbs": list(verbs),
        }
        for name, kind, api_version, verbs in sorted(served.subresources())
    ]
    return {**one, "subresources": doors} if doors else one


def _kind(kind: str, api_version: str) -> JSON:
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind}


def _review(one: Any) -> JSON:
    return {
        "name": one.plural,
        "singularName": one.singular,
        "namespaced": False,
        "kind": one.kind,
        "verbs": ["create"],
    }


def _aggregated_review(one: Any) -> JSON:
    return {
        "resource": one.plural,
        "responseKind": {"group": one.group, "version": one.version, "kind": one.kind},
        "scope": "Cluster",
        "singularResource": one.singular,
        "verbs": ["create"],
    }
