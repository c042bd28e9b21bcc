"""The registry, the door of the package, the key counts and the words for faults."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agent_workflow.evidence_schemas as door
from agent_workflow.evidence_schemas import (
    Contract,
    ContractStatus,
    IncidentEvent,
    PermissionEvent,
    Record,
    RunHealthSample,
    SessionStatus,
    Shape,
    TerminalEvent,
    contracts,
    describe_faults,
    find_contract,
    fixed_key_count,
    validator_of,
)

DOCUMENTS = Path(__file__).parent / "fixtures" / "documents"
RETIRED = {"agent-workflow/execution-metrics/retired-v1", "agent-workflow/command-collection-set/v1"}


def document(contract_id: str) -> dict[str, Any]:
    """The valid fixture record of a contract."""
    name = contract_id.removeprefix("agent-workflow/").replace("/", ".")
    loaded: dict[str, Any] = json.loads((DOCUMENTS / f"{name}.json").read_text("utf-8"))
    return loaded


def fault(model: type[pydantic.BaseModel], value: object, limit: int = 3) -> str:
    """The words for what is wrong with a value."""
    with pytest.raises(pydantic.ValidationError) as caught:
        model.model_validate(value)
    return describe_faults(caught.value, limit)


def keys_in(value: object) -> int:
    """The number of keys in a JSON value."""
    if isinstance(value, dict):
        return len(value) + sum(keys_in(part) for part in value.values())
    return sum(keys_in(part) for part in value) if isinstance(value, list) else 0


def in_new_process(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_registry_holds_the_contracts_of_the_facts() -> None:
    """Every contract that has facts is in the registry, once, and no other."""
    described = {
        json.loads(path.read_text("utf-8"))["schema"] for path in DOCUMENTS.glob("*.json") if path.name.count(".") == 2
    }

    assert sorted(described) == sorted(contract.id for contract in contracts())


def test_two_contracts_are_retired() -> None:
    """Retired contracts have a model and a status of their own."""
    assert {contract.id for contract in contracts() if contract.status is ContractStatus.RETIRED} == RETIRED


@pytest.mark.parametrize("contract", contracts(), ids=lambda contract: contract.id)
def test_a_contract_is_found_by_its_id(contract: Contract) -> None:
    """The id leads to the contract, whose model is made for that very id."""
    assert contract.model is not None

    assert contract is find_contract(contract.id)
    assert contract.model is getattr(door, contract.model.__name__)


@pytest.mark.parametrize(
    "contract_id", ["", "agent-workflow/completion/v2", "tax-machine/completion/v0", "\n", "x" * 9999]
)
def test_an_unknown_contract_is_found_as_unknown(contract_id: str) -> None:
    """A contract of a newer writer is no error."""
    contract = find_contract(contract_id)

    assert Contract(contract_id, ContractStatus.UNKNOWN) == contract
    assert (contract.model, contract.validator, contract.origin, contract.files) == (None, None, None, ())


def test_two_contracts_may_share_a_file_name() -> None:
    """The retired metrics have the name of the present ones, so that only `schema` tells them apart."""
    sharing = {contract.id for contract in contracts() if "execution-metrics.json" in contract.files}

    assert {"agent-workflow/execution-metrics/v1", "agent-workflow/execution-metrics/retired-v1"} == sharing


def test_a_validator_is_built_and_kept() -> None:
    """The validator is pydantic's own and no stand-in, which would be slower."""
    validator = find_contract("agent-workflow/run-health-sample/v1").validator

    assert type(validator).__module__ == "pydantic_core._pydantic_core"
    assert validator is validator_of(RunHealthSample)


def test_the_door_imports_nothing_by_itself() -> None:
    """Importing the package and looking contracts up loads neither pydantic nor a model."""
    loaded = in_new_process(
        "import sys, agent_workflow.evidence_schemas as door\n"
        "door.find_contract('agent-workflow/completion/v1'), door.contracts()\n"
        "print(*sorted(name for name in sys.modules if name == 'pydantic' or 'evidence_schemas._' in name))"
    )

    assert loaded.strip() == "agent_workflow.evidence_schemas._registry"


def test_every_public_name_is_there() -> None:
    """What `__all__` promises can be imported, and a wrong name is an ordinary AttributeError."""
    assert door.__all__ == dir(door)
    assert all(hasattr(door, name) for name in door.__all__)
    assert not hasattr(door, "Unheard")
    assert set(door.__all__) == set(door._MODULE_OF_NAME)


@pytest.mark.parametrize(("model", "count"), [(RunHealthSample, 51), (PermissionEvent, 14), (TerminalEvent, 7)])
def test_journals_with_a_fixed_number_of_keys(model: type[Record], count: int) -> None:
    """The fullest journals have it, so that a key written twice is noticed by counting."""
    assert count == fixed_key_count(model)


@pytest.mark.parametrize("model", [IncidentEvent, SessionStatus])
def test_no_fixed_number_of_keys(model: type[Record]) -> None:
    """A free object or an optional field makes the number vary."""
    assert fixed_key_count(model) is None


@pytest.mark.parametrize("contract", contracts(), ids=lambda contract: contract.id)
def test_a_fixed_number_is_the_number_of_keys(contract: Contract) -> None:
    """Wherever a number is given, the contract's fixture has as many keys."""
    assert contract.model is not None
    count = fixed_key_count(contract.model)

    assert count in (None, keys_in(document(contract.id)))


class _Leaf(Shape, extra="forbid"):
    a: int
    b: Literal["x"] | None


class _Open(Shape):
    a: int


_FIXED: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-9, 9),
    Annotated[str, pydantic.Field(max_length=3)]: st.text("ab", max_size=3),
    float | None: st.none() | st.floats(0, 1),
    list[str]: st.lists(st.text("ab", max_size=2), max_size=3),
    _Leaf: st.fixed_dictionaries({"a": st.integers(-9, 9), "b": st.none() | st.just("x")}),
}
_VARYING = [dict[str, Any], Any, list[Any], list[_Leaf], _Leaf | None, _Open, list[dict[str, Any]]]


@given(st.data(), st.lists(st.sampled_from(list(_FIXED)), max_size=5))
def test_every_valid_document_has_the_fixed_number_of_keys(data: st.DataObject, types: list[Any]) -> None:
    """For any model of scalars, lists of scalars and closed shapes, all valid documents have equally many keys."""
    fields: dict[str, Any] = {f"f{number}": (kind, ...) for number, kind in enumerate(types)}
    model = pydantic.create_model("Made", __base__=Record, __cls_kwargs__={"extra": "forbid"}, **fields)
    value = {f"f{number}": data.draw(_FIXED[kind]) for number, kind in enumerate(types)}

    model.model_validate(value)

    assert keys_in(value) == fixed_key_count(model)


@pytest.mark.parametrize("kind", _VARYING, ids=str)
def test_a_field_that_varies_makes_the_number_vary(kind: Any) -> None:
    """One field that may hold more or fewer keys is enough."""
    model = pydantic.create_model(
        "Made", __base__=Record, __cls_kwargs__={"extra": "forbid"}, a=(int, ...), b=(kind, ...)
    )

    assert fixed_key_count(model) is None


def test_faults_name_the_field_and_what_is_expected() -> None:
    """The words say where and what, as a path of the document's own names."""
    value = document("agent-workflow/run-health-sample/v1")
    value["runner"]["pid"] = 0
    value["host"]["load_1m"] = "high"
    value["last_semantic_progress_source"] = "mood"
    del value["schema"]

    words = fault(RunHealthSample, value, limit=4)

    assert (
        words == "schema: is required; runner.pid: expected at least 1; host.load_1m: expected a number; "
        "last_semantic_progress_source: expected 'output', 'stderr', 'executor_event', 'terminal_event', 'message', "
        "'control_intent', 'steering_delivery' or 'completion'"
    )


def test_faults_are_counted_beyond_the_limit() -> None:
    """A record with many faults still has a short description."""
    assert fault(RunHealthSample, {}, limit=2) == "schema: is required; session_id: is required; and 13 more"


def test_a_record_that_is_no_object_has_a_fault_too() -> None:
    """There is no field to name then."""
    assert fault(RunHealthSample, ["secret"]) == "record: expected an object"


def test_text_that_is_no_json_has_a_fault_too() -> None:
    """The place in the text is not told, nor the text."""
    with pytest.raises(pydantic.ValidationError) as caught:
        RunHealthSample.model_validate_json('{"secret": ')

    assert describe_faults(caught.value) == "record: is not JSON"


def test_unexpected_names_are_cut_and_made_visible() -> None:
    """A field name is the writer's text: it cannot flood a log or move a terminal's cursor."""
    value = {**document("agent-workflow/terminal-event/v1"), "\x1b[31m\n" + "x" * 500: 1}

    assert rf"\x1b[31m\n{'x' * 57}…: is not a field of this contract" == fault(TerminalEvent, value)


_SECRET = "hunter2"
_secrets = st.sampled_from([_SECRET, f"{_SECRET}\n", [_SECRET], {"key": _SECRET}, [{"a": _SECRET}], _SECRET * 999])


@given(st.data(), st.sampled_from(contracts()), _secrets)
def test_no_value_of_a_record_gets_into_the_words(data: st.DataObject, contract: Contract, secret: Any) -> None:
    """Whatever is put wherever, the description has one line and nothing of the content."""
    assert contract.model is not None
    value = document(contract.id)
    value[data.draw(st.sampled_from(sorted(value)))] = secret
    try:
        contract.model.model_validate(value)
    except pydantic.ValidationError as error:
        words = describe_faults(error, limit=99)

        assert _SECRET not in words
        assert words.isprintable()


def test_the_python_of_the_readme_runs() -> None:
    """What the README shows is true."""
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    blocks = [part.split("```", 1)[0] for part in readme.split("```python\n")[1:]]

    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
