"""What status, sync, rebuild and verify answer, in words."""

from collections.abc import Iterable, Sequence

from agent_workflow import index_store
from agent_workflow.cli._cells import counted, minute, size
from agent_workflow.cli._facts import SHOWN, fact_lines, fault_lines, stated, text_width
from agent_workflow.cli._failure import with_state_root
from agent_workflow.cli._output import wrapped
from agent_workflow.cli._terminal_text import printable


def status_lines(report: "index_store.StatusReport", named_root: str | None) -> list[str]:
    """Describe the state of the index.

    Args:
        report: the state.
        named_root: ``--state-root`` as given, for the commands that are shown.
    """
    freshness = report.freshness
    facts = [("index", stated(freshness.word)), ("state root", report.state_root), ("database", _database(report))]
    facts.append(("runs", _run_counts(freshness)))
    if report.exists:
        synced = f"{minute(report.last_sync_at)}, {_scope(report.last_sync_scope)}" if report.last_sync_at else "never"
        facts.append(("last sync", synced))
    if report.notice_count:
        facts.append(("notices", f"{report.notice_count}: {_command('index query notices', named_root)}"))
    facts.extend(("next", step) for step in _next_steps(report, named_root))
    return fact_lines(facts)


def _database(report: "index_store.StatusReport") -> str:
    if not report.exists:
        return f"{report.database} (none yet)"
    if report.journal_mode is None:
        return f"{report.database} (schema {report.schema_version}, older; a sync upgrades it)"
    return f"{report.database} ({size(report.size_bytes)}, schema {report.schema_version})"


def _run_counts(freshness: "index_store.Freshness") -> str:
    parts = [f"{freshness.source_runs} on disk", f"{freshness.current_runs} current"]
    counts = ((freshness.stale_runs, "stale"), (freshness.error_runs, "in error"))
    parts.extend(f"{count} {word}" for count, word in counts if count)
    if freshness.historical_runs:
        parts.append(f"{freshness.historical_runs} historical")
    return ", ".join(parts)


def _scope(scope: str | None) -> str:
    return "active runs only" if scope == "active" else "active and archived runs"


def _next_steps(report: "index_store.StatusReport", named_root: str | None) -> Iterable[str]:
    freshness = report.freshness
    if freshness.word in ("missing", "stale") or report.last_sync_scope == "active":
        yield _command("index sync", named_root)
    if freshness.error_runs:
        yield _command("index query errors", named_root)


def sync_lines(report: "index_store.SyncReport", verb: str, named_root: str | None) -> list[str]:
    """Describe what a sync or rebuild did, then what is at fault and what to do about it.

    Args:
        report: what was done.
        verb: ``synced`` or ``rebuilt``.
        named_root: ``--state-root`` as given, for the commands that are shown.
    """
    records = sum(run.records_parsed for run in report.indexed)
    parsed = f" ({counted(records, 'journal record')} parsed)" if report.indexed else ""
    counts = [f"{len(report.indexed)} indexed{parsed}", f"{len(report.skipped)} unchanged"]
    if report.pruned:
        counts.append(f"{len(report.pruned)} removed")
    lines = [f"{verb}: {', '.join(counts)}"]
    if report.errors:
        faults = [(error.session_id or "evidence-repairs", error.error) for error in report.errors]
        advice = "A run in error keeps the others as they are. Mend or remove the named file, then sync again:"
        lines += fault_lines(f"{len(faults)} in error", "red", faults, _command("index query errors", named_root))
        lines += [*wrapped(advice, text_width(), "  "), f"  {_command('index sync', named_root)}"]
    if report.quarantined:
        title = f"{len(report.quarantined)} historical, of a retired format: kept where they are, not counted"
        lines += ["", *wrapped(title, text_width()), *_ids(report.quarantined)]
    if report.notices:
        found = [(notice.session_id or notice.source_path, _notice(notice)) for notice in report.notices]
        title = counted(len(found), "notice")
        lines += fault_lines(title, "yellow", found, _command("index query notices", named_root))
    return lines


def _notice(notice: "index_store.ReportedNotice") -> str:
    about = f"{notice.contract}: " if notice.contract else ""
    place = f"{notice.source_path}: " if notice.session_id else ""
    return f"{place}{about}{notice.detail}"


def verification_lines(report: "index_store.VerificationReport", named_root: str | None) -> list[str]:
    """Describe a verdict and everything it rests on.

    Args:
        report: the verdict.
        named_root: ``--state-root`` as given, for the commands that are shown.
    """
    facts = [("index", stated("valid" if report.valid else "invalid")), ("database", report.database)]
    schema = f"{report.schema_version}"
    if report.schema_version != report.expected_schema_version:
        schema += f", expected {report.expected_schema_version}"
    facts.append(("schema", schema))
    facts.append(("integrity", "; ".join(report.integrity_check[:SHOWN])))
    facts.append(("references", f"{len(report.foreign_key_errors)} broken" if report.foreign_key_errors else "ok"))
    facts.append(("sources", _sources(report, named_root)))
    if report.review is not None:
        facts.append(("review", f"{report.review.session_id}: {stated(report.review.verdict)}"))
    if not report.valid and report.integrity_check != ("ok",):
        facts.append(("next", _command("index rebuild", named_root)))
    lines = fact_lines(facts)
    if report.source_mismatches:
        found = [(f"{m.session_id}/{m.path}", f"{m.verdict}: {m.detail}") for m in report.source_mismatches]
        lines += fault_lines(
            f"{len(found)} of the sources differ", "red", found, _command("index verify --full --json", named_root)
        )
        lines += [f"  after a change that is meant: {_command('index sync', named_root)}"]
    if report.review is not None and report.review.faults:
        lines += ["", "what speaks against the review", *_shown(report.review.faults)]
    if report.historical_artifacts:
        title = f"{len(report.historical_artifacts)} historical, of a retired format: quarantined, not counted"
        lines += ["", *wrapped(title, text_width()), *_ids(report.historical_artifacts)]
    return lines


def _sources(report: "index_store.VerificationReport", named_root: str | None) -> str:
    if not report.full:
        return f"not hashed; that is done by: {_command('index verify --full', named_root)}"
    return f"{len(report.source_mismatches)} differ" if report.source_mismatches else "all hashed, none differs"


def _command(words: str, named_root: str | None) -> str:
    return with_state_root(f"agent-workflow {words}", named_root) or ""


def _shown(texts: Sequence[str]) -> list[str]:
    return [line for text in texts[:SHOWN] for line in wrapped(printable(text), text_width(), "  ")]


def _ids(session_ids: Sequence[str]) -> Iterable[str]:
    more = f" and {len(session_ids) - SHOWN} more" if len(session_ids) > SHOWN else ""
    return wrapped(", ".join(session_ids[:SHOWN]) + more, text_width(), "  ")
