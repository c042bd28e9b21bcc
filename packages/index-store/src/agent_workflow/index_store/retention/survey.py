"""Judging every run of a state root at once."""

import os
from collections.abc import Callable

from agent_workflow.index_store.discovery import Candidate, open_run
from agent_workflow.index_store.errors import EvidenceError
from agent_workflow.index_store.retention.inventory import take_inventory
from agent_workflow.index_store.retention.judging import Judge, Keep, KeptRun, RunFacts
from agent_workflow.index_store.state_root import STORAGE_DIRECTORIES


def judge_runs(judge: Judge, *, progress: Callable[[int, int], None]) -> tuple[list[RunFacts], list[KeptRun]]:
    """Judge every run of a state root.

    Args:
        judge: of the state root.
        progress: called after every run.

    Returns:
        The runs that have ended and are good evidence, and those that are left alone, both by id.
    """
    good: list[RunFacts] = []
    kept: list[KeptRun] = []
    discovery = judge.runs()
    for done, candidate in enumerate(discovery.runs, 1):
        path = f"{STORAGE_DIRECTORIES[candidate.storage_class]}/{candidate.session_id}"
        try:
            with judge.locked(candidate) as directory:
                good.append(judge.judge(candidate, directory)[0])
        except Keep as keep:
            kept.append(KeptRun(candidate.session_id, path, keep.reason, keep.detail, _size(candidate, judge)))
        progress(done, len(discovery.runs))
    return good, kept


def _size(candidate: Candidate, judge: Judge) -> int:
    storage = judge.storage[candidate.storage_class]
    try:
        if storage is None:
            return 0
        directory = open_run(candidate, storage)
        try:
            return take_inventory(directory).size_bytes
        finally:
            os.close(directory)
    except (OSError, EvidenceError):
        return 0
