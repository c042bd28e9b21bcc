"""The exported JSON Schemas agree with the models, and the command that exports them."""

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.evidence_schemas import Contract, ContractStatus, contracts, find_contract, json_schema
from agent_workflow.evidence_schemas.__main__ import main

FIXTURES = Path(__file__).parent / "fixtures"
DOCUMENTS = [json.loads(path.read_text("utf-8")) for path in sorted((FIXTURES / "documents").glob("*.json"))]
VALIDATORS = {contract.id: jsonschema.Draft202012Validator(json_schema(contract)) for contract in contracts()}
FACTS = {
    document["schema"]: jsonschema.Draft202012Validator(
        json.loads(
            (FIXTURES / "facts" / f"{document['schema'].split('/', 1)[1].replace('/', '.')}.json").read_text("utf-8")
        )
    )
    for document in DOCUMENTS
}

# Whole floats are left out, because JSON Schema calls 2.0 an integer, which no writer writes and no model takes; and
# a newline, because Python's `$` matches before one at the end, unlike the `$` of JSON Schema and of the models.
_letters = st.characters(exclude_categories=["Cs"], exclude_characters="\n")
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**63 - 1, -(2**63), 65_536, 65_537, 1_048_577, 0.5, -0.5, 1e-9])
    | st.text(_letters, max_size=6)
    | st.sampled_from(
        ["pass", "fail", "completed", "a" * 64, "a" * 65, "ä" * 128, "ä" * 129, "total", "completion.json"]
    )
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(_letters, max_size=3), inner, max_size=3),
)


def accepts(contract: Contract, document: object) -> bool:
    """Whether the model takes a document."""
    assert contract.model is not None
    try:
        contract.model.model_validate_json(json.dumps(document))
    except pydantic.ValidationError:
        return False
    return True


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of every value inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in inner for place in [(*path, key), *places(part, (*path, key))]]


@st.composite
def corrupted(draw: st.DrawFn) -> dict[str, Any]:
    """A valid document with up to three places removed, replaced or added."""
    document: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places(document)))
        parent: Any = document
        for part in place[:-1]:
            parent = parent[part]
        match draw(st.sampled_from(["replace", "replace", "remove", "repeat", "add"])):
            case "remove":
                del parent[place[-1]]
            case "repeat" if isinstance(parent, list):
                parent.append(copy.deepcopy(parent[0]))
            case "add" if isinstance(parent, dict):
                parent[draw(st.text("abc", max_size=3))] = draw(_values)
            case _:
                parent[place[-1]] = draw(_values)
        if not places(document):
            break
    return document


@pytest.mark.parametrize("contract", contracts(), ids=lambda contract: contract.id)
def test_an_exported_schema_is_a_schema(contract: Contract) -> None:
    """It is valid by the meta-schema of its draft, and carries the contract's id."""
    schema = json_schema(contract)

    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert contract.id == schema["$id"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["schema"])
def test_a_valid_document_is_valid_by_the_exported_schema(document: dict[str, Any]) -> None:
    """What the model accepts, the schema accepts."""
    assert not list(VALIDATORS[document["schema"]].iter_errors(document))


@given(corrupted())
def test_model_schema_and_facts_agree(document: dict[str, Any]) -> None:
    """Whatever is done to a document, the model, the exported schema and the contract's facts say the same of it."""
    contract_id = document.get("schema")
    if not isinstance(contract_id, str) or find_contract(contract_id).model is None:
        return

    by_model = accepts(find_contract(contract_id), document)

    assert (by_model, by_model) == (VALIDATORS[contract_id].is_valid(document), FACTS[contract_id].is_valid(document))


def test_an_unknown_contract_has_no_schema() -> None:
    """There is nothing to export."""
    with pytest.raises(LookupError, match="no contract 'agent-workflow/completion/v9'"):
        json_schema(find_contract("agent-workflow/completion/v9"))


def test_prints_all_schemas(capsys: pytest.CaptureFixture[str]) -> None:
    """Without arguments the command prints one JSON document of every contract."""
    assert main([]) == 0

    assert {contract.id: json_schema(contract) for contract in contracts()} == json.loads(capsys.readouterr().out)


def test_prints_the_schemas_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """With ids it prints those, in that order."""
    ids = ["agent-workflow/completion/v1", "agent-workflow/command/v1"]

    assert main(ids) == 0

    assert ids == list(json.loads(capsys.readouterr().out))


def test_lists_the_contracts(capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` shows id, status and origin, one contract a line."""
    assert main(["--list"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [f"{contract.id}\t{contract.status}\t{contract.origin}" for contract in contracts()] == lines
    assert "agent-workflow/command-collection-set/v1\tretired\tobserved" in lines


def test_writes_one_file_a_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--out` makes the folder and writes the schemas that would be printed."""
    folder = tmp_path / "new" / "schemas"

    assert main(["--out", str(folder)]) == 0

    assert len(contracts()) == len(list(folder.iterdir()))
    completion = json.loads((folder / "completion.v1.schema.json").read_text("utf-8"))
    assert json_schema(find_contract("agent-workflow/completion/v1")) == completion
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("more", [[], ["--list"], ["--out", "never-made"]])
def test_an_unknown_contract_is_refused(
    more: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says which contract is unknown; nothing is printed or written."""
    monkeypatch.chdir(tmp_path)

    assert main(["agent-workflow/completion/v1", "agent-workflow/compl\netion", *more]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err == "evidence-schemas: unknown contract 'agent-workflow/compl\\netion'; --list shows those there are\n"
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reason is one line, not a traceback."""
    occupied = tmp_path / "file"
    occupied.touch()

    assert main(["--out", str(occupied)]) == 2

    assert f"evidence-schemas: cannot write to {occupied}: File exists\n" == capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is full")
def test_a_full_disk_behind_the_standard_output_is_said() -> None:
    """In one line; there is no file to name."""
    command = [sys.executable, "-m", "agent_workflow.evidence_schemas", "--list"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)

    assert (2, "evidence-schemas: cannot write to the standard output: No space left on device\n") == (
        done.returncode,
        done.stderr,
    )


def test_a_closed_pipe_is_quiet() -> None:
    """A reader that stops early, like `head`, causes no traceback."""
    command = [sys.executable, "-m", "agent_workflow.evidence_schemas"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()

    assert (errors, process.returncode) == (b"", 0)


def test_the_readme_shows_the_commands() -> None:
    """A reader of the README finds every option of the command."""
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")

    for words in ("python -m agent_workflow.evidence_schemas", "--list", "--out", "AGENT_WORKFLOW_CORPUS"):
        assert words in readme


def test_statuses_have_words() -> None:
    """A status prints as its word."""
    assert [f"{status}" for status in ContractStatus] == ["known", "retired", "unknown"]
