"""Is one run reviewed evidence? Four questions, answered one by one: sealed, completed, passing, reviewed."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent_workflow.evidence_schemas import (
    Completion,
    CompletionCollection,
    LifecycleReceipt,
    ProcessResult,
    SessionStatus,
)
from agent_workflow.index_store.discovery import Candidate, Storage, discover, open_run
from agent_workflow.index_store.documents import (
    COMPLETION_COLLECTION,
    FINAL_STATUS,
    LAUNCH,
    PROCESS_RESULT,
    TracedLaunch,
    as_launch,
)
from agent_workflow.index_store.errors import EvidenceError, InvalidReceipt, UnknownRun
from agent_workflow.index_store.reading import read_source
from agent_workflow.index_store.records import RecordReader
from agent_workflow.index_store.sealing import check_seal, read_document
from agent_workflow.index_store.state_root import StateRoot
from agent_workflow.index_store.verification_report import ReviewReport

_RECEIPTS = "receipts"
_RECEIPT_NAME = re.compile(r"(\d{6})-(reviewed|accepted|rejected)\.json", re.ASCII)
_COMPLETION = "completion.json"


@dataclass
class _Answers:
    """Faults by the question that they answer with no."""

    faults: dict[str, list[str]] = field(
        default_factory=lambda: {"sealed": [], "completed": [], "passing": [], "reviewed": []}
    )

    def note(self, question: str, faults: Iterator[str]) -> None:
        """Gather the faults of a question; evidence that cannot be read is one."""
        try:
            self.faults[question].extend(faults)
        except EvidenceError as error:
            self.faults[question].append(error.detail)


_VERDICTS = {"completed": "incomplete", "passing": "failing", "reviewed": "unreviewed"}


def review_run(root: StateRoot, storage: Storage, session_id: str) -> ReviewReport:
    """Judge one run from its files.

    Raises:
        UnknownRun: there is no such run directory.
    """
    candidate = next((run for run in discover(root).runs if run.session_id == session_id), None)
    descriptor = None if candidate is None else storage[candidate.storage_class]
    if candidate is None or descriptor is None:
        raise UnknownRun(f"no run is called {session_id}", hint="agent-workflow index query runs")
    seal = check_seal(candidate, descriptor)
    answers = _Answers()
    if seal.verdict == "unsealed":
        answers.faults["sealed"].append("the run has no final-receipt.json")
    elif seal.error is not None:
        answers.faults["sealed"].append(seal.error.detail)
    elif seal.verdict != "verified":
        answers.faults["sealed"].append("sealed under a launch contract that this version does not know")
    evidence: dict[str, str | None] = {"final_receipt_sha256": seal.receipt_sha256}
    if seal.verdict != "unreadable" or seal.receipt_sha256 is not None:
        _answer(candidate, descriptor, seal.receipt_sha256, answers, evidence)
    words = {question: "no" if faults else "yes" for question, faults in answers.faults.items()}
    first = next((question for question, faults in answers.faults.items() if faults), None)
    verdict = "verified" if first is None else seal.verdict if first == "sealed" else _VERDICTS[first]
    faults = tuple(fault for question in answers.faults.values() for fault in question)
    return ReviewReport(session_id, verdict, faults, words | evidence)


def _answer(
    candidate: Candidate,
    descriptor: int,
    receipt_sha256: str | None,
    answers: _Answers,
    evidence: dict[str, str | None],
) -> None:
    reader = RecordReader()
    directory = open_run(candidate, descriptor)
    try:
        answers.note("completed", _completed(directory, reader))
        answers.note("passing", _passing(directory, reader))
        answers.note("reviewed", _reviewed(candidate.session_id, directory, receipt_sha256, reader, evidence))
    finally:
        os.close(directory)


def _completed(directory: int, reader: RecordReader) -> Iterator[str]:
    status = read_document(directory, FINAL_STATUS, reader)
    if not isinstance(status, SessionStatus):
        yield f"{FINAL_STATUS}: is missing or no session-status/v2"
    elif status.status != "completed":
        yield f"{FINAL_STATUS}: the run ended as {status.status}"
    if _is_traced(directory, reader):
        return
    completion = read_document(directory, _COMPLETION, reader)
    if not isinstance(completion, Completion):
        yield f"{_COMPLETION}: is missing or no completion/v1"
        return
    if completion.result != "completed":
        yield f"{_COMPLETION}: its result is {completion.result}"
    if completion.unresolved:
        yield f"{_COMPLETION}: {len(completion.unresolved)} matters are unresolved"


def _is_traced(directory: int, reader: RecordReader) -> bool:
    """Tell whether a run is a recorded workflow or an imported session.

    Nobody hands in a completion for one: whether it passed is what its workflow and its gates made of it, and that is
    in its final status.
    """
    return isinstance(as_launch(read_document(directory, LAUNCH, reader)), TracedLaunch)


def _passing(directory: int, reader: RecordReader) -> Iterator[str]:
    status = read_document(directory, FINAL_STATUS, reader)
    if isinstance(status, SessionStatus) and status.policy_result == "failed":
        yield f"{FINAL_STATUS}: the policy failed"
    yield from (_accepted if _is_traced(directory, reader) else _criteria_met)(directory, reader)


def _accepted(directory: int, reader: RecordReader) -> Iterator[str]:
    """Look for what speaks against a recorded workflow: it did not accept its result, or its process failed."""
    status = read_document(directory, FINAL_STATUS, reader)
    if isinstance(status, SessionStatus) and not status.acceptance_eligible:
        yield f"{FINAL_STATUS}: nothing that judges the run accepted its result"
    process = read_document(directory, PROCESS_RESULT, reader)
    if isinstance(process, ProcessResult) and process.exit_code not in (None, 0):
        yield f"{PROCESS_RESULT}: the process exited with {process.exit_code}"


def _criteria_met(directory: int, reader: RecordReader) -> Iterator[str]:
    completion = read_document(directory, _COMPLETION, reader)
    if isinstance(completion, Completion):
        if completion.review_disposition not in (None, "approved"):
            yield f"{_COMPLETION}: its review disposition is {completion.review_disposition}"
        failed = sum(criterion.result != "pass" for criterion in completion.criteria)
        if failed:
            yield f"{_COMPLETION}: {failed} of {len(completion.criteria)} criteria did not pass"
        broken = sum(command.exit_code != 0 for command in completion.commands)
        if broken:
            yield f"{_COMPLETION}: {broken} of {len(completion.commands)} commands did not exit with 0"
    collection = read_document(directory, COMPLETION_COLLECTION, reader)
    if not isinstance(collection, CompletionCollection):
        yield f"{COMPLETION_COLLECTION}: is missing or no completion-collection/v1"
    elif collection.validation_status != "valid":
        yield f"{COMPLETION_COLLECTION}: the completion was found {collection.validation_status}"


def _reviewed(
    session_id: str,
    directory: int,
    receipt_sha256: str | None,
    reader: RecordReader,
    evidence: dict[str, str | None],
) -> Iterator[str]:
    names = _receipt_names(directory)
    if not names:
        yield f"{_RECEIPTS}: there is no lifecycle receipt"
        return
    receipts: list[LifecycleReceipt] = []
    yield from _chain_faults(names, session_id, directory, receipt_sha256, reader, receipts)
    if len(receipts) == len(names):
        last = receipts[-1]
        evidence["last_lifecycle_action"] = last.action
        evidence["last_lifecycle_receipt"] = f"{_RECEIPTS}/{names[-1]}"
        if last.action != "reviewed":
            yield f"{_RECEIPTS}/{names[-1]}: the last lifecycle receipt says {last.action}, not reviewed"


def lifecycle_receipts(
    session_id: str, directory: int, receipt_sha256: str | None, reader: RecordReader
) -> tuple[LifecycleReceipt, ...]:
    """Read what was decided about a run, in order; nothing where nobody has reviewed it.

    Args:
        session_id: the run.
        directory: descriptor of its directory.
        receipt_sha256: digest of its final receipt.
        reader: of records.

    Raises:
        EvidenceError: the receipts are no unbroken chain about that seal; the reason names the first fault.
    """
    receipts: list[LifecycleReceipt] = []
    names = _receipt_names(directory)
    for fault in _chain_faults(names, session_id, directory, receipt_sha256, reader, receipts):
        raise InvalidReceipt(fault, _RECEIPTS)
    return tuple(receipts)


def _chain_faults(
    names: list[str],
    session_id: str,
    directory: int,
    receipt_sha256: str | None,
    reader: RecordReader,
    receipts: list[LifecycleReceipt],
) -> Iterator[str]:
    """Read receipts into a list and yield what is wrong with them; behind a break in their chain none is read."""
    for number, name in enumerate(names, 1):
        path = f"{_RECEIPTS}/{name}"
        match = _RECEIPT_NAME.fullmatch(name)
        if match is None:
            yield f"{path}: its name is not NNNNNN-reviewed, -accepted or -rejected.json"
            return
        if int(match.group(1)) != number:
            yield f"{path}: receipt {number:06d} is missing before it"
            return
        content = read_source(directory, path, "json")
        receipt = reader.parse(content.data, path, None).model
        if not isinstance(receipt, LifecycleReceipt):
            yield f"{path}: is no lifecycle-receipt/v1"
            return
        if stat.S_IMODE(content.status.st_mode) & 0o222:
            yield f"{path}: is writable; a receipt is read-only"
        yield from _receipt_faults(path, receipt, match.group(2), session_id, receipt_sha256)
        receipts.append(receipt)


def _receipt_faults(
    path: str, receipt: LifecycleReceipt, named_action: str, session_id: str, receipt_sha256: str | None
) -> Iterator[str]:
    if receipt.action != named_action:
        yield f"{path}: says {receipt.action}, its name says {named_action}"
    if receipt.session_id != session_id:
        yield f"{path}: names another session"
    if receipt.final_receipt_sha256 != receipt_sha256:
        yield f"{path}: names another final receipt than the run has"


def _receipt_names(directory: int) -> list[str]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(_RECEIPTS, flags, dir_fd=directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InvalidReceipt(f"cannot be opened: {error.strerror}", _RECEIPTS) from error
    try:
        return sorted(os.listdir(descriptor))
    finally:
        os.close(descriptor)
