"""Each model against its contract: the contract's facts are in fixtures/facts, a valid record in fixtures/documents."""

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pydantic
import pytest

from agent_workflow.evidence_schemas import find_contract

FIXTURES = Path(__file__).parent / "fixtures"
LEAST, MOST = -(2**63), 2**63 - 1
ABSENT = object()
Place = tuple[str | int, ...]
SAMPLES: dict[str, list[Any]] = {
    "string": ["text"],
    "integer": [3],
    "number": [1.5],
    "boolean": [True, False],
    "null": [None],
    "array": [[]],
    "object": [{}],
}


@dataclass(frozen=True)
class Field:
    """One field of a contract, at its place in the fixture document."""

    path: Place
    facts: dict[str, Any]
    required: bool

    @property
    def types(self) -> list[str]:
        """The JSON types the contract names; empty for a constant, a closed list and anything at all."""
        types = self.facts.get("type", [])
        return [types] if isinstance(types, str) else types


@dataclass(frozen=True)
class Case:
    """A contract's facts with one document that is valid."""

    contract_id: str
    facts: dict[str, Any]
    document: dict[str, Any]

    def __str__(self) -> str:
        return self.contract_id

    def resolve(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Follow a reference to one of the contract's named shapes."""
        return self.facts["$defs"][facts["$ref"].rsplit("/", 1)[1]] if "$ref" in facts else facts

    def objects(self) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Every object of the document whose fields the contract names."""
        facts = self.facts
        for choice in facts.get("oneOf", []):
            shape = self.resolve(choice)
            if set(self.document) <= set(shape["properties"]):
                facts = shape
        yield from self._objects((), facts, self.document)

    def _objects(self, path: Place, facts: dict[str, Any], value: Any) -> Iterator[tuple[Place, dict[str, Any]]]:
        facts = self.resolve(facts)
        if isinstance(value, dict) and "properties" in facts:
            yield path, facts
            for name, inner in facts["properties"].items():
                yield from self._objects((*path, name), inner, value.get(name))
        if isinstance(value, list) and "items" in facts:
            yield from self._objects((*path, 0), facts["items"], value[0])

    def fields(self) -> Iterator[Field]:
        """Every field the contract names."""
        for path, facts in self.objects():
            for name, inner in facts["properties"].items():
                yield Field((*path, name), self.resolve(inner), name in facts["required"])

    def values(self) -> Iterator[Field]:
        """Every field, and the first item of every array."""
        for field in self.fields():
            yield field
            if "items" in field.facts and at(self.document, field.path):
                yield Field((*field.path, 0), self.resolve(field.facts["items"]), required=False)

    def replaced(self, path: Place, value: object) -> dict[str, Any]:
        """The document with another value at one place."""
        changed = copy.deepcopy(self.document)
        parent = at(changed, path[:-1])
        if value is ABSENT:
            del parent[path[-1]]
        else:
            parent[path[-1]] = value
        return changed


def at(document: Any, path: Place) -> Any:
    """The value at one place of a document."""
    for part in path:
        document = document[part]
    return document


def cases() -> list[Case]:
    """The fixture documents, each with the facts of its contract."""
    found = []
    for path in sorted((FIXTURES / "documents").glob("*.json")):
        facts = FIXTURES / "facts" / (".".join(path.name.split(".")[:2]) + ".json")
        document = json.loads(path.read_text("utf-8"))
        found.append(Case(document["schema"], json.loads(facts.read_text("utf-8")), document))
    return found


def accepts(contract_id: str, document: object) -> bool:
    """Whether the model takes the document; as JSON text and as Python objects it must say the same."""
    validator = find_contract(contract_id).validator
    assert validator is not None
    as_python = _passes(lambda: validator.validate_python(document))
    as_json = _passes(lambda: validator.validate_json(json.dumps(document)))
    assert as_python == as_json
    return as_python


def _passes(validate: Callable[[], object]) -> bool:
    try:
        validate()
    except pydantic.ValidationError:
        return False
    return True


each_case = pytest.mark.parametrize("case", cases(), ids=str)


@each_case
def test_the_fixture_agrees_with_the_facts(case: Case) -> None:
    """The fixture document is valid by the facts, so that it can stand for the contract."""
    faults = list(jsonschema.Draft202012Validator(case.facts).iter_errors(case.document))

    assert not faults


@each_case
def test_accepts_a_valid_record(case: Case) -> None:
    """A record with every field is accepted, and the model gives the same document back."""
    model = find_contract(case.contract_id).model
    assert model is not None

    record = model.model_validate_json(json.dumps(case.document))

    assert case.document == record.to_document()
    assert record == model.model_validate(case.document)


@each_case
def test_fields_are_required_as_in_the_contract(case: Case) -> None:
    """Without a required field a record is refused; without an optional one it is accepted."""
    conditional = {"binding", "previous_state", "next_state"} if "allOf" in case.facts else set()
    present = [field for field in case.fields() if field.path[-1] in at(case.document, field.path[:-1])]

    wrong = [
        field.path
        for field in present
        if field.path[-1] not in conditional
        and accepts(case.contract_id, case.replaced(field.path, ABSENT)) == field.required
    ]

    assert not wrong


@each_case
def test_other_fields_are_refused_where_the_contract_is_closed(case: Case) -> None:
    """A field the contract does not name is refused exactly where it says "no other fields"."""
    wrong = [
        path
        for path, facts in case.objects()
        if accepts(case.contract_id, case.replaced((*path, "x_unheard_of"), 1))
        == (facts.get("additionalProperties") is False)
    ]

    assert not wrong


@each_case
def test_values_have_the_type_of_the_contract(case: Case) -> None:
    """Every field and every item refuses each JSON type that the contract does not name for it."""
    wrong = []
    for field in case.values():
        allowed = {*field.types, *(["integer"] if "number" in field.types else [])}
        for kind, samples in SAMPLES.items():
            if field.types and kind not in allowed:
                wrong += [
                    (field.path, kind)
                    for value in samples
                    if accepts(case.contract_id, case.replaced(field.path, value))
                ]

    assert not wrong


@each_case
def test_null_is_accepted_exactly_where_the_contract_says_so(case: Case) -> None:
    """A nullable field takes null; an optional field that is not nullable does not."""
    wrong = []
    for field in case.values():
        nullable = "null" in field.types or None in field.facts.get("enum", []) or not field.facts.keys() - {"$comment"}
        document = case.replaced(field.path, None)
        by_rule = jsonschema.Draft202012Validator(case.facts).is_valid(document)
        if accepts(case.contract_id, document) != (nullable and by_rule):
            wrong.append(field.path)

    assert not wrong


@each_case
def test_closed_lists_and_constants_hold(case: Case) -> None:
    """Each value of a closed list is accepted, any other value and any value of another type refused."""
    wrong = []
    for field in case.values():
        if "enum" in field.facts or "const" in field.facts:
            listed = field.facts.get("enum", [field.facts.get("const")])
            for value in [*listed, "unheard-of", "", 0, 1, True, False, 1.0, 2.0, [], {}]:
                document = case.replaced(field.path, value)
                if accepts(case.contract_id, document) != is_valid(case, document, value):
                    wrong.append((field.path, value))

    assert not wrong


def is_valid(case: Case, document: object, value: object) -> bool:
    """What the facts say; JSON Schema also calls 2.0 an integer, which no writer writes and no model takes."""
    return not isinstance(value, float) and jsonschema.Draft202012Validator(case.facts).is_valid(document)


@each_case
def test_integers_are_bounded(case: Case) -> None:
    """An integer keeps the contract's bounds and fits into 64 bits, because SQLite has no larger one."""
    wrong = []
    for field in case.values():
        if "integer" in field.types:
            least, most = field.facts.get("minimum", LEAST), field.facts.get("maximum", MOST)
            expected = {least: True, least - 1: False, most: True, most + 1: False, 2**63: False, 10**30: False}
            for value, fine in expected.items():
                if accepts(case.contract_id, case.replaced(field.path, value)) != fine:
                    wrong.append((field.path, value))

    assert not wrong


@each_case
def test_numbers_are_finite_and_bounded(case: Case) -> None:
    """A number takes integers and fractions, keeps its minimum, and is neither infinite nor NaN."""
    wrong = []
    for field in case.values():
        if "number" in field.types:
            expected = {0: True, 7: True, 0.25: True, -0.25: False, -1: False, 2**63: False, 10**400: False}
            for value, fine in {**expected, math.inf: False, -math.inf: False, math.nan: False}.items():
                if accepts(case.contract_id, case.replaced(field.path, value)) != fine:
                    wrong.append((field.path, value))

    assert not wrong


@each_case
def test_lengths_are_bounded(case: Case) -> None:
    """A string is as long as the contract allows, counted in characters and not in bytes."""
    wrong = []
    for field in case.values():
        if "string" in field.types and "pattern" not in field.facts:
            least, most = field.facts.get("minLength", 0), field.facts.get("maxLength")
            expected = (
                {least: True, 20_000: most is None} if most is None else {least: True, most: True, most + 1: False}
            )
            for length, fine in {**expected, 0: least == 0}.items():
                if accepts(case.contract_id, case.replaced(field.path, "ö" * length)) != fine:
                    wrong.append((field.path, length))

    assert not wrong


@each_case
def test_patterns_match_the_whole_string(case: Case) -> None:
    """A pattern is held from the first character to the last; a newline at the end does not slip through."""
    wrong = []
    for field in case.values():
        if "pattern" in field.facts:
            good = at(case.document, field.path)
            for value in ("", good + "\n", "\n" + good, " " + good, good + "/", good + "é", good * 200, "../" + good):
                if accepts(case.contract_id, case.replaced(field.path, value)):
                    wrong.append((field.path, value))

    assert not wrong


@each_case
def test_arrays_keep_their_number_of_items(case: Case) -> None:
    """An array has as many items as the contract allows, and no item twice where it says so."""
    wrong = []
    for field in case.fields():
        if "array" in field.types and "items" in field.facts:
            items = at(case.document, field.path)
            unique, least, most = (field.facts.get(key) for key in ("uniqueItems", "minItems", "maxItems"))
            expected = [([], not least), (items[:1] * 2, not unique and (least or 0) <= 2)]
            expected += [(items[:1] * most, True), (items[:1] * (most + 1), False)] if most else []
            wrong += [
                (field.path, len(value))
                for value, fine in expected
                if accepts(case.contract_id, case.replaced(field.path, value)) != fine
            ]

    assert not wrong
