"""Evidence repairs: supplements to sealed runs, projected only where they verify. They never change a run's row."""

import os
from hashlib import sha256

import apsw

from agent_workflow.index_store.database import utc_now
from agent_workflow.index_store.discovery import ID_PATTERN, Candidate
from agent_workflow.index_store.errors import EvidenceError
from agent_workflow.index_store.scanning import scan_run
from agent_workflow.index_store.state_root import REPAIRS_DIRECTORY, StateRoot
from agent_workflow.index_store.values import Row


def reconcile_repairs(root: StateRoot, connection: apsw.Connection) -> None:
    """Verify every repair whose files or whose run changed, and forget those that are gone.

    Runs must have been reconciled before: a repair is judged against their rows.

    Raises:
        UnsafePath: the directory of the repairs itself is unsafe.
    """
    with root.directory(REPAIRS_DIRECTORY) as descriptor:
        names = (
            [] if descriptor is None else sorted(name for name in os.listdir(descriptor) if ID_PATTERN.fullmatch(name))
        )
        sealed_runs = _sealed_runs(connection) if names else ""
        for name in names:
            if descriptor is not None:
                _reconcile_repair(root, connection, descriptor, name, sealed_runs)
    known = {str(name) for (name,) in connection.execute("SELECT repair_id FROM repair_checkpoints")}
    for gone in sorted(known.difference(names)):
        _store(connection, gone, None, None, None)


def _reconcile_repair(
    root: StateRoot, connection: apsw.Connection, descriptor: int, repair_id: str, sealed_runs: str
) -> None:
    candidate = Candidate(repair_id, "active")
    try:
        scan = scan_run(candidate, descriptor, every_file=True)
    except FileNotFoundError:
        _store(connection, repair_id, None, None, None)
        return
    # What a verdict depends on: the repair's files and the state of every sealed run.
    fingerprint = sha256(f"{scan.fingerprint} {sealed_runs}".encode()).hexdigest()
    before = connection.execute("SELECT fingerprint FROM repair_checkpoints WHERE repair_id = ?", (repair_id,)).get
    if before == fingerprint:
        return
    from agent_workflow.index_store.repair_check import verified_row  # its models cost more than an unchanged sync

    try:
        row = verified_row(root, connection, candidate, scan, descriptor)
    except EvidenceError as error:
        _store(connection, repair_id, fingerprint, None, error)
    else:
        _store(connection, repair_id, fingerprint, row, None)


def _sealed_runs(connection: apsw.Connection) -> str:
    """Return a digest of the state of every sealed run."""
    digest = sha256()
    rows = connection.execute(
        "SELECT session_id, source_fingerprint, final_receipt_sha256 FROM runs "
        "WHERE final_receipt_sha256 IS NOT NULL ORDER BY session_id"
    )
    for row in rows:
        digest.update(repr(row).encode())
    return digest.hexdigest()


def _store(
    connection: apsw.Connection, repair_id: str, fingerprint: str | None, row: Row | None, error: EvidenceError | None
) -> None:
    """Replace everything that is known of one repair, in one transaction."""
    prefix = f"{REPAIRS_DIRECTORY}/{repair_id}/"
    with connection:
        connection.execute("DELETE FROM evidence_repairs WHERE repair_id = ?", (repair_id,))
        connection.execute("DELETE FROM repair_checkpoints WHERE repair_id = ?", (repair_id,))
        connection.execute(
            "DELETE FROM index_errors WHERE session_id IS NULL AND substr(source_path, 1, ?) = ?", (len(prefix), prefix)
        )
        if fingerprint is not None:
            connection.execute("INSERT INTO repair_checkpoints VALUES (?, ?)", (repair_id, fingerprint))
        if row is not None:
            connection.execute(f"INSERT INTO evidence_repairs VALUES ({', '.join('?' * 16)})", row)  # noqa: S608
        if error is not None:
            connection.execute(
                "INSERT INTO index_errors (session_id, source_path, detected_at, category, detail) "
                "VALUES (NULL, ?, ?, ?, ?)",
                (prefix + error.source_path, utc_now(), error.category, error.detail),
            )
