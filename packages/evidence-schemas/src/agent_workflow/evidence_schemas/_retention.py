"""What retention deleted: the receipt that is written ahead of every deletion."""

from typing import Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Record, Shape, WhenPresent
from agent_workflow.evidence_schemas._scalars import FreeObject, Int64, Natural, Sha256, Text


class PrunedFile(Shape, extra="forbid"):
    """One file of a subject as it was just before; a link has no digest, for it is never followed."""

    path: Text
    kind: Literal["file", "link"]
    size: Natural
    sha256: Sha256 | None
    mtime_ns: Int64
    inode: Natural


class PruneActor(Shape, extra="forbid"):
    """Who pruned."""

    user: Text
    uid: Natural
    host: str
    pid: Natural


class PruneTotals(Shape, extra="forbid"):
    """How many subjects and files, and what they take in bytes."""

    subjects: Natural
    files: Natural
    bytes: Natural


class PruneReceipt(Record, extra="forbid"):
    """One line of ``prune-receipts/<time>-<plan>.jsonl``.

    ``plan`` opens the receipt; ``listing`` and ``intent`` stand before a deletion, ``outcome`` behind it; ``end``
    completes the receipt. Which of the optional fields are there depends on the event.
    """

    schema_: Literal["agent-workflow/prune-receipt/v1"] = Field(alias="schema")
    event: Literal["plan", "listing", "intent", "outcome", "end"]
    recorded_at: Text
    plan_sha256: Sha256
    # plan; `totals` also at the end, where they tell what was deleted
    actor: WhenPresent[PruneActor] = None
    state_root: WhenPresent[Text] = None
    criteria: WhenPresent[FreeObject] = None
    totals: WhenPresent[PruneTotals] = None
    # listing, intent and outcome
    subject: WhenPresent[Literal["run", "trace-session"]] = None
    path: WhenPresent[Text] = None
    files: WhenPresent[list[PrunedFile]] = None
    file_count: WhenPresent[Natural] = None
    size_bytes: WhenPresent[Natural] = None
    # intent
    staged_path: WhenPresent[Text] = None
    device: WhenPresent[Natural] = None
    inode: WhenPresent[Natural] = None
    final_receipt_sha256: Sha256 | None = None
    database: WhenPresent[Text] = None
    rows: WhenPresent[dict[str, Natural]] = None
    # outcome
    outcome: WhenPresent[Literal["deleted", "kept", "left"]] = None
    reason: WhenPresent[str] = None
    left: WhenPresent[list[Text]] = None
    resumed: WhenPresent[bool] = None
