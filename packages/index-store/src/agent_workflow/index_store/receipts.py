"""Sealed receipts: what a run must list, and whether every listed artifact is still what was sealed."""

import stat
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from agent_workflow.evidence_schemas import EvidenceRepairReceipt, FinalReceipt, LaunchContractV2, SessionStatus
from agent_workflow.index_store.documents import (
    COMPLETION_COLLECTION,
    FINAL_RECEIPT,
    LAUNCH,
    LEDGER_ROW,
    LaunchContract,
    TracedLaunch,
)
from agent_workflow.index_store.errors import HistoricalArtifact, InvalidReceipt, printable
from agent_workflow.index_store.reading import digest_file

_REQUIRED_ALWAYS = (
    "prompt.md",
    "launch-prompt.md",
    "command.json",
    "source-baseline.json",
    "completion.md",
    "completion.json",
    "run-provenance.json",
    "executor-events.jsonl",
    "executor-stderr.log",
    "output.log",
    "final-status.json",
    "patch.diff",
    COMPLETION_COLLECTION,
)
_REQUIRED_WITH_LAUNCH = (LAUNCH,)
_CATALOG = "command-catalog.json"
_CARD = "command-card.md"


class Artifact(NamedTuple):
    """A sealed file as the receipt lists it, or as it was found."""

    size: int
    sha256: str


def verify_receipt(
    session_id: str,
    receipt: FinalReceipt,
    receipt_mode: int,
    launch: LaunchContract | None,
    final_status: SessionStatus | None,
    sources: Iterable[str],
    run_directory: int,
    known: Mapping[str, Artifact],
) -> bool:
    """Check a run's seal.

    Args:
        session_id: name of the run's directory.
        receipt: the validated ``final-receipt.json``.
        receipt_mode: its file mode.
        launch: the launch contract, where the run has one.
        final_status: ``final-status.json``, where the run has one.
        sources: paths of the structured files that lie in the run's directory.
        run_directory: descriptor to read the artifacts through.
        known: what was read already, by path; not read again.

    Returns:
        True where everything is there that the launch contract requires. False where every artifact matches but the
        launch contract is one that this version does not know: then nobody here can say what must be listed.

    Raises:
        InvalidReceipt: the seal does not hold; the reason names the artifact.
        HistoricalArtifact: the receipt is of the format before collections.
        UnsafeSource, UnreadableSource, UnsettledSource: an artifact cannot be read safely.
    """
    if stat.S_IMODE(receipt_mode) & 0o222:
        raise InvalidReceipt("is writable; a seal is read-only", FINAL_RECEIPT)
    if receipt.session_id != session_id:
        raise InvalidReceipt("seals another session", FINAL_RECEIPT)
    listed = listed_artifacts(receipt)
    if isinstance(launch, TracedLaunch):
        _check_traced(listed, launch, final_status, sources)
    else:
        _check_required(listed, launch)
        _check_catalog(listed, launch)
    for path, sealed in sorted(listed.items()):
        check_artifact(path, sealed, run_directory, known.get(path), listed_by=FINAL_RECEIPT)
    return LAUNCH not in listed or launch is not None


def listed_artifacts(receipt: FinalReceipt | EvidenceRepairReceipt, path: str = FINAL_RECEIPT) -> dict[str, Artifact]:
    """Return a receipt's artifacts by path.

    Raises:
        InvalidReceipt: a path is absolute, not normalised or leads out, or two entries for one path disagree.
    """
    listed: dict[str, Artifact] = {}
    for entry in receipt.artifacts:
        _refuse_unsafe_path(entry.path, path)
        artifact = Artifact(entry.size, entry.sha256)
        if listed.setdefault(entry.path, artifact) != artifact:
            raise InvalidReceipt(f"has two entries for {printable(entry.path)} that disagree", path)
    return listed


def _refuse_unsafe_path(path: str, listed_by: str) -> None:
    """Refuse a path that is absolute, not normalised or leads out of the run.

    Raises:
        InvalidReceipt: naming the path.
    """
    if "\0" in path or any(component in ("", ".", "..") for component in path.split("/")):
        raise InvalidReceipt(f"lists {printable(path)[:256]}, which is no plain relative path", listed_by)


def check_artifact(path: str, sealed: Artifact, run_directory: int, known: Artifact | None, *, listed_by: str) -> None:
    """Compare one artifact with what was sealed.

    Raises:
        InvalidReceipt: it is missing or differs.
    """
    found = known
    if found is None:
        try:
            digest = digest_file(run_directory, path)
        except FileNotFoundError:
            raise InvalidReceipt(f"is missing, though {listed_by} seals it", printable(path)) from None
        found = Artifact(digest.size, digest.sha256)
    if found.size != sealed.size:
        reason = f"has {found.size} bytes where {listed_by} seals {sealed.size}"
        raise InvalidReceipt(reason, printable(path))
    if found.sha256 != sealed.sha256:
        raise InvalidReceipt(f"differs from what {listed_by} seals", printable(path))


def _check_traced(
    listed: Mapping[str, Artifact],
    launch: TracedLaunch,
    final_status: SessionStatus | None,
    sources: Iterable[str],
) -> None:
    """Hold a traced run to its own contract's list; nothing is written after its seal but what judges it.

    The final status may be read before its digest is compared: it is on the list, so a changed one does not pass.
    """
    is_lost = final_status is not None and final_status.executor_result == "lost"
    _refuse_missing(listed, (*launch.REQUIRED, *(() if is_lost else launch.REQUIRED_UNLESS_LOST)))
    for path in sorted(sources):
        if path not in listed and path not in _JUDGING and not path.startswith(_JUDGING_DIRECTORIES):
            raise InvalidReceipt(f"is not sealed by {FINAL_RECEIPT}, which lists all that a traced run wrote", path)


_JUDGING = frozenset(
    {FINAL_RECEIPT, LEDGER_ROW, "force-accept-receipt.json", "archive-manifest.json", "archive-plan.json"}
)
_JUDGING_DIRECTORIES = ("receipts/", "collections/", "scores/", "reports/")
"""What may be added to a sealed run by those who review, score and archive it."""


def _check_required(listed: Mapping[str, Artifact], launch: LaunchContract | None) -> None:
    required = list(_REQUIRED_ALWAYS)
    if LAUNCH not in listed:
        if COMPLETION_COLLECTION not in listed:
            raise HistoricalArtifact("seals a run of the format before collections", FINAL_RECEIPT)
    else:
        required.extend(_REQUIRED_WITH_LAUNCH)
        if isinstance(launch, LaunchContractV2):
            required.extend((_CATALOG, _CARD))
    _refuse_missing(listed, required)


def _refuse_missing(listed: Mapping[str, Artifact], required: Iterable[str]) -> None:
    missing = [path for path in required if path not in listed]
    if missing:
        raise InvalidReceipt(f"does not seal {', '.join(missing)}", FINAL_RECEIPT)


def _check_catalog(listed: Mapping[str, Artifact], launch: LaunchContract | None) -> None:
    if LAUNCH not in listed or not isinstance(launch, LaunchContractV2):
        return
    promised = launch.command_catalog
    for path, sha256 in ((_CATALOG, promised.catalog_sha256), (_CARD, promised.card_sha256)):
        if listed[path].sha256 != sha256:
            raise InvalidReceipt(f"differs from the digest in {LAUNCH}", path)
