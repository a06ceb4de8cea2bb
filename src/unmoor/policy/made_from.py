"""What was a machine made from, and is that still what would be asked for? (002, static; spec 7.3)

A machine bears the hashes of the static parts of its provisioner and its node template, and a
record of their fields, so that it can be said which field has changed and how. They are written
when it is created, and once more where there is none that we can compare (R15): such a machine has
not drifted by that. Nothing that anybody does to nodes or instances matters here.

Must not: write anything, or ask a cloud.
"""

from __future__ import annotations

import msgspec

from unmoor.model import names
from unmoor.model.drift_fields import Reason
from unmoor.model.kinds import NODE_TEMPLATES
from unmoor.model.machine import MACHINE_DRIFTED, Machine
from unmoor.model.node_template import AWSNodeTemplate
from unmoor.model.provisioner import Provisioner
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.model.static_hash import (
    VERSION,
    Fields,
    digest,
    is_current,
    provisioner_fields,
    record_of,
    template_fields,
)

NOTHING = "nothing"
TEMPLATE_KIND = "AWSNodeTemplate"
DRIFT_BY = {
    names.PROVISIONER_HASH: Reason.PROVISIONER,
    names.NODE_TEMPLATE_HASH: Reason.NODE_TEMPLATE,
}
"""The hashes, and the reason of a machine that has drifted by one."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """The static fields, as text: of the provisioner and of the node template; None: unknown."""

    provisioner: dict[str, str] | None = None
    template: dict[str, str] | None = None


def is_on(settings: Settings, machine: Machine) -> bool:
    """R15: the gate; unset, drift is on for the machines that unmoor itself launched."""
    if settings.drift_enabled is not None:
        return settings.drift_enabled
    return names.LAUNCH_ATTEMPT in machine.metadata.annotations and not machine.linked_to


def template_of(view: View, provisioner: Provisioner) -> AWSNodeTemplate | None:
    """Return the node template that a provisioner names, None when there is none (to be seen)."""
    ref = provisioner.spec.provider_ref
    if ref is None or ref.kind not in {"", TEMPLATE_KIND}:
        return None
    return view.get(NODE_TEMPLATES, ref.name)


def stamps(view: View, provisioner: Provisioner) -> dict[str, str]:
    """Return the annotations of a machine that is made now."""
    own = provisioner_fields(provisioner)
    template = template_of(view, provisioner)
    found = {names.PROVISIONER_HASH: digest(own)}
    record = Record(provisioner=record_of(own))
    if template is not None:
        fields = template_fields(template)
        found[names.NODE_TEMPLATE_HASH] = digest(fields)
        record = msgspec.structs.replace(record, template=record_of(fields))
    found[names.MADE_FROM] = msgspec.json.encode(record, order="sorted").decode()
    return found


def missing_stamps(view: View, machine: Machine, provisioner: Provisioner) -> dict[str, str]:
    """Return the stamps that a machine lacks, {} when it can be compared as it is (R15, R45).

    One that has drifted by a hash of an older version has drifted still.
    """
    wanted = stamps(view, provisioner)
    held = machine.metadata.annotations
    lacking = [key for key in DRIFT_BY if key in wanted and not is_current(held.get(key, ""))]
    drifted = machine.condition(MACHINE_DRIFTED)
    reason = drifted.reason if drifted is not None and drifted.status == "True" else ""
    kept = {key: held[key] for key in lacking if held.get(key) and DRIFT_BY[key] == reason}
    if not lacking:
        return {}
    stamped = {key: wanted[key] for key in lacking if key not in kept}
    older = {key: f"{VERSION}was-{hash_}" for key, hash_ in kept.items()}
    record = _record(machine)
    now = msgspec.json.decode(wanted[names.MADE_FROM], type=Record)
    if names.PROVISIONER_HASH in stamped:
        record = msgspec.structs.replace(record, provisioner=now.provisioner)
    if names.NODE_TEMPLATE_HASH in stamped:
        record = msgspec.structs.replace(record, template=now.template)
    written = msgspec.json.encode(record, order="sorted").decode()
    return {**stamped, **older, names.MADE_FROM: written}


def changed_fields(machine: Machine, provisioner: Provisioner) -> tuple[str, ...]:
    """Say which static fields of its provisioner are not what the machine was made from.

    () also while nobody can know: either side has no hash of ours (T106, T107).
    """
    if not is_current(provisioner.metadata.annotations.get(names.PROVISIONER_HASH, "")):
        return ()
    return _changed(
        machine,
        names.PROVISIONER_HASH,
        _record(machine).provisioner,
        provisioner_fields(provisioner),
    )


def changed_template_fields(machine: Machine, template: AWSNodeTemplate) -> tuple[str, ...]:
    """Say the same of its node template."""
    return _changed(
        machine, names.NODE_TEMPLATE_HASH, _record(machine).template, template_fields(template)
    )


def _changed(
    machine: Machine, annotation: str, before: dict[str, str] | None, now: Fields
) -> tuple[str, ...]:
    held = machine.metadata.annotations.get(annotation, "")
    if not is_current(held) or held == digest(now):
        return ()
    bare = (f"{annotation}: {held} -> {digest(now)}",)
    if before is None:
        return bare
    after = record_of(now)
    fields = sorted({*before, *after})
    said = tuple(
        f"{name}: {before.get(name, NOTHING)} -> {after.get(name, NOTHING)}"
        for name in fields
        if before.get(name) != after.get(name)
    )
    return said or bare


def _record(machine: Machine) -> Record:
    """What stands on the machine; somebody may have written anything there."""
    try:
        return msgspec.json.decode(
            machine.metadata.annotations.get(names.MADE_FROM, "{}"), type=Record
        )
    except msgspec.MsgspecError:
        return Record()
