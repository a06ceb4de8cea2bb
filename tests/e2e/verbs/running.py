"""What people do with kubectl to nodes and workloads."""

from __future__ import annotations

from tests.e2e.kubectl import Kubectl
from tests.e2e.verbs import objects
from tests.e2e.verbs.objects import fleet, text, workload

IMAGES = "-o=jsonpath={.spec.template.spec.containers[*].image}"


async def taint(k: Kubectl) -> None:
    """Put on, replaced, taken off; of one and of some."""
    await fleet(k, "node-taint", "node-other")
    await k(
        """
        taint node node-taint team=a:NoSchedule
        taint node node-taint team=a:NoSchedule
        taint node node-taint team=b:NoSchedule --overwrite
        taint node node-taint team=b:Whenever
        taint node node-taint team=c:PreferNoSchedule bare:NoSchedule
        get node node-taint -o=jsonpath={.spec.taints}
        taint node node-taint team:NoSchedule-
        taint node node-taint team-
        taint node node-taint team-
        taint node node-taint late=yes:NoExecute --dry-run=server
        taint nodes -l sim.unmoor.dev/hollow=true some=yes:NoSchedule
        taint nodes --all some-
        taint node nobody a=b:NoSchedule
        get node node-taint -o=jsonpath={.spec.taints}
        """
    )


async def cordon(k: Kubectl) -> None:
    """Cordoned, twice, and back again."""
    await fleet(k, "node-cordon", "node-other")
    await k(
        """
        cordon node-cordon --dry-run=server
        cordon node-cordon
        cordon node-cordon
        get nodes --no-headers
        get nodes --field-selector=spec.unschedulable=true -o=name
        uncordon node-cordon
        uncordon node-cordon
        cordon -l sim.unmoor.dev/hollow=true
        uncordon node-cordon node-other
        cordon nobody
        cordon
        label node node-cordon node-role.kubernetes.io/worker=
        get nodes
        get node node-cordon -o=custom-columns=ROLE:.metadata.labels
        delete node node-cordon node-other
        get nodes
        """
    )


async def drain(k: Kubectl) -> None:
    """What is refused, what is said beforehand, and what is left."""
    await fleet(k, "node-drain", "node-other")
    scratch = {"volumes": [{"name": "scratch", "emptyDir": {}}]}
    made = (
        workload("DaemonSet", "agent"),
        workload("Deployment", "web", replicas=2),
        objects.pod("lonely"),
        objects.pod("writer", **scratch),
        objects.pod("other"),
    )
    await k("cordon node-other")
    await k("create -f -", given=text(*made))
    await objects.counted(k, "deployment web", "availableReplicas", 2)
    await objects.counted(k, "ds agent", "numberReady", 2)
    await k("wait pod/lonely pod/writer pod/other --for=condition=Ready --timeout=20s")
    await k("label pod other app=other --overwrite")
    await k("uncordon node-other")
    await k("drain nobody")
    await k("drain node-drain", shuffled=True)
    await k("uncordon node-drain")
    await k("drain node-drain --ignore-daemonsets", shuffled=True)
    await k("drain node-drain --ignore-daemonsets --force", shuffled=True)
    every = "drain node-drain --ignore-daemonsets --force --delete-emptydir-data"
    await k(f"{every} --dry-run=server", shuffled=True)
    await k(f"{every} --dry-run=client", shuffled=True)
    await k("get pods --field-selector=spec.nodeName=node-drain -o=name", shuffled=True)
    await k("drain node-drain --ignore-daemonsets --force --pod-selector=app=other", shuffled=True)
    await k("create pdb web --selector=app=web --min-available=2")
    await objects.counted(k, "pdb web", "currentHealthy", 2)
    await k(f"{every} --pod-selector=app=web --timeout=2s", shuffled=True)
    await k("delete pdb web")
    await k(every, shuffled=True)
    await k("get pods --field-selector=spec.nodeName=node-drain -o=wide")
    await k(every, shuffled=True)
    await objects.counted(k, "deployment web", "availableReplicas", 2)
    await k("create pdb web --selector=app=web --min-available=2")
    await objects.counted(k, "pdb web", "currentHealthy", 2)
    await k("uncordon node-drain")
    await k(
        "drain node-other --ignore-daemonsets --disable-eviction --grace-period=1", shuffled=True
    )
    await k("get nodes")


async def scale(k: Kubectl) -> None:
    """Up, down, only if, all of them; and what cannot be scaled."""
    made = (
        workload("Deployment", "web", replicas=0),
        workload("StatefulSet", "db", replicas=0, serviceName="db"),
        workload("ReplicaSet", "set", replicas=0),
        workload("DaemonSet", "agent"),
    )
    await fleet(k, "node-scale")
    await k("create -f -", given=text(*made))
    await k(
        """
        scale deployment web --replicas=2
        scale deployment web --replicas=2 --current-replicas=7
        scale deployment web --replicas=1 --current-replicas=2
        scale sts/db rs/set --replicas=1
        scale sts db --replicas=2 --dry-run=server
        scale rs -l app=set --replicas=0
        scale deployment --all --replicas=1
        scale deployment web --replicas=-1
        scale deployment nobody --replicas=1
        scale ds agent --replicas=1
        scale node node-scale --replicas=1
        """
    )
    await objects.counted(k, "deployment web", "availableReplicas", 1)
    await objects.counted(k, "sts db", "availableReplicas", 1)
    await k("get deployment,rs,sts")
    await k("scale sts db --replicas=0")
    await k.quietly("wait --for=delete pod/db-0 --timeout=20s")
    await k("get pods -l app=db")


async def rollout(k: Kubectl) -> None:
    """A Deployment's history: new templates, the one before, one that it never had."""
    await fleet(k, "node-rollout")
    await k("create -f -", given=text(workload("Deployment", "web", replicas=2)))
    await _rolled_out(k, "deployment/web")
    await k(
        """
        get deployment web -o=wide
        get rs -o=wide
        get pods -l app=web
        rollout status deployment/web
        rollout history deployment/web
        set image deployment/web main=img:2
        """
    )
    await _rolled_out(k, "deployment/web")
    await k("annotate deployment web kubernetes.io/change-cause='the second image'")
    await k.until("the second image", "rollout history deployment/web")
    await k(
        """
        rollout history deployment/web
        rollout history deployment/web --revision=2
        rollout history deployment/web --revision=7
        rollout undo deployment/web --dry-run=server
        rollout undo deployment/web
        """
    )
    await _rolled_out(k, "deployment/web")
    await k(
        f"""
        get deployment web {IMAGES}
        rollout history deployment/web
        rollout undo deployment/web --to-revision=77
        rollout undo deployment/web --to-revision=2
        """
    )
    await _rolled_out(k, "deployment/web")
    await k(
        f"""
        get deployment web {IMAGES}
        rollout status deployment/web --revision=1
        rollout restart deployment/web
        """
    )
    await _rolled_out(k, "deployment/web")
    await k("rollout status deployment/nobody")
    await k("create configmap a")
    await k("rollout history cm/a")


async def rollout_pause(k: Kubectl) -> None:
    """No new template for a while."""
    await fleet(k, "node-pause")
    await k("create -f -", given=text(workload("Deployment", "web", replicas=2)))
    await _rolled_out(k, "deployment/web")
    await k("set image deployment/web main=img:2")
    await _rolled_out(k, "deployment/web")
    await k(
        """
        wait --for=condition=Available deployment/web --timeout=20s
        wait --for=jsonpath={.spec.replicas}=2 deployment/web --timeout=20s
        rollout pause deployment/web
        rollout pause deployment/web
        rollout undo deployment/web
        rollout restart deployment/web
        set image deployment/web main=img:3
        get pods -l app=web -o=jsonpath={.items[*].spec.containers[*].image}
        rollout resume deployment/web
        rollout resume deployment/web
        """
    )
    await _rolled_out(k, "deployment/web")
    await k("get pods -l app=web -o=jsonpath={.items[*].spec.containers[*].image}")


async def rollout_of_sets(k: Kubectl) -> None:
    """The same of StatefulSets and DaemonSets, which keep their history in revisions."""
    await fleet(k, "node-sets")
    made = (
        workload("StatefulSet", "db", replicas=2, serviceName="db"),
        workload("DaemonSet", "agent"),
    )
    await k("create -f -", given=text(*made))
    for one in ("statefulset/db", "daemonset/agent"):
        await _rolled_out(k, one)
        await k(f"rollout history {one}")
        await k(f"set image {one} main=img:2")
        await _rolled_out(k, one)
        await k(
            f"""
            rollout status {one}
            get {one} {IMAGES}
            rollout history {one}
            rollout history {one} --revision=2
            rollout undo {one} --dry-run=server
            rollout undo {one}
            """
        )
        await _rolled_out(k, one)
        await k(
            f"""
            get {one} {IMAGES}
            rollout history {one}
            rollout undo {one}
            """
        )
        await _rolled_out(k, one)
        await k(
            f"""
            rollout undo {one} --to-revision=77
            rollout undo {one} --to-revision=4
            rollout pause {one}
            rollout restart {one}
            """
        )
        await _rolled_out(k, one)
        await k(f"rollout history {one}")
    await k("get pods -o=jsonpath={.items[*].spec.containers[*].image}")
    await k("get controllerrevisions -l app=db --sort-by=.revision", only="^NAME|^db")


async def set_(k: Kubectl) -> None:
    """Images, resources and variables, of all that has a template."""
    made = (
        workload("Deployment", "web", replicas=0),
        workload("StatefulSet", "db", replicas=0, serviceName="db"),
        workload("DaemonSet", "agent"),
    )
    spec = "-o=jsonpath={.spec.template.spec.containers}"
    await k("create -f -", given=text(*made))
    await k("create configmap settings --from-literal=k=v")
    await k(
        f"""
        set image deployment/web main=img:2
        set image deployment/web main=img:2
        set image deployment/web nobody=img:2
        set image sts/db ds/agent *=img:3 --dry-run=server
        set image deployment,sts,ds --all main=img:4
        set resources deployment/web --requests=cpu=10m,memory=1Mi --limits=memory=2Mi
        set resources deployment/web --requests=cpu=lots
        set env deployment/web A=b C=d
        set env deployment/web C- --overwrite
        set env deployment/web --from=configmap/settings --prefix=S_
        set env deployment/web --list
        set env deployment/web --list --resolve
        set serviceaccount deployment/web robot
        get deployment web {spec}
        get deployment web -o=jsonpath={{.spec.template.spec.serviceAccountName}}
        """
    )


async def _rolled_out(k: Kubectl, what: str) -> None:
    """Until every pod is of the newest template, and those of others are gone."""
    found = await k.quietly(f"rollout status {what} --timeout=25s")
    assert found.code == 0, found
    await k.until("[]", "get pods -o=jsonpath=[{.items[*].metadata.deletionTimestamp}]")
