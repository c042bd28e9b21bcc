"""Whether a session was published as evidence, and sealed: what the index says, where there is one."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent_workflow import index_store
from agent_workflow.cli.otlp.span import Attributes


class Seals:
    """Answers from the index of a state root; without one nothing is known, which is no error."""

    def __init__(self, state_root: Path, database: Path) -> None:
        """Say where to look, and which trace database the sessions are from: others may have the same ids."""
        self._state_root = state_root
        self._database = os.path.realpath(database)
        self.trouble: str | None = None
        """Why the index could not be asked, for people."""

    def of(self, adw_ids: list[str]) -> Mapping[str, Attributes]:
        """Return, by session, the attributes of its newest run."""
        found: dict[str, Attributes] = {}
        try:
            with index_store.open_index(self._state_root) as index:
                for adw_id in adw_ids:
                    run = self._newest(index, adw_id)
                    if run is not None:
                        found[adw_id] = _attributes(run)
        except index_store.MissingDatabase:
            pass
        except index_store.IndexStoreError as error:
            self.trouble = f"{error}" + (f"; {error.hint}" if error.hint else "")
        return found

    def _newest(self, index: "index_store.IndexReader", adw_id: str) -> Mapping[str, Any] | None:
        with suppress(UnicodeEncodeError):  # an id that no database of ours can hold
            for run in index.runs_of_session(adw_id).rows:
                if os.path.realpath(str(run["trace_database"])) == self._database:
                    rows = index.select("runs", index_store.Filters(session=str(run["session_id"])), 1).rows
                    return rows[0] if rows else None
        return None


def _attributes(run: Mapping[str, Any]) -> Attributes:
    attributes: Attributes = {"agent_workflow.run.id": str(run["session_id"])}
    receipt = run["final_receipt_sha256"]
    attributes["agent_workflow.seal.state"] = "sealed" if run["evidence_complete"] == 1 and receipt else "unsealed"
    if isinstance(receipt, str):
        attributes["agent_workflow.seal.receipt_sha256"] = receipt
    if isinstance(run["durable_status"], str):
        attributes["agent_workflow.run.status"] = run["durable_status"]
    return attributes
