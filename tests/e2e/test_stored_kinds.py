"""A person's own folder of manifests: what kubectl prints of it here and on a real cluster.

The kinds that nobody acts on here are created, changed, shown and deleted. Nothing of them is left
out but what somebody would have to count or balance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.controlplane import ControlPlane
from tests.e2e.test_sim_up import up
from tests.tidy import tree

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

Kubectl: TypeAlias = Callable[..., str]
NAMESPACE = "--namespace=lab"
FOLDER = """
apiVersion: v1
kind: Service
metadata: {name: web, labels: {in: folder}}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: headless, labels: {in: folder}}
spec: {clusterIP: None, selector: {app: web}, ports: [{name: a, port: 80}, {name: b, port: 53}]}
---
apiVersion: v1
kind: Service
metadata: {name: node, labels: {in: folder}}
spec: {type: NodePort, selector: {app: web, tier: x}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: balanced, labels: {in: folder}}
spec: {type: LoadBalancer, ports: [{port: 443, targetPort: https}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside, labels: {in: folder}}
spec: {type: ExternalName, externalName: example.com}
---
apiVersion: v1
kind: Secret
metadata: {name: one, labels: {in: folder}}
stringData: {a: b}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: one, labels: {in: folder}}
imagePullSecrets: [{name: one}]
---
apiVersion: v1
kind: LimitRange
metadata: {name: one, labels: {in: folder}}
spec: {limits: [{type: Container, default: {cpu: 500m}, max: {memory: 1Gi}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: one, labels: {in: folder}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: one, labels: {in: folder}}
roleRef: {kind: Role, name: one, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: ServiceAccount, name: one}, {kind: User, name: alice}, {kind: Group, name: team}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "lab:one", labels: {in: folder}}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "lab:one", labels: {in: folder}}
roleRef: {kind: ClusterRole, name: "lab:one", apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: ServiceAccount, name: one, namespace: lab}]
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: one, labels: {in: folder}}
spec: {controller: example.com/ingress}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: one, labels: {in: folder}}
spec:
  ingressClassName: one
  tls: [{hosts: [a.example.com], secretName: one}]
  rules:
  - host: a.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: one, labels: {in: folder}}
spec:
  podSelector: {matchLabels: {app: web}}
  egress: [{ports: [{port: 53, protocol: UDP}]}]
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: one, labels: {in: folder}}
handler: kata
overhead: {podFixed: {cpu: 100m}}
"""
KINDS = (
    "svc",
    "secrets",
    "sa",
    "limits",
    "roles",
    "rolebindings",
    "clusterroles",
    "clusterrolebindings",
    "ingressclasses",
    "ing",
    "netpol",
    "runtimeclasses",
)
IN_FOLDER = "--selector=in=folder"
LINES = (
    "create -f {folder}",
    "apply --server-side --force-conflicts -f {folder}",
    "apply --server-side --force-conflicts -f {folder}",
    *(f"get {kind} {IN_FOLDER} -o wide" for kind in KINDS),
    *(f"get {kind} {IN_FOLDER} -o name" for kind in KINDS),
    f"get svc,secrets,sa,limits,ing,netpol {IN_FOLDER} -o yaml --show-managed-fields",
    "get svc --field-selector=spec.type=NodePort",
    "get secrets --field-selector=type=Opaque",
    # Without events: a real server's check of addresses may have spoken of a new service.
    "describe service web --show-events=false",
    "describe secret one",
    "describe sa one",
    "describe limits one",
    "describe role one",
    "describe rolebinding one",
    "describe netpol one",
    "create secret generic two --from-literal=a=b",
    "create sa two",
    "create role two --verb=get,list --resource=pods,services",
    "create rolebinding two --role=two --user=bob --serviceaccount=lab:two",
    "create service nodeport two --tcp=80:8080",
    "create ingress two --rule=a.b/x*=two:80,tls",
    "create quota two --hard=pods=2",
    "create deployment shop --image=shop:1 --replicas=0",
    "expose deployment shop --port=80",
    "patch svc two -p {ports}",
    "get svc shop two -o wide",
    "set serviceaccount deployment shop two",
    "label secret two in=folder",
    "annotate ing two a=b",
    "auth reconcile -f {folder} --dry-run=client",
    f"delete secrets {IN_FOLDER}",
    "delete sa,role,rolebinding,svc,ing,quota two",
    "delete -f {folder} --ignore-not-found",
)
"""Without quotes: what has a space in it is filled in."""
ROWS_IN_ANY_ORDER = "describe limits one"
"""kubectl walks the resources of a limit as they lie in a map: in another order at each run."""
DIFFERS = (
    (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"\b3[0-2]\d\d\d\b", "PORT"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r'resourceVersion: "\d+"', "VERSION"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z| \+0000 UTC)", "TIME"),
    (r"(?<![\w.:-])(\d+[smh]){1,2}(?![\w.:-])", "AGE"),
    (r" {2,}", "  "),
    (r" +$", ""),
)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server alone: nobody counts, nobody makes endpoints."""
    with ControlPlane(directory=tmp_path_factory.mktemp("plane"), components=()) as started:
        yield started


def plain(text: str) -> str:
    for pattern, instead in DIFFERS:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text


def told(kubectl: Kubectl, folder: Path) -> dict[str, str]:
    """What is printed, by line; the second time a line is run counts."""
    kubectl("create", "namespace", "lab")
    filled = {"{folder}": str(folder), "{ports}": '{"spec":{"ports":[{"name":"b","port":81}]}}'}
    found = {}
    for line in LINES:
        words = [filled.get(word, word) for word in line.split()]
        found[line] = plain(kubectl(*words, NAMESPACE))
    rows = found[ROWS_IN_ANY_ORDER].splitlines()
    return found | {ROWS_IN_ANY_ORDER: "\n".join(sorted(rows))}


def test_a_folder_is_taken_and_shown_as_by_a_real_server(
    plane: ControlPlane, tmp_path: Path
) -> None:
    folder = tmp_path / "folder.yaml"
    folder.write_text(FOLDER)
    with up(tmp_path / "cluster", "--empty", "--no-controller") as cluster:
        ours = told(cluster.kubectl, folder)
    theirs = told(lambda *words: plane.kubectl(*words).stdout, folder)

    for line in LINES:
        assert [line, *ours[line].splitlines()] == [line, *theirs[line].splitlines()]
    assert "serverside-applied" in ours[LINES[1]]


def test_what_unmoor_itself_is_deployed_with_can_be_applied(tmp_path: Path) -> None:
    deploy = f"--filename={tree.ROOT / 'deploy'}"
    with up(tmp_path / "cluster") as cluster:
        first = cluster.kubectl("apply", deploy)
        again = cluster.kubectl("apply", deploy)

        assert "serviceaccount/unmoor created" in first
        changed = [line for line in again.splitlines() if not line.endswith(" unchanged")]
        # A budget's strategic merge patch is never empty; so it is on a real server.
        assert changed == ["poddisruptionbudget.policy/unmoor configured"]
