"""What do the selectors of a node template find? It is told on the template itself. (spec 1.4)

``status`` lists the subnets, security groups and images; an annotation follows what is static in
it. The cloud is asked when a selector changes and every ``cadence.nodeTemplateRefresh``. A selector
that finds nothing is an error of somebody's, and is told; machines do not drift by it.

Only templates of provisioners whose machines are ours are written: others have another controller.

Must not: judge machines (``policy.drifted``).
"""

from __future__ import annotations

from typing import Any

import msgspec

from unmoor.lifecycle.effects import Observe, describe, patch_as_seen
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model import names
from unmoor.model.kinds import NODE_TEMPLATES, PROVISIONERS, ref_of
from unmoor.model.moment import Moment
from unmoor.model.node_template import AWSNodeTemplate, AWSNodeTemplateStatus, validate
from unmoor.model.observation import Asked
from unmoor.model.selection import Selection, Wish, wish_of
from unmoor.model.snapshot import View
from unmoor.model.static_hash import template_hash_of
from unmoor.policy import made_from
from unmoor.policy.ownership import is_our_machine
from unmoor.policy.verdict import Method, Reason, Verdict

TOLD_MAX = 10
"""So many errors of one template are told."""


def advance(view: View, key: str, memory: None, moment: Moment) -> Step[Any]:
    """Look at the template called ``key``, and write down what it finds."""
    del memory
    template = view.get(NODE_TEMPLATES, key)
    if template is None or template.is_deleting or ("", key) in view.broken(NODE_TEMPLATES):
        return Step()
    if not _is_ours(view, template):
        return Step()
    errors = validate(template)
    if errors:
        return spoken(*(_told(template, Reason.INVALID, str(one)) for one in errors[:TOLD_MAX]))
    return _look(view, template, moment)


def _is_ours(view: View, template: AWSNodeTemplate) -> bool:
    """Somebody of ours uses it: a provisioner with machines of ours, or with none at all yet."""
    if not view.identity.cluster or not view.identity.scheme:
        return False
    users = [
        one for one in view.sorted(PROVISIONERS) if made_from.template_of(view, one) is template
    ]
    machines = [machine for one in users for machine in view.machines_launched_by(one.name)]
    if not machines:
        return bool(users)
    return any(is_our_machine(machine, view.identity) for machine in machines)


def _look(view: View, template: AWSNodeTemplate, moment: Moment) -> Step[Any]:
    wish = wish_of(template)
    answer = view.answer(Asked.SELECTION, wish.subject)
    again_at = (
        None if answer is None else answer.again_at(_pause_s(view, is_known=answer.problem is None))
    )
    if answer is None or (again_at is not None and moment.mono >= again_at):
        return Step(effects=(Observe(asked=Asked.SELECTION, subject=wish.subject),))
    hashed = {names.NODE_TEMPLATE_HASH: template_hash_of(template)}
    if not hashed.items() <= template.metadata.annotations.items():
        why = "what is static in it has changed"
        return Step(effects=(describe(template, annotations=hashed, why=why),), wake_at=again_at)
    if answer.problem is not None:
        message = f"what it selects cannot be told: {answer.problem.message}"
        verdict = _told(template, Reason.NOTHING_SELECTED, _about(template, message))
        return spoken(verdict, wake_at=again_at)
    step: Step[Any] = _written(template, answer.result or Selection())
    empty = _finds_nothing(wish, answer.result or Selection())
    verdicts = [
        _told(template, Reason.NOTHING_SELECTED, _about(template, f"{one} finds nothing"))
        for one in empty
    ]
    return join(step, spoken(*verdicts, wake_at=again_at))


def _pause_s(view: View, *, is_known: bool) -> float:
    cadence = view.settings.cadence
    return cadence.node_template_refresh_s if is_known else cadence.pending_pod_retry_s


def _written(template: AWSNodeTemplate, found: Selection) -> Step[Any]:
    status = AWSNodeTemplateStatus(
        subnets=found.subnets, security_groups=found.security_groups, amis=found.images
    )
    if status == template.status:
        return Step()
    body = {
        "status": {
            "subnets": msgspec.to_builtins(found.subnets),
            "securityGroups": msgspec.to_builtins(found.security_groups),
            "amis": msgspec.to_builtins(found.images),
        }
    }
    why = "what its selectors find has changed"
    return Step(effects=(patch_as_seen(template, body, subresource="status", why=why),))


def _finds_nothing(wish: Wish, found: Selection) -> list[str]:
    """The selectors that find nothing, though they should."""
    empty = []
    if not found.subnets:
        empty.append("spec.subnetSelector")
    if not found.security_groups and wish.security_groups:
        empty.append("spec.securityGroupSelector")
    if not found.images and not wish.is_launch_template:
        empty.append("spec.amiSelector" if wish.images else "spec.amiFamily")
    return empty


def _about(template: AWSNodeTemplate, message: str) -> str:
    remedy = "machines do not drift by it while this lasts; mend the selector or the account"
    return f"awsnodetemplate/{template.name}: {message}; {remedy}"


def _told(template: AWSNodeTemplate, reason: Reason, message: str) -> Verdict:
    return Verdict(
        subject=ref_of(template),
        method=Method.LIFECYCLE,
        reason=reason,
        message=message,
        event="Invalid" if reason is Reason.INVALID else "NothingSelected",
        is_warning=True,
    )
