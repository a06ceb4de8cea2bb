"""Which kinds are only stored? What nearly every folder of manifests has beside its workloads.

They are served like all others: discovery, schemas, defaults, every verb, owners and namespaces.
But nobody acts on them: a Service has no endpoints, a ResourceQuota holds nobody back, a Role
allows nothing. So a person's own manifests can be applied as they are.

Must not: name a kind that unmoor or the cast reads; those are in ``model.kinds``.
"""

from __future__ import annotations

from typing import Any

from unmoor.model.base import JSON
from unmoor.model.kinds import KINDS, Resource

RBAC = "rbac.authorization.k8s.io"
_NETWORKING = "networking.k8s.io"
_KINDS = (
    ("Service", "services", "", True),
    ("Secret", "secrets", "", True),
    ("ServiceAccount", "serviceaccounts", "", True),
    ("ResourceQuota", "resourcequotas", "", True),
    ("LimitRange", "limitranges", "", True),
    ("Role", "roles", RBAC, True),
    ("RoleBinding", "rolebindings", RBAC, True),
    ("ClusterRole", "clusterroles", RBAC, False),
    ("ClusterRoleBinding", "clusterrolebindings", RBAC, False),
    ("Ingress", "ingresses", _NETWORKING, True),
    ("IngressClass", "ingressclasses", _NETWORKING, False),
    ("NetworkPolicy", "networkpolicies", _NETWORKING, True),
    ("RuntimeClass", "runtimeclasses", "node.k8s.io", False),
)

STORED: dict[str, Resource[JSON]] = {
    kind: Resource(kind, plural, group, "v1", is_namespaced, dict[str, Any])
    for kind, plural, group, is_namespaced in _KINDS
}
"""By name. Like all kinds, each is the only one of its name."""

SERVED: dict[str, Resource[Any]] = {**KINDS, **STORED}
"""Every kind that is served from the beginning, definitions apart."""
