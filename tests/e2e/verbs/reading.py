"""What people look at with kubectl."""

from __future__ import annotations

from tests.e2e.kubectl import Kubectl
from tests.e2e.verbs import objects
from tests.e2e.verbs.objects import config, manifest, text

OURS = "--field-selector=metadata.name!=kube-root-ca.crt"


async def get(k: Kubectl) -> None:
    """In every form, selected in every way."""
    k.write("value.jsonpath", "{.data.k}")
    k.write("value.template", "{{.data.k}}")
    k.write("columns.txt", "NAME          K\nmetadata.name data.k")
    await k("create configmap a --from-literal=k=v --from-literal=l=w")
    await k("create -f -", given=text(config("b", k="1"), config("c", k="2")))
    await k(
        """
        get configmap a b
        get configmap a -o=wide
        get configmap a -o=name
        get configmap a -o=yaml
        get configmap a -o=json
        get configmap a -o=kyaml
        get configmap a -o=yaml --show-managed-fields
        get configmap a -o=jsonpath={.data.k}
        get configmap a -o=jsonpath-as-json={.data}
        get configmap a -o=jsonpath-file=value.jsonpath
        get configmap a -o=go-template={{.data.l}}
        get configmap a -o=go-template-file=value.template
        get configmap a -o=custom-columns=NAME:.metadata.name,K:.data.k
        get configmap a -o=custom-columns-file=columns.txt
        get configmap a -o=nonsense
        get configmap a --show-kind
        get configmap a --server-print=false
        get configmap a --no-headers
        get cm -l tier=web --show-labels
        get cm -l 'tier in (web,db)' -L tier --no-headers
        get cm -l 'tier!=web' --field-selector=metadata.name=a
        get cm -l 'tier=web,!nothing' -o=name
        get cm --field-selector=metadata.name=b
        get cm --field-selector=data.k=1
        get cm -A -l tier=web --field-selector=metadata.namespace=get --sort-by=.data.k
        get cm -l tier=web --sort-by='{.metadata.name}' -o=name
        get cm -l tier=web --chunk-size=1
        get cm -l tier=web -o=yaml
        get cm nobody
        get cm nobody --ignore-not-found
        get cm/a cm/b
        get cm/a nothings/b
        get nothings
        get --raw /api/v1/namespaces/get/configmaps/nobody
        get --raw /api/v1/nodes/nobody
        get --raw /livez
        get --raw /readyz
        get --raw /nowhere
        get services
        """
    )
    await k("get -f -", given=text(config("a"), config("b")))


async def get_watch(k: Kubectl) -> None:
    """Changes, as a table and as JSON, of all and of one."""
    await k("create configmap a --from-literal=k=v")

    async def change() -> None:
        await k.quietly("label cm a seen=yes")
        await k.quietly("create configmap b --from-literal=k=v")
        await k.quietly("delete cm a")

    await k.follow(f"get cm {OURS} -w --output-watch-events", lines=5, then=change)
    await k.quietly("create configmap a")
    await k.follow("get cm a -w --show-labels", lines=4, then=change)

    async def touch() -> None:
        await k.quietly("label cm b seen=again")

    seen = """-o=jsonpath='{.metadata.name} {.metadata.labels.seen}{"\\n"}'"""
    await k.follow(f"get cm b -w {seen}", lines=2, after=1, then=touch)


async def get_fleet(k: Kubectl) -> None:
    """Nodes, workloads and pods, whole: what the controllers and the server make of them."""
    await objects.fleet(k, "node-whole")
    await k("annotate node node-whole a.example/first=yes")
    made = (
        objects.pod("one"),
        objects.workload("Deployment", "web", replicas=1),
        objects.workload("StatefulSet", "db", replicas=1, serviceName="db"),
        objects.workload("DaemonSet", "agent"),
        objects.budget("web", minAvailable=1),
        objects.job("sum", 0.1),
    )
    await k("create -f -", given=text(*made))
    await _settled(k, web=1)
    for one in ("node node-whole", "pod one", "deployment web", "rs", "sts db", "ds agent"):
        await k(f"get {one} -o=yaml")
    await k(
        """
        get pdb web -o=yaml
        get job sum -o=yaml
        get pods -l app=web -o=yaml
        get pods -l app=db -o=yaml
        get pods -l job-name=sum -o=yaml
        get all
        get all,pdb -o=wide
        get node node-whole
        get node node-whole -o=wide
        get pods --field-selector=status.phase=Running -o=name
        get pods --field-selector=spec.nodeName=nowhere
        get pods -o=custom-columns=N:.metadata.name,P:.status.phase,ON:.spec.nodeName
        get deployment web --subresource=scale
        get deployment web --subresource=status -o=jsonpath={.status.replicas}
        """
    )


_PROGRESS = "get deployment web -o=jsonpath='{range .status.conditions[*]}{.type}={.reason} {end}'"


async def _settled(k: Kubectl, web: int) -> None:
    """Wait until all that was made is up, ``web`` pods of the Deployment among it."""
    await objects.counted(k, "deployment web", "availableReplicas", web)
    await objects.counted(k, "sts db", "availableReplicas", 1)
    await objects.counted(k, "ds agent", "numberAvailable", 1)
    await objects.counted(k, "pdb web", "currentHealthy", web)
    await k("wait pod/one --for=condition=Ready --timeout=20s")
    await k("wait job/sum --for=condition=Complete --timeout=20s")
    await k.until("Progressing=NewReplicaSetAvailable", _PROGRESS)


async def _something_of_each(k: Kubectl) -> None:
    limits = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}
    container = {
        "name": "main",
        "image": "img:1",
        "resources": limits,
        "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "value": "b"}],
    }
    made = (
        objects.pod("one", containers=[container]),
        objects.workload("Deployment", "web", replicas=2),
        objects.workload("StatefulSet", "db", replicas=1, serviceName="db"),
        objects.workload("DaemonSet", "agent"),
        objects.budget("web", maxUnavailable="50%"),
        objects.job("sum", 0.1),
        objects.machine("one"),
        objects.provisioner("shown"),
        objects.disruption("two"),
        config("a", k="v"),
    )
    await k("create -f -", given=text(*made))
    await _settled(k, web=2)


async def describe(k: Kubectl) -> None:
    """What a drain is about, and our own kinds."""
    await objects.fleet(k, "node-shown")
    await k("annotate node node-shown a.example/first=yes")
    await _something_of_each(k)
    uid = await k.quietly("get machine one -o=jsonpath={.metadata.uid}")
    about = {
        "kind": "Machine",
        "name": "one",
        "uid": uid.out,
        "apiVersion": "karpenter.sh/v1alpha5",
    }
    told = manifest(
        "Event",
        "told",
        metadata={"namespace": "default"},
        involvedObject=about,
        reason="Launched",
        message="it was launched",
        source={"component": "unmoor"},
        firstTimestamp="2026-01-01T00:00:00Z",
        lastTimestamp="2026-01-01T00:00:00Z",
        count=1,
        type="Normal",
    )
    await k("create -f - --namespace=default", given=text(told))
    await k(
        """
        describe node node-shown --show-events=false
        describe pod one --show-events=false
        describe pods -l app=web --show-events=false
        describe deployment web --show-events=false
        describe rs -l app=web --show-events=false
        describe sts db --show-events=false
        describe ds agent --show-events=false
        describe job sum --show-events=false
        describe pdb web
        describe cm a
        describe machine one
        describe provisioner shown
        describe disruption two
        describe pod nobody
        describe pdb/web cm/a
        """
    )
    await k.quietly("delete event told --namespace=default")


async def events(k: Kubectl) -> None:
    """Events of both APIs, listed, selected and watched."""
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
    late = {**old, "metadata": {"name": "late"}}
    await k("create -f -", given=text(old, new))
    await k(
        """
        get events --sort-by=.metadata.name -o=wide
        get events.events.k8s.io new -o=yaml
        get events.v1. new -o=yaml
        get events.events.k8s.io old -o=yaml
        events
        events --no-headers
        events --for=pod/b
        events --types=Warning
        events --types=Wrong
        events -o=name
        get events --field-selector=reason=Held -o=name
        get events.events.k8s.io --field-selector=regarding.name=b -o=name
        """
    )

    async def more() -> None:
        await k.quietly("create -f -", given=text(late))

    await k.follow("events --watch", lines=4, then=more)


async def wait(k: Kubectl) -> None:
    """For conditions, values, creation and deletion."""
    status = '{"status":{"conditions":[{"type":"Ready","status":"True"}],"nodeName":"n"}}'
    await k("create -f -", given=text(objects.machine("awaited"), config("a", k="v"), config("b")))
    await k(f"patch machine awaited --subresource=status --type=merge -p '{status}'")
    await k(
        """
        wait --for=condition=Ready machine/awaited --timeout=20s
        wait --for=condition=Ready=False machine/awaited --timeout=1s
        wait --for=condition=Never machine/awaited --timeout=1s
        wait --for=jsonpath={.data.k}=v cm/a
        wait --for=jsonpath={.data.k} cm/a
        wait --for=jsonpath={.data.k}=w cm/a --timeout=1s
        wait --for=jsonpath='{.metadata.labels.tier}'=web cm -l tier=web
        wait --for=create cm/a --timeout=5s
        wait --for=create cm/never --timeout=1s
        wait --for=delete cm/never --timeout=5s
        wait --for=delete cm/a --timeout=1s
        wait --for=condition=Ready machine/nobody
        wait --for=nonsense cm/a
        """
    )
    await k.during(
        "wait --for=create cm/late --timeout=20s",
        "/configmaps/late",
        "create configmap late --from-literal=k=v",
    )
    await k.quietly("delete cm late --wait=false")
    await k.quietly('patch cm a --type=merge -p \'{"metadata":{"finalizers":["a.example/b"]}}\'')
    await k.quietly("delete cm a --wait=false")
    await k.during(
        "wait --for=delete cm/a --timeout=20s",
        "watch=true",
        'patch cm a --type=merge -p \'{"metadata":{"finalizers":null}}\'',
    )
