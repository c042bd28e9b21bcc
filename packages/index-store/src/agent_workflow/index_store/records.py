"""One record: strict JSON, then its contract.

Strict means what two honest readers agree on: UTF-8, no NaN, no key twice, no lone surrogate, bounded depth and length.
Python's own parser allows most of these, pydantic's refuses all but the repeated key. That one is found by counting:
a parsed record has as many keys as the bytes have ``":`` outside strings, or some key was written twice. Only where
the cheap count does not settle it is the record parsed a second time, pair by pair.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from agent_workflow.evidence_schemas import (
    Contract,
    ContractStatus,
    Record,
    contracts,
    describe_faults,
    find_contract,
    fixed_key_count,
)
from agent_workflow.index_store.errors import HistoricalArtifact, InvalidRecord

MAXIMUM_RECORD_BYTES = 16 * 1024 * 1024
# An empty array takes three bytes of JSON and twenty times that in memory, so a long record may not consist of many
# values. Commas and brackets in texts count too; that is no harm at this size.
MAXIMUM_RECORD_VALUES = 500_000
_SURELY_FEW_VALUES_BYTES = 1024 * 1024

NAMESPACE = "agent-workflow/"
CONTRACT_SHAPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*(/[A-Za-z0-9][A-Za-z0-9_.+-]*){1,3}", re.ASCII)
MAXIMUM_NAME_CHARACTERS = 200


class ParsedRecord(NamedTuple):
    """A record that passed.

    Attributes:
        contract: its contract; status ``unknown`` for a contract of our namespace that this version does not know;
            None for a record outside the namespace.
        model: the validated record of a known contract, else None.
        value: the JSON value of a record without a model; None with one.
    """

    contract: Contract | None
    model: Record | None
    value: Any  # JSON of anybody's making


@dataclass(frozen=True)
class _KnownContract:
    """What is looked up once per contract."""

    contract: Contract
    validate_json: Callable[[bytes], Record]
    validate_python: Callable[[object], Record]
    key_count: int | None


QuickParser = Callable[[bytes, list[bytes]], Sequence[Record | None]]
"""Takes lines of a journal, all in one piece and each by itself; gives a record for each, or None to leave it."""


class RecordReader:
    """Parses and validates records; keeps the built validators of the contracts it met."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownContract] = {}
        self._by_file_name = {
            name.rpartition("/")[2]: contract.id
            for contract in contracts()
            for name in contract.files
            if name.endswith(".jsonl")
        }
        self._our_files = frozenset(name for contract in contracts() for name in contract.files)

    def quick_parser(self, path: str) -> QuickParser:
        """Return a parser for the records that a journal of this name probably holds.

        It parses and validates in one pass and gives None for every doubt; then :meth:`parse` decides. Only
        contracts with a fixed number of keys have one.
        """
        contract_id = self._by_file_name.get(path.rpartition("/")[2])
        known = None if contract_id is None else self._resolve(contract_id)
        if known is None or known.key_count is None:
            return _in_doubt
        validate, keys = known.validate_json, known.key_count

        def one(raw: bytes) -> Record | None:
            if len(raw) > _SURELY_FEW_VALUES_BYTES:
                return None
            try:
                model = validate(raw)
            except ValidationError:
                return None
            return model if _surely_unique(raw, keys) else None

        def quick(text: bytes, lines: list[bytes]) -> Sequence[Record | None]:
            if len(text) > _SURELY_FEW_VALUES_BYTES:
                return [one(raw) for raw in lines]
            try:
                models = [validate(raw) for raw in lines]
            except ValidationError:
                return [one(raw) for raw in lines]
            # No line has fewer `":` than keys, so none has more where all of them together have not. A newline stands
            # before no colon: the line would begin with it, and be no record.
            unique = _surely_unique(text, keys * len(lines), (b"\t", b"\r"))
            return models if unique else [one(raw) for raw in lines]

        return quick

    def parse(self, raw: bytes, path: str, line: int | None) -> ParsedRecord:
        """Parse any record and validate it against the contract that it names.

        Args:
            raw: the exact bytes, without the newline.
            path: for messages.
            line: number of the record in its journal, or None for a document.

        Raises:
            InvalidRecord: no strict JSON, or the contract is broken. The reason quotes nothing of the record.
            HistoricalArtifact: the contract is retired.
        """
        value = parse_json(raw, path, line)
        if not isinstance(value, dict) and path in self._our_files:
            # Elsewhere it may be anybody's payload; where our contracts are written, no honest writer leaves it.
            raise InvalidRecord("is no JSON object", path, line)
        contract_id = value.get("schema") if isinstance(value, dict) else None
        if not isinstance(contract_id, str) or not contract_id.startswith(NAMESPACE):
            return ParsedRecord(None, None, value)
        known = self._resolve(contract_id)
        if known is None:
            if len(contract_id) > MAXIMUM_NAME_CHARACTERS or not CONTRACT_SHAPE.fullmatch(contract_id):
                raise InvalidRecord("its schema is no contract id", path, line)
            contract = find_contract(contract_id)
            if contract.status is ContractStatus.RETIRED:
                raise HistoricalArtifact(f"written under the retired contract {contract_id}", path, line)
            return ParsedRecord(contract, None, value)
        try:
            model = known.validate_python(value)
        except ValidationError as error:
            name = contract_id.removeprefix(NAMESPACE)
            raise InvalidRecord(f"breaks {name}: {describe_faults(error)}", path, line) from None
        return ParsedRecord(known.contract, model, None)

    def _resolve(self, contract_id: str) -> _KnownContract | None:
        known = self._known.get(contract_id)
        if known is not None:
            return known
        contract = find_contract(contract_id)
        if contract.status is not ContractStatus.KNOWN or contract.model is None or contract.validator is None:
            return None
        validator = contract.validator
        known = _KnownContract(
            contract, validator.validate_json, validator.validate_python, fixed_key_count(contract.model)
        )
        self._known[contract_id] = known
        return known


def _in_doubt(text: bytes, lines: list[bytes]) -> Sequence[None]:  # noqa: ARG001 -- the signature of a quick parser
    return [None] * len(lines)


def parse_json(raw: bytes, path: str, line: int | None) -> Any:  # noqa: ANN401 -- JSON of anybody's making
    """Parse strict JSON.

    Raises:
        InvalidRecord: with the column where the parser stopped; the text itself is never quoted.
    """
    if len(raw) > MAXIMUM_RECORD_BYTES:
        raise InvalidRecord(f"{len(raw)} bytes are more than the {MAXIMUM_RECORD_BYTES} of one record", path, line)
    if len(raw) > _SURELY_FEW_VALUES_BYTES and sum(map(raw.count, (b",", b"[", b"{"))) > MAXIMUM_RECORD_VALUES:
        raise InvalidRecord(f"more than {MAXIMUM_RECORD_VALUES} values in one record", path, line)
    if not raw.strip():
        raise InvalidRecord("empty: a record was expected", path, line)
    try:
        value = from_json(raw, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        reason = str(error).replace(" at line 1 column ", " at column ")
        raise InvalidRecord(f"not JSON: {reason}", path, line) from None
    if not _surely_unique(raw, count_keys(value)):
        _refuse_repeated_keys(raw, path, line)
    return value


def count_keys(value: object) -> int:
    """Count the keys of all objects in a JSON value."""
    count = 0
    pending = [value]
    while pending:
        current = pending.pop()
        if type(current) is dict:
            count += len(current)
            pending.extend(inner for inner in current.values() if type(inner) is dict or type(inner) is list)
        elif type(current) is list:
            pending.extend(inner for inner in current if type(inner) is dict or type(inner) is list)
    return count


def _surely_unique(raw: bytes, keys: int, spaces: Sequence[bytes] = (b"\t", b"\n", b"\r")) -> bool:
    """Tell whether the bytes cannot hold a key twice, given how many keys came out of them.

    Every written key ends in ``":``, unless white space stands before the colon. So without such white space the
    number of ``":`` is at least the number of written keys, and where it equals the keys that came out, none was lost.
    Single bytes are looked for first: that is ten times as fast as looking for two, and mostly finds nothing.
    """
    if raw.count(b'":') != keys or b" :" in raw:
        return False
    return not any(space in raw and space + b":" in raw for space in spaces)


class _RepeatedKey(Exception):
    pass


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedKey
    return found


_PAIRWISE = json.JSONDecoder(object_pairs_hook=_pairs)


def _refuse_repeated_keys(raw: bytes, path: str, line: int | None) -> None:
    try:
        _PAIRWISE.decode(raw.decode())
    except _RepeatedKey:
        raise InvalidRecord("an object has the same key twice", path, line) from None
