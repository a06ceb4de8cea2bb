"""R28: what `validate` refuses the API server refuses, too, and nothing else (see crd_rules)."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from tests.contract import rules
from tests.contract.faces import Place
from tests.contract.rules import Case
from unmoor.model import crds, node_template, provisioner
from unmoor.model.base import JSON
from unmoor.model.kinds import NODE_TEMPLATES, PROVISIONERS, Resource
from unmoor.model.validation import FieldError
from unmoor.runtime.ports import ApiError


class Ruled(msgspec.Struct, frozen=True):
    """A kind with rules: how it is judged, and its cases."""

    resource: Resource[Any]
    least: JSON
    right: list[Case]
    wrong: list[Case]
    validate: Callable[[Any], tuple[FieldError, ...]]
    definition: JSON

    def spec(self, parts: JSON) -> JSON:
        spec = {**self.least, **parts}
        return {name: value for name, value in spec.items() if value is not None}

    def judged(self, parts: JSON) -> tuple[FieldError, ...]:
        """What our own code has against it."""
        body = {"metadata": {"name": "a"}, "spec": self.spec(parts)}
        return self.validate(msgspec.convert(body, self.resource.type))


RULED = [
    Ruled(
        PROVISIONERS,
        rules.PROVISIONER,
        [*rules.RIGHT_PROVISIONERS, *rules.T370_RIGHT],
        [*rules.WRONG_PROVISIONERS, *rules.T370_WRONG],
        provisioner.validate,
        crds.provisioner(),
    ),
    Ruled(
        NODE_TEMPLATES,
        rules.TEMPLATE,
        rules.RIGHT_TEMPLATES,
        rules.WRONG_TEMPLATES,
        node_template.validate,
        crds.aws_node_template(),
    ),
]
EACH = pytest.mark.parametrize("ruled", RULED, ids=["provisioner", "node template"])


def messages(schema: Any) -> Iterator[str]:
    """What each rule in CEL of a definition says."""
    if isinstance(schema, dict):
        for rule in schema.get("x-kubernetes-validations", ()):
            yield rule["message"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from messages(inner)


async def refusals(place: Place, ruled: Ruled, cases: list[Case]) -> dict[str, list[str]]:
    """What the server has against each case, by the name of the case."""
    found: dict[str, list[str]] = {}
    for name, parts in cases:
        body = {"metadata": {"name": place.name("ruled")}, "spec": ruled.spec(parts)}
        try:
            await place.create(ruled.resource, body, dry_run=True)
        except ApiError as error:
            found[name] = [one["message"] for one in error.status["details"].get("causes", ())]
    return found


@EACH
async def test_the_server_and_our_code_take_the_same(place: Place, ruled: Ruled) -> None:
    refused = await refusals(place, ruled, ruled.right)

    assert {name: ruled.judged(parts) for name, parts in ruled.right if ruled.judged(parts)} == {}
    assert refused == {}


@EACH
async def test_the_server_and_our_code_refuse_the_same(place: Place, ruled: Ruled) -> None:
    refused = await refusals(place, ruled, ruled.wrong)

    assert [name for name, parts in ruled.wrong if not ruled.judged(parts)] == []
    assert [name for name, _ in ruled.wrong if name not in refused] == []


@EACH
async def test_each_rule_refuses_something_with_the_remedy_that_our_code_gives(
    place: Place, ruled: Ruled
) -> None:
    refused = await refusals(place, ruled, ruled.wrong)
    wanted, met, unlike = set(messages(ruled.definition)), set[str](), []
    for name, parts in ruled.wrong:
        remedies = {error.remedy for error in ruled.judged(parts)}
        for text in refused.get(name, ()):
            said = {one for one in wanted if text.endswith(one)}
            met |= said
            unlike += [one for one in said if not any(one.endswith(r) for r in remedies)]

    assert wanted - met == set()
    assert unlike == []
