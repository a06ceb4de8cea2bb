"""What people do with kubectl, as scripts that know no cluster."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.kubectl import Kubectl

HERE = "--field-selector=metadata.namespace=objects"


def manifest(kind: str, name: str, version: str = "v1", **parts: Any) -> dict[str, Any]:
    meta = {"name": name, **parts.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **parts}


def text(*manifests: dict[str, Any]) -> str:
    return "\n---\n".join(json.dumps(one) for one in manifests)


def listed(*manifests: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})


def config(name: str, **data: str) -> dict[str, Any]:
    return manifest("ConfigMap", name, metadata={"labels": {"tier": "web"}}, data=data)


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "containers": [{"name": "main", "image": "img:1"}],
            "terminationGracePeriodSeconds": 1,
        },
    }
    wanted = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return manifest(kind, name, "apps/v1", spec=wanted)


# ------------------------------------------------------------------------------------------ scripts


async def objects(k: Kubectl) -> None:
    """Create, read in every form, change in every way, delete."""
    await k("create", "configmap", "a", "--from-literal=k=v", "--from-literal=l=w")
    await k("create", "configmap", "a", "--from-literal=k=v")
    await k("create", "-f", "-", given=text(config("b", k="1"), config("c", k="2")))
    await k("get", "configmap", "a", "b")
    await k("get", "cm", "a", "-o=wide")
    await k("get", "cm", "a", "-o=name")
    await k("get", "cm", "a", "-o=yaml")
    await k.shows("get", "cm", "a", "-o=json")
    await k("get", "cm", "a", "-o=jsonpath={.data.k}")
    await k("get", "cm", "a", "-o=go-template={{.data.l}}")
    await k("get", "cm", "a", "-o=custom-columns=NAME:.metadata.name,K:.data.k")
    await k("get", "cm", "-l", "tier=web", "--show-labels")
    await k("get", "cm", "-l", "tier in (web,db)", "-L", "tier", "--no-headers")
    await k("get", "cm", "-l", "tier!=web", "--field-selector=metadata.name=a")
    await k("get", "cm", "--field-selector=metadata.name=b")
    await k("get", "cm", "--field-selector=data.k=1")
    await k("get", "cm", "-A", "-l", "tier=web", HERE, "--sort-by=.data.k")
    await k("get", "cm", "-l", "tier=web", "--chunk-size=1")
    await k("get", "cm", "nobody")
    await k("get", "nothings")
    await k("describe", "cm", "a")
    await k("label", "cm", "a", "tier=db")
    await k("label", "cm", "a", "tier=web")
    await k("label", "cm", "a", "tier=web", "--overwrite")
    await k("label", "cm", "a", "tier-")
    await k("label", "cm", "a", "tier=not ok")
    await k("annotate", "cm", "a", "note=before")
    await k("edit", "cm", "a")
    await k("get", "cm", "a", "-o=jsonpath={.metadata.annotations}")
    await k("delete", "cm", "-l", "tier=web", "--wait=false")
    await k("delete", "cm", "a", "--dry-run=server")
    await k("delete", "cm", "a")
    await k("delete", "cm", "a")
    await k("delete", "cm", "a", "--ignore-not-found")


async def patches(k: Kubectl) -> None:
    """Patches of three kinds, replace, and what the server says to bad ones."""
    await k("create", "-f", "-", given=text(config("a", k="1", l="2")))
    await k("patch", "cm", "a", "-p", '{"data":{"k":"3"}}')
    await k("patch", "cm", "a", "-p", '{"data":{"k":"3"}}')
    await k("patch", "cm", "a", "--type=merge", "-p", '{"data":{"l":null}}')
    await k("patch", "cm", "a", "--type=json", "-p", '[{"op":"add","path":"/data/x","value":"y"}]')
    await k("patch", "cm", "a", "--type=json", "-p", '[{"op":"remove","path":"/data/nothing"}]')
    await k("patch", "cm", "a", "--type=merge", "-p", '{"data":5}')
    await k("patch", "cm", "a", "--type=merge", "-p", '{"metadata":{"labels":{"a":"not ok"}}}')
    await k("get", "cm", "a", "-o=jsonpath={.data}")
    await k("replace", "-f", "-", given=text(config("a", new="1")))
    await k("replace", "-f", "-", given=text(config("nobody", new="1")))
    await k("get", "cm", "a", "-o=jsonpath={.data}")
    stale = manifest("ConfigMap", "a", metadata={"resourceVersion": "1"})
    await k("replace", "-f", "-", given=json.dumps(stale))
    await k("patch", "machine", "nobody", "--type=merge", "-p", "{}")


async def applying(k: Kubectl) -> None:
    """Apply on both sides, diff, conflicts, strictness."""
    one = workload("Deployment", "web", replicas=0)
    await k("apply", "-f", "-", given=text(one, config("a", k="1")))
    await k("apply", "-f", "-", given=text(one, config("a", k="1")))
    await k("diff", "-f", "-", given=text(one, config("a", k="1")))
    await k("apply", "-f", "-", given=listed(one, config("a", k="2")))
    await k("get", "cm", "a", "-o=jsonpath={.data}")
    await k("apply", "-f", "-", "--dry-run=server", given=text(config("a", k="3")))
    await k("apply", "view-last-applied", "cm", "a")
    await k("apply", "--server-side", "-f", "-", given=text(config("b", k="1")))
    await k("apply", "--server-side", "-f", "-", given=text(config("b", k="1")))
    taken = text(config("b", k="2"))
    await k("apply", "--server-side", "--field-manager=other", "-f", "-", given=taken)
    await k(
        "apply",
        "--server-side",
        "--field-manager=other",
        "--force-conflicts",
        "-f",
        "-",
        given=taken,
    )
    await k("get", "cm", "b", "-o=jsonpath={.data}")
    wrong = manifest("ConfigMap", "c", dat={"k": "v"}, data={"a": "b"})
    await k("create", "-f", "-", given=json.dumps(wrong))
    await k("create", "-f", "-", "--validate=warn", given=json.dumps(wrong))
    await k("apply", "-f", "-", "--validate=ignore", given=json.dumps(wrong))
    bad = workload("Deployment", "bad", replicas="many")
    await k("create", "-f", "-", given=json.dumps(bad))
    headless = workload("Deployment", "bad")
    del headless["spec"]["selector"]
    await k("apply", "-f", "-", given=json.dumps(headless))
    twice = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d","name":"e"}}'
    await k("create", "-f", "-", given=twice)
    await k("apply", "-f", "-", given=json.dumps(manifest("Gadget", "a", "nobody.example/v1")))
    await k("delete", "deployment,cm", "-l", "tier=web")


async def watching(k: Kubectl) -> None:
    """Watch as a table, and by name."""
    await k("create", "configmap", "a", "--from-literal=k=v")

    async def change() -> None:
        await k.quietly("label", "cm", "a", "seen=yes")
        await k.quietly("create", "configmap", "b", "--from-literal=k=v")
        await k.quietly("delete", "cm", "a")

    selected = ("get", "cm", "--field-selector=metadata.name!=kube-root-ca.crt", "-w")
    await k.follow(*selected, "--output-watch-events", lines=5, then=change)
    await k.quietly("create", "configmap", "a")
    await k.follow("get", "cm", "a", "-w", "--show-labels", lines=4, then=change)


async def custom(k: Kubectl) -> None:
    """Our own kinds, by their definitions."""
    requirements = [{"key": "a", "operator": "In", "values": ["b"]}]
    machine = manifest(
        "Machine",
        "one",
        "karpenter.sh/v1alpha5",
        metadata={"labels": {"topology.kubernetes.io/zone": "z1"}},
        spec={"requirements": requirements, "machineTemplateRef": {"name": "t"}},
    )
    decision = manifest(
        "Disruption",
        "two",
        "unmoor.dev/v1alpha1",
        spec={"method": "emptiness", "nodes": [{"name": n, "uid": n} for n in ("x", "y")]},
    )
    await k("create", "-f", "-", given=text(machine, decision))
    await k("get", "machines", "-o=wide")
    await k("get", "disrupt", "-o=wide")
    await k("get", "unmoor")
    await k("get", "machine", "one", "-o=yaml")
    status = '{"status":{"conditions":[{"type":"Ready","status":"True"}],"nodeName":"n"}}'
    await k("patch", "machine", "one", "--subresource=status", "--type=merge", "-p", status)
    await k("get", "machines")
    await k("patch", "machine", "one", "-p", "{}")
    await k("describe", "machine", "one")
    await k("scale", "machine", "one", "--replicas=2")
    wrong = {**machine, "spec": {"requirement": [], "taints": [{"value": "x"}]}}
    await k("apply", "-f", "-", given=json.dumps(wrong))
    await k("apply", "-f", "-", "--validate=false", given=json.dumps(wrong))
    await k("wait", "--for=condition=Ready", "machine/one", "--timeout=20s")
    await k("delete", "machine,disrupt", "--all")


async def events(k: Kubectl) -> None:
    """Events of both APIs."""
    old = manifest(
        "Event",
        "old",
        involvedObject={"kind": "Pod", "name": "a", "namespace": "events"},
        reason="Scheduled",
        message="it was put somewhere",
        source={"component": "scheduler"},
        firstTimestamp="2026-01-01T00:00:00Z",
        lastTimestamp="2026-01-01T00:00:00Z",
        count=3,
        type="Normal",
    )
    new = manifest(
        "Event",
        "new",
        "events.k8s.io/v1",
        regarding={"kind": "Pod", "name": "b", "namespace": "events"},
        reason="Held",
        note="it must wait",
        eventTime="2026-01-02T00:00:00.000000Z",
        reportingController="unmoor",
        reportingInstance="one",
        action="Evict",
        type="Warning",
    )
    await k("create", "-f", "-", given=text(old, new))
    await k("get", "events", "--sort-by=.metadata.name", "-o=wide")
    await k("get", "events.events.k8s.io", "new", "-o=yaml")
    await k("get", "events.v1.", "new", "-o=yaml")
    await k("get", "events.events.k8s.io", "old", "-o=yaml")
    await k("events")
    await k("events", "--for=pod/b")
    await k("events", "--types=Warning")
    await k("get", "events", "--field-selector=reason=Held", "-o=name")
    await k("get", "events.events.k8s.io", "--field-selector=regarding.name=b", "-o=name")


async def questions(k: Kubectl) -> None:
    """What a client asks about the server and itself."""
    await k("auth", "can-i", "create", "pods")
    await k("auth", "can-i", "delete", "nodes", "--quiet")
    for kind in ("pod", "nodes", "deploy", "machine", "disrupt", "pdb", "events"):
        await k("get", kind, "nobody", "--ignore-not-found")
    await k("api-resources", "--api-group=policy")
    await k("api-resources", "--api-group=karpenter.sh", "-o=wide")
    await k("get", "--raw", "/readyz")
    await k("get", "--raw", "/nowhere")


async def storage(k: Kubectl) -> None:
    """The kinds that only hold something."""
    made = (
        manifest("StorageClass", "fast", "storage.k8s.io/v1", provisioner="ebs.csi.aws.com"),
        manifest("CSINode", "node-nine", "storage.k8s.io/v1", spec={"drivers": []}),
        manifest(
            "VolumeAttachment",
            "va",
            "storage.k8s.io/v1",
            spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}},
        ),
        manifest("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000),
        manifest("Lease", "lock", "coordination.k8s.io/v1", spec={"holderIdentity": "me"}),
    )
    await k("create", "-f", "-", given=text(*made))
    for kind in ("sc", "csinode/node-nine", "volumeattachment", "pc/high", "lease/lock"):
        await k("get", kind)
    await k("create", "priorityclass", "low", "--value=1", "--description=later")
    await k("get", "pc", "low", "-o=yaml")
    await k("delete", "sc/fast", "csinode/node-nine", "volumeattachment/va", "pc/high", "pc/low")


SCRIPTS = (objects, patches, applying, watching, custom, events, questions, storage)
