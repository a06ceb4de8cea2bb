"""Rules in CEL of anybody's kind: when they are asked, what is said, and which are no rules."""

from typing import Any

import pytest

from tests.contract.customs import DOORS, Custom, own
from tests.contract.faces import Place
from tests.contract.wire import DEFINITIONS, Answer
from unmoor.model.base import JSON

TEXT: JSON = {"type": "string", "maxLength": 9}
NUMBER: JSON = {"type": "integer"}
NOT_ASKED = (
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


QUANTITIES = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
UNCORRELATED = "oldSelf cannot be used on the uncorrelatable portion of the schema within"


def ruled(schema: JSON, rule: str, **parts: Any) -> JSON:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **parts}]}


def listed(items: JSON, **parts: Any) -> JSON:
    return {"type": "array", "maxItems": 5, "items": items, **parts}


def record(**fields: JSON) -> JSON:
    return {"type": "object", "properties": fields}


SPEC: JSON = record(
    a=NUMBER,
    b=NUMBER,
    choice={"type": "string", "enum": ["x", "y"]},
    pattern={"type": "string", "pattern": "^a"},
    word=ruled(TEXT, "self != 'bad'", message="it is bad"),
    plain=ruled(NUMBER, "self < 5"),
    flag=ruled({"type": "boolean"}, "self", message="it must be"),
    told=ruled(TEXT, "self != 'bad'", messageExpression="'it is ' + self"),
    mute=ruled(listed(TEXT), "self.size() > 2", messageExpression="self[1]", message="too few"),
    forbidden=ruled(NUMBER, "self < 5", message="no", reason="FieldValueForbidden"),
    required=ruled(NUMBER, "self < 5", message="no", reason="FieldValueRequired"),
    duplicate=ruled(NUMBER, "self < 5", message="no", reason="FieldValueDuplicate"),
    items=listed(
        ruled(
            record(key={"type": "string", "maxLength": 3}, value=NUMBER),
            "self.value < 5",
            message="too much",
            fieldPath=".value",
        )
    ),
    counts={
        "type": "object",
        "maxProperties": 5,
        "additionalProperties": ruled(NUMBER, "self < 5", message="too much"),
    },
    amount=ruled(
        {"x-kubernetes-int-or-string": True},
        "!quantity(string(self)).isLessThan(quantity('0'))",
        message="below zero",
    ),
    rising=ruled(NUMBER, "self >= oldSelf", message="it may only rise"),
    named=listed(
        {
            **record(key=TEXT, value=ruled(NUMBER, "self >= oldSelf", message="only up")),
            "required": ["key"],
        },
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]},
    ),
) | {
    "x-kubernetes-validations": [
        {"rule": "!has(self.a) || !has(self.b)", "message": "not both", "fieldPath": ".a"},
        {"rule": "!has(self.a) || self.a < 9", "message": "a is too much"},
    ]
}


def version(spec: JSON) -> JSON:
    status = record(replicas=NUMBER, selector={"type": "string"})
    return {"schema": {"openAPIV3Schema": record(spec=spec, status=status)}, "subresources": DOORS}


@pytest.fixture
async def gauges(place: Place) -> Custom:
    """A kind with rules that all cases share."""
    custom = Custom(place, "Gauge", "gauges")
    await custom.define(**version(SPEC))
    return custom


def said(answer: Answer) -> list[tuple[str, str, str]]:
    """Reason, field and message of each cause."""
    return [(reason, field, message) for reason, message, field in answer.causes]


INVALID = "FieldValueInvalid"


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({"a": 1, "b": 2}, (INVALID, "a", "Invalid value: not both")),
        ({"a": 10}, (INVALID, "", "Invalid value: a is too much")),
        ({"word": "bad"}, (INVALID, "word", 'Invalid value: "bad": it is bad')),
        ({"plain": 7}, (INVALID, "plain", "Invalid value: 7: failed rule: self < 5")),
        ({"flag": False}, (INVALID, "flag", "Invalid value: false: it must be")),
        ({"told": "bad"}, (INVALID, "told", 'Invalid value: "bad": it is bad')),
        ({"mute": ["a", "b"]}, (INVALID, "mute", "Invalid value: b")),
        ({"mute": ["a"]}, (INVALID, "mute", "Invalid value: too few")),
        ({"forbidden": 7}, ("FieldValueForbidden", "forbidden", "Forbidden: no")),
        ({"required": 7}, ("FieldValueRequired", "required", "Required value: no")),
        ({"duplicate": 7}, ("FieldValueDuplicate", "duplicate", "Duplicate value: 7")),
        ({"items": [{"value": 7}]}, (INVALID, "items[0].value", "Invalid value: too much")),
        (
            {"items": [{"value": 1}, {}]},
            (
                INVALID,
                "items[1]",
                'Invalid value: "object": no such key: value evaluating rule: too much',
            ),
        ),
        ({"counts": {"x": 7}}, (INVALID, "counts[x]", "Invalid value: 7: too much")),
        ({"amount": -1}, (INVALID, "amount", "Invalid value: -1: below zero")),
        ({"amount": "-1Mi"}, (INVALID, "amount", 'Invalid value: "-1Mi": below zero')),
        (
            {"amount": "lots"},
            (
                INVALID,
                "amount",
                f'Invalid value: "": {QUANTITIES} evaluating rule: below zero',
            ),
        ),
    ],
    ids=str,
)
async def test_what_a_rule_says(gauges: Custom, spec: JSON, cause: tuple[str, str, str]) -> None:
    reason, field, message = cause

    answer = await gauges.create("a", spec)

    assert said(answer) == [(reason, f"spec.{field}".removesuffix("."), message)]


async def test_what_keeps_the_rules_is_taken(gauges: Custom) -> None:
    spec = {"a": 1, "word": "good", "amount": "1Mi", "counts": {"x": 1}, "flag": True, "rising": 1}

    assert (await gauges.create("a", spec)).body["spec"] == spec


@pytest.mark.parametrize(
    ("spec", "reason", "field"),
    [
        ({"choice": "z"}, "FieldValueNotSupported", "spec.choice"),
        ({"a": "text"}, "FieldValueTypeInvalid", "spec.a"),
        ({"items": [{"key": "long"}]}, "FieldValueTooLong", "spec.items[0].key"),
        ({"counts": dict.fromkeys("abcdef", 1)}, "FieldValueTooMany", "spec.counts"),
        ({"named": [{}]}, "FieldValueRequired", "spec.named[0].key"),
    ],
    ids=str,
)
async def test_no_rule_is_asked_about_what_is_not_whole(
    gauges: Custom, spec: JSON, reason: str, field: str
) -> None:
    answer = await gauges.create("a", {"word": "bad", **spec})

    assert [one[:2] for one in said(answer)] == sorted([(reason, field), (INVALID, "<nil>")])
    assert NOT_ASKED in {message for _, _, message in said(answer)}


async def test_rules_are_asked_beside_other_complaints(gauges: Custom) -> None:
    answer = await gauges.create("a", {"word": "bad", "pattern": "b"})

    assert [field for _, field, _ in said(answer)] == ["spec.pattern", "spec.word"]


async def change(custom: Custom, spec: JSON) -> Answer:
    return await custom.wire.patch(custom.ref("a"), {"spec": spec})


async def test_a_rule_about_a_change(gauges: Custom) -> None:
    await gauges.create("a", {"rising": 3})

    fallen, risen = await change(gauges, {"rising": 2}), await change(gauges, {"rising": 4})

    assert said(fallen) == [(INVALID, "spec.rising", "Invalid value: 2: it may only rise")]
    assert risen.code == 200


async def test_a_rule_about_a_change_finds_the_entry_by_its_key(gauges: Custom) -> None:
    await gauges.create("a", {"named": [{"key": "x", "value": 1}, {"key": "y", "value": 5}]})

    fallen = await change(gauges, {"named": [{"key": "y", "value": 4}, {"key": "x", "value": 1}]})
    swapped = await change(gauges, {"named": [{"key": "y", "value": 5}, {"key": "x", "value": 1}]})

    assert [field for _, field, _ in said(fallen)] == ["spec.named[0].value"]
    assert swapped.code == 200


OLD: JSON = record(
    x=NUMBER,
    y=NUMBER,
    list=listed(record(x=NUMBER)),
    map={"type": "object", "maxProperties": 5, "additionalProperties": NUMBER},
    both=record(x=NUMBER, y=NUMBER),
)
BAD: JSON = {
    "x": -1,
    "y": -1,
    "list": [{"x": -1}, {"x": 1}],
    "map": {"p": -1, "q": 1},
    "both": {"x": -1, "y": 1},
}


def stricter(number: JSON) -> JSON:
    return record(
        x=number,
        y=number,
        list=listed(record(x=number)),
        map={"type": "object", "maxProperties": 5, "additionalProperties": number},
        both=record(x=number, y=NUMBER),
    )


@pytest.mark.parametrize(
    "number",
    [{**NUMBER, "minimum": 0}, ruled(NUMBER, "self >= 0", message="below zero")],
    ids=["bound", "rule"],
)
async def test_what_was_there_before_the_rule_may_stay_and_may_not_become_worse(
    place: Place, number: JSON
) -> None:
    custom = own(place, "gauge")
    await custom.define(**version(OLD))
    await custom.create("a", BAD)
    definition = version(stricter(number))["schema"]
    one = {"name": "v1", "served": True, "storage": True, "schema": definition}
    changed = {"spec": {"versions": [{**one, "subresources": DOORS}]}}
    assert (await custom.wire.patch(custom.definition, changed)).code == 200
    await custom.until_refused({"x": -1})

    codes = {
        "labels": (
            await custom.wire.patch(custom.ref("a"), {"metadata": {"labels": {"a": "b"}}})
        ).code,
        "one mended": (await change(custom, {"y": 1})).code,
        "one still wrong": (await change(custom, {"x": -2})).code,
        "its list touched": (await change(custom, {"list": [{"x": -1}, {"x": 2}]})).code,
        "its map touched": (await change(custom, {"map": {"q": 2}})).code,
        "its neighbour touched": (await change(custom, {"both": {"y": 2}})).code,
    }

    assert codes == {
        "labels": 200,
        "one mended": 200,
        "one still wrong": 422,
        "its list touched": 422,
        "its map touched": 200,
        "its neighbour touched": 200,
    }


RULE = "spec.validation.openAPIV3Schema.properties[spec].properties[x]"


@pytest.mark.parametrize(
    ("schema", "reason", "field", "text"),
    [
        (ruled(TEXT, "self =="), INVALID, ".rule", "compilation failed: ERROR: <input>:1:8: Syn"),
        (ruled(TEXT, "other == 'a'"), INVALID, ".rule", "undeclared reference to 'other'"),
        (ruled(TEXT, "boom(self)"), INVALID, ".rule", "undeclared reference to 'boom'"),
        (ruled(TEXT, " "), "FieldValueRequired", ".rule", "Required value: rule is not specified"),
        (
            ruled(TEXT, "self == ''", reason="No"),
            "FieldValueNotSupported",
            ".reason",
            'Unsupported value: "No": supported values: "FieldValueDuplicate", "FieldValueForb',
        ),
        (
            ruled(record(a=NUMBER), "self.a == 1", fieldPath=".b"),
            INVALID,
            ".fieldPath",
            'Invalid value: ".b": must be a valid path',
        ),
        (
            ruled(TEXT, "self == ''", messageExpression="self +"),
            INVALID,
            ".messageExpression",
            "messageExpression compilation failed: ERROR: <input>:1:7: Syntax error",
        ),
        (
            ruled(TEXT, "self == ''", message="a\nb"),
            INVALID,
            ".message",
            r'Invalid value: "a\nb": must not contain line breaks',
        ),
    ],
    ids=str,
)
async def test_what_is_no_rule_is_refused_with_its_definition(
    place: Place, schema: JSON, reason: str, field: str, text: str
) -> None:
    answer = await refused_definition(place, schema)

    assert [one[:2] for one in said(answer)] == [
        (reason, f"{RULE}.x-kubernetes-validations[0]{field}")
    ]
    assert text in said(answer)[0][2]


async def test_a_rule_about_a_change_wants_to_know_the_entry(place: Place) -> None:
    answer = await refused_definition(place, listed(ruled(TEXT, "self == oldSelf")))

    assert said(answer) == [
        (
            INVALID,
            f"{RULE}.items.x-kubernetes-validations[0].rule",
            f'Invalid value: "self == oldSelf": {UNCORRELATED} {RULE}',
        )
    ]


async def refused_definition(place: Place, schema: JSON) -> Answer:
    custom = own(place, "gauge")
    body = custom.body(**version(record(x=schema)))
    answer = await custom.wire.create(DEFINITIONS, body)
    assert answer.code == 422, answer.message
    return answer
