"""``python -m agent_workflow.evidence_schemas``: the contracts as JSON Schema."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agent_workflow.evidence_schemas._json_schema import file_name, json_schema
from agent_workflow.evidence_schemas._registry import Contract, ContractStatus, contracts, find_contract


def main(arguments: Sequence[str] | None = None) -> int:
    """Print or write JSON Schemas.

    Args:
        arguments: the command line without the program; ``None`` takes it from the process.

    Returns:
        The exit code: 0, or 2 when a contract is unknown or the folder cannot be written.
    """
    options = _parser().parse_args(arguments)
    chosen = [find_contract(contract_id) for contract_id in options.contract] or list(contracts())
    unknown = [contract.id for contract in chosen if contract.status is ContractStatus.UNKNOWN]
    if unknown:
        return _refuse(f"unknown contract {unknown[0]!r}; --list shows those there are")
    try:
        if options.list:
            _say("".join(f"{contract.id}\t{contract.status}\t{contract.origin}\n" for contract in chosen))
        elif options.out is not None:
            _write(chosen, options.out)
        else:
            _say(_as_text({contract.id: json_schema(contract) for contract in chosen}))
    except OSError as error:
        return _refuse(f"cannot write to {error.filename or 'the standard output'}: {error.strerror}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agent_workflow.evidence_schemas",
        description="Show the record contracts as JSON Schema (draft 2020-12): one JSON object, by contract id.",
        allow_abbrev=False,
    )
    parser.add_argument("contract", nargs="*", metavar="CONTRACT_ID", help="only these contracts; all by default")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--list", action="store_true", help="list id, status and origin instead, one contract a line")
    shape.add_argument(
        "--out", type=Path, metavar="DIR", help="write one file a contract, <name>.<version>.schema.json, instead"
    )
    return parser


def _write(chosen: Sequence[Contract], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for contract in chosen:
        (folder / file_name(contract)).write_text(_as_text(json_schema(contract)), "utf-8")


def _as_text(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _say(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, for example `head`, has seen enough. Python would flush once more at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(why: str) -> int:
    sys.stderr.write(f"evidence-schemas: {why}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
