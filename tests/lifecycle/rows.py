"""The rows that tests run in the small world, with the keys that they are stepped for."""

from __future__ import annotations

from tests.lifecycle.driver import Row
from unmoor.lifecycle import (
    consistency,
    deprovisioning,
    disruption_conditions,
    garbage,
    leases,
    machine,
    node_template,
    provisioner,
    provisioning,
    termination,
)
from unmoor.model.kinds import LEASES, MACHINES, NODE_TEMPLATES, NODES, PROVISIONERS
from unmoor.model.snapshot import View


def _machines(view: View) -> list[str]:
    return [name for _, name in view.all(MACHINES)]


TERMINATION = Row("termination", termination.advance, lambda view: [n for _, n in view.all(NODES)])
MACHINE = Row("machine", machine.advance, _machines)
CONDITIONS = Row("disruption-conditions", disruption_conditions.advance, _machines)
DEPROVISIONING = Row("deprovisioning", deprovisioning.advance, lambda _: ["all"])
PROVISIONING = Row("provisioning", provisioning.advance, lambda _: ["all"])
GARBAGE = Row("garbage", garbage.advance, lambda _: ["all"])
LEASE = Row("leases", leases.advance, lambda view: [name for _, name in view.all(LEASES)])
CONSISTENCY = Row("consistency", consistency.advance, _machines)
PROVISIONER = Row(
    "provisioner", provisioner.advance, lambda view: [name for _, name in view.all(PROVISIONERS)]
)
NODE_TEMPLATE = Row(
    "node-template", node_template.advance, lambda view: [n for _, n in view.all(NODE_TEMPLATES)]
)
ALL = (TERMINATION, MACHINE, CONDITIONS, DEPROVISIONING, PROVISIONING, GARBAGE, LEASE, CONSISTENCY)
