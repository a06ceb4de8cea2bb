"""What people make with kubectl beside workloads, and nobody acts on in the embedded cluster."""

from __future__ import annotations

from tests.e2e.kubectl import Kubectl

PORTS = "-o=jsonpath={.items[*].spec.ports[*].port}"


async def expose(k: Kubectl) -> None:
    """Services of a workload, and of a Service."""
    await k(
        f"""
        create deployment web --image=img:1 --replicas=0
        expose deployment web --port=80 --target-port=8080
        expose deployment web --port=80
        expose deployment web --port=443 --name=outward --type=NodePort
        expose service web --port=81 --name=again
        get services --selector=app=web -o=name
        get services {PORTS}
        get service web again -o=wide
        expose deployment nobody --port=80
        delete services --all
        """
    )


async def create_stored(k: Kubectl) -> None:
    """Every generator of what is only stored."""
    await k(
        """
        create secret generic one --from-literal=a=b
        create secret docker-registry two --docker-username=a --docker-password=b
        get secrets one two
        create serviceaccount robot
        create quota one --hard=pods=2,services=9
        create role reader --verb=get,list --resource=pods,services
        create rolebinding readers --role=reader --user=bob --serviceaccount=default:robot
        create clusterrole kubectl:reader --verb=get --resource=nodes --dry-run=server
        create clusterrolebinding kubectl:readers --clusterrole=view --group=g --dry-run=server
        get role,rolebinding -o=wide
        create service clusterip one --tcp=80:8080
        create service externalname out --external-name=example.com
        create service clusterip none --clusterip=None
        get services -o=wide
        create ingress one --rule=a.example.com/x*=one:80,tls=one
        get ingress
        describe secret one
        describe role reader
        describe rolebinding readers
        delete secret,role,rolebinding,service,ingress,quota --all
        """
    )
