"""Small state roots with honest records in them: what the reliability tests index, damage and ask about."""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sample_records import (
    DIGEST,
    MOMENT,
    Document,
    completion_collection,
    health,
    incident,
    launch_contract,
    lifecycle,
    metrics,
    permission,
    process_result,
    provenance,
    remediation,
    session_status,
    stage,
    workflow_snapshot,
)


@dataclass(frozen=True)
class RunFiles:
    """A run directory to write into."""

    path: Path

    @property
    def session_id(self) -> str:
        """Name of the directory."""
        return self.path.name

    def document(self, name: str, content: Mapping[str, object]) -> Path:
        """Replace a document as writers do: beside it, then by rename."""
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        beside = path.with_name(f".{path.name}.new")
        beside.write_text(json.dumps(content))
        beside.replace(path)
        return path

    def read(self, name: str) -> Document:
        """Return a document as it is now."""
        content: Document = json.loads((self.path / name).read_bytes())
        return content

    def journal(self, name: str, records: Iterable[Mapping[str, object]]) -> Path:
        """Append records to a journal."""
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        return path

    def seal(self, *, started_at: str = MOMENT) -> Path:
        """Write what a sealed run without a launch contract must have, and the receipt over every file."""
        for name in ("prompt.md", "launch-prompt.md", "completion.md", "executor-stderr.log", "output.log"):
            (self.path / name).write_text(f"{name}\n")
        (self.path / "patch.diff").write_text("")
        for name in ("command.json", "source-baseline.json", "completion.json"):
            self.document(name, {"name": name})
        self.document("run-provenance.json", provenance(self.session_id, started_at=started_at))
        self.document("final-status.json", session_status(self.session_id, status="completed"))
        self.document("collections/completion.json", completion_collection(self.session_id))
        self.journal("executor-events.jsonl", [{"type": "text"}])
        receipt = self.document(
            "final-receipt.json",
            {
                "schema": "agent-workflow/final-receipt/v1",
                "session_id": self.session_id,
                "sealed_at": MOMENT,
                "artifacts": artifacts_in(self.path),
            },
        )
        receipt.chmod(0o444)
        return receipt


def artifacts_in(directory: Path) -> list[Document]:
    """Return every file of a directory as a receipt lists it."""
    return [
        {
            "path": str(file.relative_to(directory)),
            "size": file.stat().st_size,
            "sha256": digest_of(file),
        }
        for file in sorted(directory.rglob("*"))
        if file.is_file()
    ]


def digest_of(file: Path) -> str:
    """Return a file's SHA-256."""
    return sha256(file.read_bytes()).hexdigest()


class StateRoot:
    """A state root to put runs into."""

    def __init__(self, path: Path) -> None:
        """Make the directories, owner-only whatever the umask."""
        self.path = path
        for directory in (path, path / "runs", path / "archive"):
            directory.mkdir(exist_ok=True)
            directory.chmod(0o700)

    @property
    def index(self) -> Path:
        """The ``index`` directory."""
        return self.path / "index"

    @property
    def database(self) -> Path:
        """The index database."""
        return self.index / "agent-workflow.sqlite3"

    def index_files(self) -> set[str]:
        """Return the names of what lies in ``index``."""
        return {path.name for path in self.index.iterdir()}

    def run(self, session_id: str, *, archived: bool = False, **status: object) -> RunFiles:
        """Make a run with a status, and return its directory to write more into."""
        run = RunFiles(self.path / ("archive" if archived else "runs") / session_id)
        run.path.mkdir(exist_ok=True)
        run.document("status.json", session_status(session_id, **status))
        return run

    def remove(self, session_id: str) -> None:
        """Remove an active run."""
        shutil.rmtree(self.path / "runs" / session_id)


def write_rich_run(state: StateRoot, session_id: str, *, archived: bool = False) -> RunFiles:
    """Make a run that has rows in every table that one run can fill."""
    run = state.run(session_id, archived=archived)
    run.document("launch-contract.json", launch_contract(session_id, executor="codex", model="large", pack="pack"))
    run.document("run-provenance.json", provenance(session_id))
    run.document("process-result.json", process_result())
    run.document("execution-metrics.json", metrics(session_id, stage("total", input_tokens=5), stage("orchestrator")))
    run.document(
        "workflow-snapshot.json",
        workflow_snapshot(
            f"flow-{session_id}",
            {"node_id": "build", "dependencies": []},
            {"node_id": "test", "dependencies": ["build"]},
        ),
    )
    run.journal("events.jsonl", [lifecycle(1), lifecycle(2)])
    run.journal("incidents.jsonl", [incident(1), incident(1, state="resolved"), incident(2)])
    run.journal("permission-events.jsonl", [permission(1), permission(2, state="denied")])
    run.journal("remediations.jsonl", [remediation(1)])
    run.journal("run-health-samples.jsonl", [health(), health()])
    run.journal("newer.jsonl", [{"schema": "agent-workflow/something-new/v9"}])
    return run


def write_repair(state: StateRoot, run: RunFiles, repair_id: str, *, created_at: str = MOMENT) -> RunFiles:
    """Supplement a sealed run's completion by a repair that verifies."""
    repair = RunFiles(state.path / "evidence-repairs" / repair_id)
    repair.path.mkdir(parents=True)
    repair.path.parent.chmod(0o700)
    shutil.copy(run.path / "completion.json", repair.path / "original-completion.json")
    canonical = repair.document(
        "canonical-completion.json",
        {
            "schema": "agent-workflow/completion/v1",
            "session_id": run.session_id,
            "result": "completed",
            "base_revision": None,
            "head_revision": None,
            "changed_files": [],
            "criteria": [],
            "commands": [],
            "unresolved": [],
        },
    )
    receipt_sha256 = digest_of(run.path / "final-receipt.json")
    repair.document(
        "evidence-repair.json",
        {
            "schema": "agent-workflow/evidence-repair/v1",
            "repair_id": repair_id,
            "created_at": created_at,
            "actor": "reviewer",
            "source": {
                "session_id": run.session_id,
                "final_receipt_sha256": receipt_sha256,
                "artifact_path": "completion.json",
                "artifact_sha256": digest_of(run.path / "completion.json"),
            },
            "adapter": {"id": "completion-normalize-v1", "version": "1", "sha256": DIGEST},
            "canonical": {
                "path": canonical.name,
                "sha256": digest_of(canonical),
                "schema": "agent-workflow/completion/v1",
                "validation_result": "valid",
            },
            "original_interpretation": {"schema": None, "result": None, "review_disposition": None},
            "supplemental_interpretation": {
                "result": "completed",
                "review_disposition": "approved",
                "acceptance_authority": False,
            },
            "normalization_differences": [],
            "source_mutation_check": {"fingerprint_before": DIGEST, "fingerprint_after": DIGEST, "unchanged": True},
        },
    )
    repair.document(
        "repair-receipt.json",
        {
            "schema": "agent-workflow/evidence-repair-receipt/v1",
            "repair_id": repair_id,
            "source_session_id": run.session_id,
            "source_final_receipt_sha256": receipt_sha256,
            "sealed_at": created_at,
            "artifacts": artifacts_in(repair.path),
        },
    )
    return repair
