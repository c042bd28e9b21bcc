"""Records for the demo: every one is validated against its contract before it is written."""

import json
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

Document = dict[str, Any]


def moment(begin: datetime, seconds: float) -> str:
    """Return the time so many seconds after the beginning."""
    return (begin + timedelta(seconds=seconds)).isoformat()


def digest(text: str | bytes) -> str:
    """Return the SHA-256 of a text."""
    return sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def record(contract: str, **fields: object) -> Document:
    """Return a record of a contract, as the contract's own model writes it.

    Args:
        contract: name and version, for example ``session-status/v2``.
        fields: everything but ``schema``.

    Raises:
        pydantic.ValidationError: the fields break the contract.
        LookupError: there is no such contract.
    """
    from agent_workflow.evidence_schemas import find_contract

    schema = f"agent-workflow/{contract}"
    model = find_contract(schema).model
    if model is None:
        raise LookupError(schema)
    return model.model_validate({"schema": schema, **fields}).to_document()


def document_bytes(document: Document) -> bytes:
    """Write one record as a file."""
    return json.dumps(document, indent=2).encode() + b"\n"


def journal_bytes(*records: Document) -> bytes:
    """Write records as lines of a journal."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in records)


def status(session_id: str, word: str, begin: datetime, **more: object) -> Document:
    """Return where a run stands."""
    return record(
        "session-status/v2",
        session_id=session_id,
        status=word,
        created_at=moment(begin, 0),
        workdir="/home/dev/shop",
        prompt_path="prompt.md",
        log_path="output.log",
        **more,
    )


def lifecycle(begin: datetime, *states: str) -> bytes:
    """Return the journal of the states that a run went through, a second apart."""
    return journal_bytes(
        *(
            record(
                "lifecycle-event/v1",
                sequence=number,
                timestamp=moment(begin, number),
                dimension="execution",
                prior=prior,
                new=new,
                actor="demo",
                reason=f"the run is {new}",
                receipt_refs=[],
            )
            for number, (prior, new) in enumerate(zip((None, *states), states, strict=False), 1)
        )
    )


def health_sample(session_id: str, begin: datetime, seconds: int, progress_seconds: int) -> Document:
    """Return a health sample; work last moved on ``progress_seconds`` after the beginning."""
    process = {
        "pid": 4242, "alive": True, "state": "S", "parent_pid": 4200, "process_start_ticks": 100, "threads": 4,
        "cpu_user_seconds": 1.5, "cpu_system_seconds": 0.2, "rss_bytes": 88_000_000, "peak_rss_bytes": 91_000_000,
        "read_bytes": 4096, "write_bytes": 8192, "open_fd_count": 21, "child_process_count": 1, "collector": "procfs",
    }  # fmt: skip
    host = {
        "load_1m": 0.7, "load_5m": 0.6, "load_15m": 0.5, "available_memory_bytes": 9_000_000_000,
        "disk_free_bytes": 80_000_000_000, "disk_total_bytes": 200_000_000_000,
    }  # fmt: skip
    return record(
        "run-health-sample/v1",
        session_id=session_id,
        recorded_at=moment(begin, seconds),
        runner=process,
        executor=process,
        host=host,
        tmux_pane_id=None,
        pane_dead=None,
        output_bytes=2_048,
        stderr_bytes=0,
        executor_event_bytes=4_096,
        terminal_event_bytes=None,
        last_semantic_progress_at=moment(begin, progress_seconds),
        seconds_since_semantic_progress=float(seconds - progress_seconds),
        last_semantic_progress_source="output",
    )


def metrics(session_id: str, elapsed: float, tokens: tuple[int, int], billed: float | None) -> Document:
    """Return what a run used; ``tokens`` are input and output, money is in USD, None where nobody was billed."""
    stage = {
        "stage": "total", "input_tokens": tokens[0], "cached_input_tokens": None, "cache_write_input_tokens": None,
        "output_tokens": tokens[1], "reasoning_output_tokens": None, "provider_total_tokens": sum(tokens),
        "cost": billed, "provider_billed_cost": billed, "local_estimated_cost": None, "price_catalog_id": None,
        "currency": None if billed is None else "USD", "elapsed_seconds": elapsed,
        "first_output_latency_seconds": 1.2, "retry_count": 0, "errors": [],
        "steer_count": 0, "steer_acknowledged_count": 0, "steer_pending_count": 0,
    }  # fmt: skip
    return record("execution-metrics/v1", session_id=session_id, stages=[stage])


def provenance(
    session_id: str, agent: tuple[str, str], begin: datetime, ended: float | None, code: int | None
) -> Document:
    """Return where a run came from; ``agent`` is executor and model, ``ended`` seconds after the beginning."""
    return record(
        "run-provenance/v1",
        session_id=session_id,
        executor=agent[0],
        model=agent[1],
        argv=[agent[0], "--model", agent[1]],
        prompt_sha256=digest(prompt(session_id)),
        source_revision="1f0c6a4f7d0b1c35b4a52ab3d4ce0e7c1c9a2b77",
        worktree="/home/dev/shop",
        environment={},
        started_at=moment(begin, 1),
        finished_at=None if ended is None else moment(begin, ended),
        exit_code=code,
    )


def prompt(session_id: str) -> str:
    """Return the prompt of a run; the index never holds it."""
    return f"Invented for the demo: the task of {session_id}.\n"
