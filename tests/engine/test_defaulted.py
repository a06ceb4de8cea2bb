"""Who is refused by a default hears which, and what to write."""

from __future__ import annotations

from typing import Any

from tests.builders import provisioner
from tests.engine.pieces import view_of, wants, with_spec
from tests.engine.scenes import instance_type, pod, required, solve, term
from unmoor.engine.refusal import Constraint
from unmoor.engine.scenery import scene_of
from unmoor.model import names
from unmoor.model.machine import TemplateRef

GPU = "nvidia.com/gpu"


def kind_of(name: str, category: str, generation: int = 5, **more: Any) -> Any:
    labels = {names.INSTANCE_CATEGORY: category, names.INSTANCE_GENERATION: str(generation)}
    return instance_type(name, labels=labels, **more)


TYPES = (
    kind_of("m5.large", "m"),
    kind_of("g5.xlarge", "g", extra={GPU: 1}),
    kind_of("p4.huge", "p", extra={GPU: 8}),
    kind_of("m6g.large", "m", arch="arm64"),
    kind_of("m2.huge", "m", generation=2, cpu=32),
)


def why(asked: Any, *requirements: Any) -> str:
    """Why a provisioner with these requirements does not do."""
    aws = TemplateRef(kind="AWSNodeTemplate", name="default")
    one = with_spec(provisioner(), provider_ref=aws, requirements=requirements)
    ((refusal,),) = solve(scene_of(view_of(one), TYPES), [asked]).refused.values()
    assert refusal.constraint in {Constraint.INSTANCE_TYPE, Constraint.REQUIREMENTS}
    return refusal.missing


def asking(cpu: str = "1", gpus: int = 0, **more: Any) -> Any:
    return pod("p", cpu=cpu, requests={GPU: str(gpus)} if gpus else {}, **more)


def test_types_that_the_default_categories_leave_out_are_named_and_how_to_get_them() -> None:
    said = why(asking(gpus=1))

    assert said.startswith("no type has room for cpu 1, nvidia.com/gpu 1 (")
    assert "g5.xlarge, p4.huge would do, but provisioner default says nothing of" in said
    assert f"by default gets {names.INSTANCE_CATEGORY} In [c, m, r]" in said
    assert said.endswith(f"allow g or p by a requirement on {names.INSTANCE_CATEGORY})")


def test_only_types_with_room_are_offered() -> None:
    said = why(asking(gpus=2))

    assert "p4.huge would do" in said
    assert "allow p by" in said


def test_a_type_that_a_pod_names_is_found_among_those_left_out() -> None:
    said = why(asking(nodeSelector={names.INSTANCE_TYPE: "g5.xlarge"}))

    assert said.startswith("of 1 type with room for cpu 1 none is to be had (")
    assert "(g5.xlarge would do, but provisioner default says nothing of" in said


def test_an_old_generation_is_asked_for_by_generation() -> None:
    said = why(asking(cpu="30"))

    assert "(m2.huge would do, but" in said
    assert said.endswith(f": add a requirement on {names.INSTANCE_GENERATION})")


def test_what_no_type_has_is_nobodys_default() -> None:
    assert why(asking(cpu="99")) == (
        "no type has room for cpu 99 (the largest in cpu is m5.large with 3.9)"
    )


def test_a_type_that_is_wanted_and_too_small_says_how_large_it_is() -> None:
    """Others with room are no reason to say that it is not sold."""
    wanted = asking(cpu="30", nodeSelector={names.INSTANCE_TYPE: "m5.large"})

    assert why(wanted, wants(names.INSTANCE_GENERATION, "Gt", "1")) == (
        "of 1 type with room for cpu 30 none is to be had (the largest in cpu is m5.large with 3.9)"
    )


def test_who_hears_what_is_in_the_way_hears_no_list_of_all_that_was_asked() -> None:
    said = why(asking(nodeSelector={names.ZONE: "us-east-1x"}))

    assert said.startswith("nothing is sold with topology.kubernetes.io/zone In [us-east-1x]; ")
    assert names.OS not in said


def test_what_a_person_wrote_about_types_is_no_default() -> None:
    said = why(asking(gpus=1), wants(names.INSTANCE_CATEGORY, "In", "m"))

    assert said == "no type has room for cpu 1, nvidia.com/gpu 1 (none has any nvidia.com/gpu)"


def test_a_label_that_has_its_usual_value_is_said_to_be_a_default() -> None:
    arm = asking(nodeSelector={names.ARCH: "arm64"})

    assert why(arm) == (
        "wanted kubernetes.io/arch In [arm64], but kubernetes.io/arch In [amd64] "
        "(that is the default where there is no requirement on it: add one)"
    )
    assert "that is the default" not in why(arm, wants(names.ARCH, "In", "amd64"))


def test_to_allow_a_category_is_no_remedy_where_something_else_is_in_the_way() -> None:
    near = {"podAffinity": required(term("rack"))}

    said = why(asking(gpus=1, affinity=near))

    assert "g5.xlarge, p4.huge would do, but" in said
    assert said.endswith(
        ": even with these: pod affinity: rack: a new node has no known value for it)"
    )
