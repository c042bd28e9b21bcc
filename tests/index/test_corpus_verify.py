"""Verification finds one flipped bit in any source, and says of each reviewed run whether it is, or why not."""

import json
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_workflow import index_store

from .conftest import CopyOfCorpus
from .evidence_documents import completion, completion_collection, lifecycle_receipt, session_status
from .evidence_files import EvidenceRoot, RunDirectory
from .evidence_runs import write_sealed_run
from .genuine_run import GenuineRun

Document = dict[str, Any]

# Of different kinds: live, owner of a workflow, sealed, sealed before there were launch contracts, archived and scored.
BIT_RUNS = (
    "runs/run-one",
    "runs/workflow-owner",
    "runs/supervisor-stall",
    "runs/source-review-run",
    "archive/success-run",
)


@pytest.fixture(scope="module")
def few_runs(copy_of_corpus: CopyOfCorpus) -> EvidenceRoot:
    """Return an indexed copy of a few genuine runs; whoever changes a byte puts it back."""
    root = copy_of_corpus()
    for place in ("runs", "archive"):
        for path in (root.path / place).iterdir():
            if f"{place}/{path.name}" not in BIT_RUNS:
                shutil.rmtree(path)
    index_store.rebuild(root.path)
    return root


@contextmanager
def one_bit_flipped(path: Path) -> Iterator[None]:
    """Flip one bit in the middle of a file, or add a byte to an empty one; then put it back."""
    before = path.read_bytes()
    after = bytearray(before or b"\0")
    if before:
        after[len(after) // 2] ^= 0b100
    path.write_bytes(after)
    try:
        yield
    finally:
        path.write_bytes(before)


def files_that_count(run: Path) -> list[str]:
    """Return a run's structured sources and, where it is sealed, everything that its receipt lists."""
    names = set(GenuineRun(run).sources)
    if (run / "final-receipt.json").is_file():
        receipt = json.loads((run / "final-receipt.json").read_bytes())
        names |= {entry["path"] for entry in receipt["artifacts"]}
    return sorted(names)


@pytest.fixture(scope="module")
def untouched(copy_of_corpus: CopyOfCorpus) -> EvidenceRoot:
    """Return a copy of the genuine state root, indexed; nobody may change it."""
    root = copy_of_corpus()
    index_store.rebuild(root.path)
    return root


@pytest.mark.corpus
def test_the_untouched_corpus_verifies_in_full(untouched: EvidenceRoot) -> None:
    """Every source of every run is what was indexed; the three runs of a retired format are quarantined."""
    report = index_store.verify(untouched.path, full=True)

    assert report.source_mismatches == ()
    assert report.valid
    assert report.historical_artifacts == ("host-shaped", "legacy-installed", "legacy-run")


@pytest.mark.corpus
@pytest.mark.parametrize("run", BIT_RUNS)
def test_one_flipped_bit_is_found_in_every_file_of_a_genuine_run(few_runs: EvidenceRoot, run: str) -> None:
    """Whichever source or sealed artifact has one other bit, `verify --full` names the run and the file."""
    names = files_that_count(few_runs.path / run)

    missed = []
    for name in names:
        with one_bit_flipped(few_runs.path / run / name):
            report = index_store.verify(few_runs.path, full=True)
        found = {(fault.session_id, fault.path) for fault in report.source_mismatches}
        if report.valid or (Path(run).name, name) not in found or len({session_id for session_id, _ in found}) != 1:
            missed.append((name, found))

    assert len(names) >= 8
    assert missed == []
    assert index_store.verify(few_runs.path, full=True).valid


@pytest.mark.corpus
def test_verification_that_is_not_full_reads_no_source(few_runs: EvidenceRoot) -> None:
    """Without `--full` only the database is judged, and the report says that sources were not."""
    with one_bit_flipped(few_runs.path / "runs/run-one/status.json"):
        report = index_store.verify(few_runs.path)

    assert report.valid
    assert report.to_document()["source_verification"] == "not-requested"


@pytest.mark.corpus
@pytest.mark.parametrize(
    "session_id",
    [
        "review-index-target",
        "review-invalid-receipt",
        "review-missing-collection",
        "review-missing-reviewed-receipt",
        "review-omitted-ticket",
        "success-run",
    ],
)
def test_the_verdict_on_a_genuine_reviewed_run_is_that_of_an_independent_reading(
    untouched: EvidenceRoot, session_id: str
) -> None:
    """Sealed, completed, passing, reviewed: each answer is what the files say, and the verdict follows from them."""
    archived = (untouched.path / "archive" / session_id).is_dir()
    run = untouched.run(session_id, archived=archived)

    review = index_store.verify(untouched.path, review=session_id).review

    assert review is not None
    assert answers(run) == {question: review.evidence[question] for question in QUESTIONS}
    assert (set(answers(run).values()) == {"yes"}) == (review.verdict == "verified")
    assert (review.verdict == "verified") == (review.faults == ())


QUESTIONS = ("sealed", "completed", "passing", "reviewed")


def answers(run: RunDirectory) -> dict[str, str]:
    """Answer the four questions about a run from its files, as the contract words them."""
    status, done = _read(run, "final-status.json"), _read(run, "completion.json")
    collection = _read(run, "collections/completion.json")
    sealed = _seal_holds(run)
    completed = status.get("status") == "completed" and done.get("result") == "completed" and not done["unresolved"]
    passing = (
        done.get("review_disposition") in (None, "approved")
        and all(criterion["result"] == "pass" for criterion in done.get("criteria", ()))
        and all(command["exit_code"] == 0 for command in done.get("commands", ()))
        and collection.get("validation_status") == "valid"
        and status.get("policy_result") != "failed"
    )
    words = {"sealed": sealed, "completed": completed, "passing": passing, "reviewed": _reviewed(run)}
    return {question: "yes" if words[question] else "no" for question in QUESTIONS}


def _read(run: RunDirectory, name: str) -> Document:
    if not (run.path / name).is_file():
        return {"unresolved": ["it is missing"]}
    document: Document = run.read(name)
    return document


def _seal_holds(run: RunDirectory) -> bool:
    receipt = run.path / "final-receipt.json"
    return (
        not stat.S_IMODE(receipt.stat().st_mode) & 0o222
        and run.read("final-receipt.json")["session_id"] == run.session_id
        and all(
            (run.path / entry["path"]).is_file() and GenuineRun(run.path).sha256(entry["path"]) == entry["sha256"]
            for entry in run.read("final-receipt.json")["artifacts"]
        )
    )


def _reviewed(run: RunDirectory) -> bool:
    receipts = sorted((run.path / "receipts").glob("*")) if (run.path / "receipts").is_dir() else []
    seal = GenuineRun(run.path).sha256("final-receipt.json")
    for number, path in enumerate(receipts, 1):
        document = json.loads(path.read_bytes())
        if (
            path.name != f"{number:06d}-{document['action']}.json"
            or document["session_id"] != run.session_id
            or document["final_receipt_sha256"] != seal
            or stat.S_IMODE(path.stat().st_mode) & 0o222
        ):
            return False
    return bool(receipts) and receipts[-1].name.endswith("-reviewed.json")


@pytest.mark.corpus
def test_one_flipped_bit_is_found_in_every_file_of_a_genuine_repair(few_runs: EvidenceRoot) -> None:
    """A repair that the index shows as valid is rehashed as well: its files are evidence like any other."""
    directory = few_runs.path / "evidence-repairs" / "source-review-repair"

    missed = []
    for path in sorted(directory.iterdir()):
        with one_bit_flipped(path):
            report = index_store.verify(few_runs.path, full=True)
        if report.valid or not any(path.name in f"{fault.path} {fault.detail}" for fault in report.source_mismatches):
            missed.append(path.name)

    assert missed == []


# On evidence of our own, one reason against a review at a time.


@pytest.fixture
def reviewed(tmp_path: Path) -> tuple[EvidenceRoot, RunDirectory, str]:
    """Return a state root with one sealed, passing and reviewed run, and the digest of its receipt."""
    root = EvidenceRoot.create(tmp_path / "state")
    run = root.run("reviewed-run")
    receipt = write_sealed_run(run)
    review(run, receipt, 1, "reviewed")
    index_store.rebuild(root.path)
    return root, run, receipt


def review(run: RunDirectory, receipt: str, number: int, action: str, **changes: object) -> Path:
    """Write a lifecycle receipt."""
    document = lifecycle_receipt(run.session_id, action, receipt) | changes
    return run.write(f"receipts/{number:06d}-{action}.json", document, mode=0o444)


def reseal(run: RunDirectory, name: str, content: object) -> None:
    """Replace a sealed file, seal the run again, and review the new seal."""
    run.write(name, content, mode=0o400)
    receipt = run.seal([entry["path"] for entry in run.read("final-receipt.json")["artifacts"]])
    review(run, receipt, 1, "reviewed")


def verdict(root: EvidenceRoot, run: RunDirectory) -> index_store.ReviewReport:
    """Sync, and judge the run's review."""
    index_store.sync(root.path)
    report = index_store.verify(root.path, review=run.session_id).review
    assert report is not None
    return report


Reviewed = tuple[EvidenceRoot, RunDirectory, str]


def test_a_sealed_passing_and_reviewed_run_is_verified(reviewed: Reviewed) -> None:
    """With nothing against it, all four answers are yes."""
    root, run, _ = reviewed

    report = verdict(root, run)

    assert (report.verdict, report.faults) == ("verified", ())
    assert dict.fromkeys(QUESTIONS, "yes") == {question: report.evidence[question] for question in QUESTIONS}


@pytest.mark.parametrize(
    ("name", "changes", "question"),
    [
        ("completion.json", {"result": "partial"}, "completed"),
        ("completion.json", {"unresolved": ["one thing"]}, "completed"),
        ("completion.json", {"review_disposition": "approved"}, None),
        ("completion.json", {"review_disposition": "changes_requested"}, "passing"),
        ("completion.json", {"criteria": [{"id": "a", "result": "fail", "evidence": []}]}, "passing"),
        ("completion.json", {"criteria": [{"id": "a", "result": "not_verified", "evidence": []}]}, "passing"),
        ("completion.json", {"commands": [{"argv": ["x"], "cwd": "/", "exit_code": 1, "receipt": ""}]}, "passing"),
        ("collections/completion.json", {"validation_status": "invalid"}, "passing"),
        ("final-status.json", {"status": "failed"}, "completed"),
        ("final-status.json", {"policy_result": "failed"}, "passing"),
        ("final-status.json", {"policy_result": "not_evaluated"}, None),
    ],
    ids=lambda value: str(next(iter(value))) if isinstance(value, dict) else str(value),
)
def test_one_reason_against_a_review_is_one_answer_of_no(
    reviewed: Reviewed, name: str, changes: Document, question: str | None
) -> None:
    """What speaks against a run turns its own question to no, and leaves the other three."""
    root, run, _ = reviewed
    reseal(run, name, run.read(name) | changes)

    report = verdict(root, run)

    noes = [asked for asked in QUESTIONS if report.evidence[asked] == "no"]
    assert ([] if question is None else [question]) == noes
    assert (question is None) == (report.verdict == "verified")
    assert (question is None) or any(name in fault for fault in report.faults)


def test_a_review_of_another_seal_does_not_count(reviewed: Reviewed) -> None:
    """A lifecycle receipt over a receipt that is not the run's own is no review."""
    root, run, _ = reviewed
    review(run, "0" * 64, 1, "reviewed")

    report = verdict(root, run)

    assert (report.evidence["reviewed"], report.verdict == "verified") == ("no", False)


def test_a_writable_review_does_not_count(reviewed: Reviewed) -> None:
    """A lifecycle receipt that can be written is no receipt."""
    root, run, receipt = reviewed
    review(run, receipt, 1, "reviewed").chmod(0o644)

    assert verdict(root, run).evidence["reviewed"] == "no"


def test_a_review_of_another_session_does_not_count(reviewed: Reviewed) -> None:
    """A lifecycle receipt that names another session is no review of this one."""
    root, run, receipt = reviewed
    review(run, receipt, 1, "reviewed", session_id="another-run")

    assert verdict(root, run).evidence["reviewed"] == "no"


def test_a_review_whose_action_is_not_its_names_does_not_count(reviewed: Reviewed) -> None:
    """A receipt named for a review that says something else is no review."""
    root, run, receipt = reviewed
    review(run, receipt, 1, "rejected").rename(run.path / "receipts" / "000001-reviewed.json")

    assert verdict(root, run).evidence["reviewed"] == "no"


def test_a_gap_in_the_receipts_is_told(reviewed: Reviewed) -> None:
    """Lifecycle receipts are numbered without a gap, or the history is not whole."""
    root, run, receipt = reviewed
    review(run, receipt, 3, "reviewed")

    assert verdict(root, run).evidence["reviewed"] == "no"


@pytest.mark.parametrize(("last", "expected"), [("reviewed", "yes"), ("accepted", "no"), ("rejected", "no")])
def test_the_last_receipt_decides(reviewed: Reviewed, last: str, expected: str) -> None:
    """Only a run whose last lifecycle receipt is a review is reviewed."""
    root, run, receipt = reviewed
    review(run, receipt, 2, last)

    assert verdict(root, run).evidence["reviewed"] == expected


def test_a_run_without_a_seal_says_so(tmp_path: Path) -> None:
    """A run that goes on is unsealed, which is another thing than a seal that does not hold."""
    root = EvidenceRoot.create(tmp_path / "state")
    run = root.run("live-run")
    run.write("status.json", session_status(run.session_id))

    assert verdict(root, run).verdict == "unsealed"


def test_a_seal_that_does_not_hold_is_a_mismatch(reviewed: Reviewed) -> None:
    """A changed artifact makes the seal a mismatch that names the artifact."""
    root, run, _ = reviewed
    run.write("prompt.md", "another prompt\n", mode=0o444)

    report = verdict(root, run)

    assert report.verdict == "mismatch"
    assert any("prompt.md" in fault for fault in report.faults)


def test_a_sealed_run_stays_queryable_when_its_completion_is_invalid(reviewed: Reviewed) -> None:
    """A completion that was found invalid is the run's outcome, not a fault of its evidence."""
    root, run, _ = reviewed
    (run.path / "ledger-row.json").unlink()
    reseal(run, "collections/completion.json", completion_collection(run.session_id, validation_status="invalid"))

    report = index_store.sync(root.path)

    (row,) = index_store.query(root.path, "runs").rows
    assert report.errors == ()
    assert (row["evidence_complete"], row["attempt_classification"]) == (1, "completion-invalid")


def test_a_completion_that_breaks_its_contract_is_that_runs_error(reviewed: Reviewed) -> None:
    """A sealed file of a known contract is validated like any other."""
    root, run, _ = reviewed
    reseal(run, "completion.json", completion(run.session_id, result="splendid"))

    (error,) = index_store.sync(root.path).errors

    assert error.error.startswith("completion.json")
