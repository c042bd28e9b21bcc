"""What status, sync, rebuild and verify answer, in words."""

from collections.abc import Iterable, Sequence

from agent_workflow import index_store
from agent_workflow.cli._cells import counted, minute, size
from agent_workflow.cli._failure import with_state_root
from agent_workflow.cli._output import Palette, terminal_width, wrapped
from agent_workflow.cli._table import state_colour
from agent_workflow.cli._terminal_text import printable

_SHOWN = 20
"""Entries of a list that are shown; a report of thousands of errors is read with ``index query errors``."""

_LABEL_WIDTH = 13


def status_lines(report: "index_store.StatusReport", named_root: str | None) -> list[str]:
    """Describe the state of the index.

    Args:
        report: the state.
        named_root: ``--state-root`` as given, for the commands that are shown.
    """
    freshness = report.freshness
    facts = [("index", _stated(freshness.word)), ("state root", report.state_root), ("database", _database(report))]
    facts.append(("runs", _run_counts(freshness)))
    if report.exists:
        synced = f"{minute(report.last_sync_at)}, {_scope(report.last_sync_scope)}" if report.last_sync_at else "never"
        facts.append(("last sync", synced))
    if report.notice_count:
        facts.append(("notices", f"{report.notice_count}: {_command('index query notices', named_root)}"))
    facts.extend(("next", step) for step in _next_steps(report, named_root))
    return _fact_lines(facts)


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
        lines += _faults(f"{len(faults)} in error", "red", faults, _command("index query errors", named_root))
        lines += [*wrapped(advice, _text_width(), "  "), f"  {_command('index sync', named_root)}"]
    if report.quarantined:
        title = f"{len(report.quarantined)} historical, of a retired format: kept where they are, not counted"
        lines += ["", *wrapped(title, _text_width()), *_ids(report.quarantined)]
    if report.notices:
        found = [(notice.session_id or notice.source_path, _notice(notice)) for notice in report.notices]
        title = counted(len(found), "notice")
        lines += _faults(title, "yellow", found, _command("index query notices", named_root))
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
    facts = [("index", _stated("valid" if report.valid else "invalid")), ("database", report.database)]
    schema = f"{report.schema_version}"
    if report.schema_version != report.expected_schema_version:
        schema += f", expected {report.expected_schema_version}"
    facts.append(("schema", schema))
    facts.append(("integrity", "; ".join(report.integrity_check[:_SHOWN])))
    facts.append(("references", f"{len(report.foreign_key_errors)} broken" if report.foreign_key_errors else "ok"))
    facts.append(("sources", _sources(report, named_root)))
    if report.review is not None:
        facts.append(("review", f"{report.review.session_id}: {_stated(report.review.verdict)}"))
    if not report.valid and report.integrity_check != ("ok",):
        facts.append(("next", _command("index rebuild", named_root)))
    lines = _fact_lines(facts)
    if report.source_mismatches:
        found = [(f"{m.session_id}/{m.path}", f"{m.verdict}: {m.detail}") for m in report.source_mismatches]
        lines += _faults(
            f"{len(found)} of the sources differ", "red", found, _command("index verify --full --json", named_root)
        )
        lines += [f"  after a change that is meant: {_command('index sync', named_root)}"]
    if report.review is not None and report.review.faults:
        lines += ["", "what speaks against the review", *_shown(report.review.faults)]
    if report.historical_artifacts:
        title = f"{len(report.historical_artifacts)} historical, of a retired format: quarantined, not counted"
        lines += ["", *wrapped(title, _text_width()), *_ids(report.historical_artifacts)]
    return lines


def _sources(report: "index_store.VerificationReport", named_root: str | None) -> str:
    if not report.full:
        return f"not hashed; that is done by: {_command('index verify --full', named_root)}"
    return f"{len(report.source_mismatches)} differ" if report.source_mismatches else "all hashed, none differs"


def _command(words: str, named_root: str | None) -> str:
    return with_state_root(f"agent-workflow {words}", named_root) or ""


def _text_width() -> int:
    return min(terminal_width(), 100)


def _stated(word: str) -> str:
    return Palette().paint(word, state_colour(word))


def _fact_lines(facts: Sequence[tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    for label, fact in facts:
        body = list(wrapped(fact, max(_text_width() - _LABEL_WIDTH, 20))) or [""]
        lines.append(label.ljust(_LABEL_WIDTH) + body[0])
        lines.extend(" " * _LABEL_WIDTH + more for more in body[1:])
    return lines


def _faults(title: str, colour: str, faults: Sequence[tuple[str, str]], all_of_them: str) -> list[str]:
    """List what is at fault under a title, each with its place, cut to a readable number."""
    lines = ["", Palette().paint(title, colour)]
    for subject, fault in faults[:_SHOWN]:
        lines.append(f"  {printable(subject)}")
        lines.extend(wrapped(printable(fault), _text_width(), "    "))
    if len(faults) > _SHOWN:
        lines.append(f"  and {len(faults) - _SHOWN} more: {all_of_them}")
    return lines


def _shown(texts: Sequence[str]) -> list[str]:
    return [line for text in texts[:_SHOWN] for line in wrapped(printable(text), _text_width(), "  ")]


def _ids(session_ids: Sequence[str]) -> Iterable[str]:
    more = f" and {len(session_ids) - _SHOWN} more" if len(session_ids) > _SHOWN else ""
    return wrapped(", ".join(session_ids[:_SHOWN]) + more, _text_width(), "  ")
