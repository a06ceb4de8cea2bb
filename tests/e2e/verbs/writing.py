"""What people write with kubectl: objects made, changed and deleted."""

from __future__ import annotations

import json

from tests.e2e.kubectl import Kubectl
from tests.e2e.verbs import objects
from tests.e2e.verbs.objects import config, listed, manifest, text, workload


async def create(k: Kubectl) -> None:
    """From manifests and from every generator that there is a kind for."""
    k.write("one.txt", "first line\nsecond line\n")
    k.write("some.env", "A=1\nB=2\n")
    k.write("a.json", text(config("a", k="v")))
    wrong = json.dumps(manifest("ConfigMap", "c", dat={"k": "v"}, data={"a": "b"}))
    bad = json.dumps(workload("Deployment", "bad", replicas="many"))
    twice = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d","name":"e"}}'
    stranger = json.dumps(manifest("Gadget", "a", "nobody.example/v1"))
    await k(
        """
        create -f a.json
        create -f a.json
        create -f nowhere.json
        create configmap b --from-literal=k=v --from-file=one.txt
        create configmap b --from-literal=k=v
        create configmap c --from-env-file=some.env -o=yaml
        create configmap d --from-literal=k=v --dry-run=client -o=yaml
        create configmap d --from-literal=k=v --dry-run=server -o=yaml
        create configmap Bad_Name
        create configmap e --from-literal=k=v --save-config
        get cm e -o=yaml
        create deployment web --image=img:1 --replicas=0 --port=80
        create deployment sleepy --image=img:1 --replicas=0 -- sleep 5
        get deployment web sleepy -o=yaml
        create job once --image=img:1 --dry-run=client -o=yaml
        create job once --image=img:1 -- sleep 5
        get job once -o=jsonpath={.spec.template.spec.containers}
        create pdb web --selector=app=web --min-available=1
        create pdb half --selector=app=web --max-unavailable=50%
        create pdb none --selector=app=web
        get pdb -o=wide
        create priorityclass low --value=1 --description=later
        get pc low -o=yaml
        create namespace elsewhere --dry-run=server
        create namespace create
        create nonsense
        create --raw /api/v1/namespaces/create/configmaps -f a.json
        """
    )
    await k("create -f -", given=text(config("x", k="v"), config("y", k="w")))
    await k("create -f - -o=name", given=listed(config("v", k="v"), config("w", k="w")))
    await k("create -f -", given=wrong)
    await k("create -f - --validate=warn", given=wrong.replace('"c"', '"warned"'))
    await k("create -f -", given=bad)
    await k("create -f -", given=twice)
    await k("create -f -", given=stranger)
    await k("create -f -", given=json.dumps(manifest("Pod", "Bad_Name", spec={})))
    await k("create -f -", given="{not json")
    await k(
        "create -f -",
        given=text(config("z")).replace('"name": "z"', '"generateName": "made-"'),
    )
    await k("delete pc low")


async def create_storage(k: Kubectl) -> None:
    """The kinds that only hold something."""
    source = {"persistentVolumeName": "p"}
    made = (
        manifest("StorageClass", "fast", "storage.k8s.io/v1", provisioner="ebs.csi.aws.com"),
        manifest("CSINode", "node-nine", "storage.k8s.io/v1", spec={"drivers": []}),
        manifest(
            "VolumeAttachment",
            "va",
            "storage.k8s.io/v1",
            spec={"attacher": "a", "nodeName": "n", "source": source},
        ),
        manifest("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000),
        manifest("Lease", "lock", "coordination.k8s.io/v1", spec={"holderIdentity": "me"}),
    )
    await k("create -f -", given=text(*made))
    for kind in ("sc", "csinode/node-nine", "volumeattachment", "pc/high", "lease/lock"):
        await k(f"get {kind}")
    await k("delete sc/fast csinode/node-nine volumeattachment/va pc/high")


async def create_custom(k: Kubectl) -> None:
    """Our own kinds, by their definitions."""
    machine = objects.machine("one")
    wrong = json.dumps({**machine, "spec": {"requirement": [], "taints": [{"value": "x"}]}})
    status = '{"status":{"conditions":[{"type":"Ready","status":"True"}],"nodeName":"n"}}'
    await k("create -f -", given=text(machine, objects.disruption("two")))
    await k(
        f"""
        get machines -o=wide
        get disrupt -o=wide
        get unmoor
        get machine one -o=yaml
        patch machine one --subresource=status --type=merge -p '{status}'
        get machines
        patch machine one -p {{}}
        scale machine one --replicas=2
        """
    )
    await k("apply -f -", given=wrong)
    await k("apply -f - --validate=false", given=wrong)
    await k("delete machine,disrupt --all")


async def run(k: Kubectl) -> None:
    """Single pods."""
    await objects.fleet(k, "node-run")
    await k(
        """
        run one --image=img:1 --labels=app=one --env=A=b --port=80
        run one --image=img:1
        run two --image=img:1 --restart=Never --dry-run=client -o=yaml
        run three --image=img:1 --restart=OnFailure --command -- sleep 5
        wait pod/one pod/three --for=condition=Ready --timeout=20s
        get pod one -o=jsonpath={.spec.containers[0].env}
        get pod three -o=jsonpath={.spec.containers[0].command}
        get pods --show-labels
        delete pod one three --now
        """
    )


async def apply(k: Kubectl) -> None:
    """By the client: what it created, changes, leaves alone and takes away."""
    one = workload("Deployment", "web", replicas=0)
    both = workload("Deployment", "web", replicas=0)
    both["spec"]["template"]["spec"]["containers"].append({"name": "beside", "image": "img:2"})
    headless = workload("Deployment", "bad")
    del headless["spec"]["selector"]
    wrong = json.dumps(manifest("ConfigMap", "c", dat={"k": "v"}, data={"a": "b"}))
    stranger = json.dumps(manifest("Gadget", "a", "nobody.example/v1"))
    await k("apply -f -", given=text(one, config("a", k="1", l="2")))
    await k("apply -f -", given=text(one, config("a", k="1", l="2")))
    await k("apply -f -", given=listed(both, config("a", k="2")))
    await k("get cm a -o=jsonpath={.data}")
    await k("get deployment web -o=jsonpath={.spec.template.spec.containers[*].name}")
    await k("apply -f -", given=text(one))
    await k("get deployment web -o=jsonpath={.spec.template.spec.containers[*].name}")
    await k("apply -f - --dry-run=server", given=text(config("a", k="3")))
    await k("apply -f - --dry-run=client", given=text(config("a", k="3"), config("new", k="1")))
    await k("apply -f - -o=yaml", given=text(config("a", k="3")))
    await k("apply view-last-applied cm a")
    await k("create configmap bare --from-literal=k=v")
    await k("apply view-last-applied cm bare")
    await k("apply -f -", given=text(config("bare", l="w")))
    await k("get cm bare -o=jsonpath={.data}")
    await k("apply set-last-applied -f -", given=text(config("bare", k="v", l="w")))
    await k("apply -f -", given=text(config("bare", l="w")))
    await k("get cm bare -o=jsonpath={.data}")
    await k("apply -f - --validate=ignore", given=wrong)
    await k("apply -f -", given=json.dumps(headless))
    await k("apply -f -", given=stranger)
    await k("apply -f -", given=text(objects.machine("applied")))
    await k("apply -f -", given=text(objects.machine("applied", taints=[])))
    await k("get machine applied -o=jsonpath={.spec}")
    await k("delete deployment,cm -l tier=web")


async def apply_server_side(k: Kubectl) -> None:
    """By the server: owners, conflicts, and what the client has applied before."""
    await k("apply --server-side -f -", given=text(config("b", k="1")))
    await k("apply --server-side -f -", given=text(config("b", k="1")))
    taken = text(config("b", k="2"))
    await k("apply --server-side --field-manager=other -f -", given=taken)
    await k("apply --server-side --field-manager=other --force-conflicts -f -", given=taken)
    await k("get cm b -o=yaml --show-managed-fields")
    await k("apply --server-side -f - --dry-run=server", given=text(config("b", k="3")))
    await k("apply -f -", given=text(config("a", k="1", l="2")))
    await k("apply --server-side -f -", given=text(config("a", k="3")))
    await k("get cm a -o=yaml --show-managed-fields")
    await k("apply --server-side -f -", given=text(workload("Deployment", "web", replicas=0)))
    await k("scale deployment web --replicas=1")
    await k("apply --server-side -f -", given=text(workload("Deployment", "web", replicas=0)))
    await k("apply --server-side -f -", given=text(objects.machine("applied")))
    machine = objects.machine("applied", machineTemplateRef={"name": "u"})
    await k("apply --server-side --field-manager=other -f -", given=text(machine))


async def diff(k: Kubectl) -> None:
    """What would change, and nothing when nothing would."""
    one = workload("Deployment", "web", replicas=0)
    more = workload("Deployment", "web", replicas=1)
    await k("apply -f -", given=text(one, config("a", k="1")))
    await k("diff -f -", given=text(one, config("a", k="1")))
    await k("diff -f -", given=text(more, config("a", k="2"), config("new", k="1")))
    await k("diff -f - --server-side --force-conflicts", given=text(config("a", k="2")))
    await k("get cm a -o=jsonpath={.data}")


async def patch(k: Kubectl) -> None:
    """Of three kinds, at three doors, and bad ones."""
    k.write("patch.yaml", "data: {from: file}")
    await k(
        "create -f -",
        given=text(config("a", k="1", l="2"), workload("Deployment", "web", replicas=0)),
    )
    more = '{"spec":{"template":{"spec":{"containers":[{"name":"beside","image":"img:2"}]}}}}'
    less = '{"spec":{"template":{"spec":{"containers":[{"name":"beside","$patch":"delete"}]}}}}'
    last = '{"spec":{"template":{"spec":{"containers":[{"name":"last","image":"img:3"}]}}}}'
    names = "get deployment web -o=jsonpath={.spec.template.spec.containers[*].name}"
    await k(
        f"""
        patch cm a -p '{{"data":{{"k":"3"}}}}'
        patch cm a -p '{{"data":{{"k":"3"}}}}'
        patch cm a --type=merge -p '{{"data":{{"l":null}}}}'
        patch cm a --type=json -p '[{{"op":"add","path":"/data/x","value":"y"}}]'
        patch cm a --type=json -p '[{{"op":"test","path":"/data/x","value":"z"}}]'
        patch cm a --type=json -p '[{{"op":"remove","path":"/data/nothing"}}]'
        patch cm a --type=merge -p '{{"data":5}}'
        patch cm a --type=merge -p '{{"metadata":{{"labels":{{"a":"not ok"}}}}}}'
        patch cm a --type=nonsense -p '{{}}'
        patch cm a -p 'not: [json'
        patch cm a --patch-file=patch.yaml
        patch cm a --dry-run=server -o=jsonpath={{.data.k}} -p '{{"data":{{"k":"4"}}}}'
        get cm a -o=jsonpath={{.data}}
        patch deployment web -p '{more}'
        {names}
        patch deployment web -p '{less}'
        {names}
        patch deployment web --type=merge -p '{last}'
        {names}
        patch deployment web --subresource=scale --type=merge -p '{{"spec":{{"replicas":1}}}}'
        patch deployment web --subresource=nothing --type=merge -p '{{}}'
        patch machine nobody --type=merge -p '{{}}'
        """
    )


async def replace(k: Kubectl) -> None:
    """In place of what is there, at a version, by force."""
    await k("create -f -", given=text(config("a", k="1", l="2")))
    before = (await k.quietly("get cm a -o=jsonpath={.metadata.uid}")).out
    await k("replace -f -", given=text(config("a", new="1")))
    await k("replace -f -", given=text(config("nobody", new="1")))
    await k("get cm a -o=jsonpath={.data}")
    stale = manifest("ConfigMap", "a", metadata={"resourceVersion": "1"})
    await k("replace -f -", given=json.dumps(stale))
    kept = (await k.quietly("get cm a -o=jsonpath={.metadata.uid}")).out
    await k("replace --force -f -", given=text(config("a", k="3")))
    await k("replace --force -f -", given=text(config("fresh", k="4")))
    await k("get cm a fresh -o=jsonpath={.items[*].data}")
    after = (await k.quietly("get cm a -o=jsonpath={.metadata.uid}")).out
    assert before == kept != after


async def edit(k: Kubectl) -> None:
    """With an editor: a change, none, one that cannot be, our own kinds, a door."""
    await k(
        "create -f -",
        given=text(config("a", k="before"), workload("Deployment", "web", replicas=0)),
    )
    await k(
        "create -f -", given=text(objects.machine("edited", machineTemplateRef={"name": "before"}))
    )
    await k(
        """
        edit cm a
        edit cm a
        edit cm nobody
        edit machine edited
        annotate deployment web note=before
        edit deployment web --output-patch
        """
    )
    await k.edited("edit cm a", "sed -i s/^data:/dat:/")
    await k.edited("edit cm a -o=json", "sed -i s/after/again/")
    await k.edited("edit cm/a deployment/web", "sed -i s/tier:.web/tier:\\ db/")
    await k.edited("edit cm a", "false")
    await k("get cm a -o=jsonpath={.data}")
    await k("get machine edited -o=jsonpath={.spec.machineTemplateRef.name}")
    await k("get deployment web -o=jsonpath={.metadata.annotations.note}")


async def label(k: Kubectl) -> None:
    """Add, replace, take away, list; of one, of some, of all."""
    await k("create -f -", given=text(config("a"), config("b")))
    await k(
        """
        label cm a tier=db
        label cm a tier=web
        label cm a tier=web --overwrite
        label cm a tier=db --overwrite
        label cm a tier-
        label cm a tier-
        label cm a 'tier=not ok'
        label cm a b x=y z=
        label cm -l tier=web side=left
        label cm -l tier everyone=yes --dry-run=server
        label cm --all everyone=yes --field-selector=metadata.name=b
        label cm a once=more --resource-version=1
        label cm nobody a=b
        get cm a b --show-labels
        """
    )
    await k("label cm a --list", shuffled=True)


async def annotate(k: Kubectl) -> None:
    """Add, replace, take away, list."""
    await k("create -f -", given=text(config("a"), config("b")))
    await k(
        """
        annotate cm a note='some words'
        annotate cm a note=other
        annotate cm a note=other --overwrite
        annotate cm -l tier seen=yes -o=name
        annotate cm a seen-
        annotate cm a 'not ok=x'
        annotate cm a late=yes --dry-run=server
        annotate cm nobody a=b
        """
    )
    await k("annotate cm a --list", shuffled=True)
    await k("get cm a b -o=yaml")


async def delete(k: Kubectl) -> None:
    """One, some, all; dry, twice, from a file."""
    names = "abcdefgh"
    await k("create -f -", given=text(*(config(name, k="v") for name in names)))
    k.write("b.json", text(config("b")))
    held = '{"metadata":{"finalizers":["a.example/b"]}}'
    free = '{"metadata":{"finalizers":null}}'
    await k(
        f"""
        delete cm a --dry-run=server
        delete cm a --dry-run=client -o=name
        delete cm a
        delete cm a
        delete cm a --ignore-not-found
        delete -f b.json
        delete cm/c cm/d
        delete cm c nobody
        delete cm --field-selector=metadata.name=e
        patch cm f --type=merge -p '{held}'
        delete cm f --timeout=1s
        get cm f -o=jsonpath={{.metadata.finalizers}}
        patch cm f --type=merge -p '{free}'
        delete --raw /api/v1/namespaces/delete/configmaps/g
        delete cm h --grace-period=0 --force
        delete cm -l tier=web --wait=false
        delete cm -l tier=web
        delete cm
        delete pods --all
        """
    )


async def delete_pods(k: Kubectl) -> None:
    """Gracefully, by force, now, and without waiting."""
    await objects.fleet(k, "node-delete")
    pods = ("a", "b", "c", "d")
    await k("create -f -", given=text(*(objects.pod(name) for name in pods)))
    await k(
        """
        wait pod/a pod/b pod/c pod/d --for=condition=Ready --timeout=20s
        get pods
        delete pod a
        delete pod b --force --grace-period=0
        delete pod c --now
        delete pod d --wait=false --grace-period=2
        """
    )
    await k.quietly("wait --for=delete pod/d --timeout=20s")
    await k("get pods")


async def delete_cascade(k: Kubectl) -> None:
    """What becomes of dependents: they go after their owner, before it, or stay."""
    await objects.fleet(k, "node-cascade")
    kept = ("background", "foreground", "orphan")
    await k("create -f -", given=text(*(workload("ReplicaSet", one, replicas=1) for one in kept)))
    for one in kept:
        await objects.counted(k, f"rs {one}", "availableReplicas", 1)
    for one in kept:
        await k(f"delete rs {one} --cascade={one}")
    await k("get pods -l app=foreground")
    await k.quietly("wait --for=delete pods -l app=background --timeout=20s")
    await k("get rs,pods -o=jsonpath={.items[*].metadata.labels}")
    await k("get pods -l app=orphan -o=jsonpath={.items[*].metadata.ownerReferences}")
    await k("delete rs orphan --cascade=nonsense")
    await k("delete pods -l app=orphan", shuffled=True)
    others = (
        workload("StatefulSet", "db", replicas=1, serviceName="db"),
        workload("DaemonSet", "agent"),
        objects.job("sum", 60),
        objects.budget("db", minAvailable=1),
    )
    await k("create -f -", given=text(*others))
    await objects.counted(k, "sts db", "availableReplicas", 1)
    await k("delete sts,ds,job,pdb --all --cascade=foreground", shuffled=True)
    await k("get sts,ds,job,pdb,pods")
