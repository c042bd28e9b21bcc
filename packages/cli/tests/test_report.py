"""``agent-workflow report``: one file for people, whole, safe, and honest about what is unknown."""

import os
import re
import shutil
import stat
import subprocess
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_records import document_bytes, metrics, moment, provenance, status
from invented_runs import DONE, FAILED, RUNNING

from agent_workflow import index_store
from agent_workflow.cli._terminal_text import printable
from agent_workflow.cli.report import charts, gathering, markdown
from agent_workflow.cli.report.facts import Bucket, Row, unpriced
from agent_workflow.cli.report.gathering import gather
from agent_workflow.cli.report.html import html_report
from agent_workflow.cli.report.timeline import bucket_size, buckets

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

LONG_AGO = "2026-02-01"
OF_ANOTHER_AGE = b'{"schema": "agent-workflow/execution-metrics/retired-v1"}'
HOSTILE = "<script>alert(1)</script>|\"'`*_[x](javascript:x)\u202e\x1b[31m"


class Reader(HTMLParser):
    """Gathers a page's tags with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Take in text."""
        self.words.append(data)

    @property
    def text(self) -> str:
        """All text with single spaces."""
        return " ".join(" ".join(self.words).split())


def write_run(root: Path, session_id: str, begin: datetime, word: str, cost: float | None, **fields: Any) -> None:
    """Write a run that has ended."""
    run = root / "runs" / session_id
    run.mkdir(mode=0o700)
    ended = status(session_id, word, begin, updated_at=moment(begin, 60), **fields)
    (run / "status.json").write_bytes(document_bytes(ended))
    made = provenance(session_id, ("pi", "example-small"), begin, 60, 0 if word == "completed" else 1)
    (run / "run-provenance.json").write_bytes(document_bytes(made))
    (run / "execution-metrics.json").write_bytes(document_bytes(metrics(session_id, 60.0, (10, 10), cost)))


def facts_of(cli: "CommandLine", root: Path, *options: str) -> Any:
    """Return the document of a report."""
    return cli.run("report", *options, "--json", "--state-root", str(root)).document


def test_the_page_says_what_happened(indexed: Path, cli: "CommandLine", tmp_path: Path) -> None:
    """Failures with causes, spend, the open incident, the pending permission, and the freshness on top."""
    page = tmp_path / "report.html"

    done = cli.run("report", "--since", LONG_AGO, "--to", str(page), "--state-root", str(indexed))

    read = Reader(page.read_text("utf-8"))
    assert 0 == done.code, done.err
    for words in (FAILED, "nonzero-exit", "npm install", "process_alive_no_progress", "0.58 USD", "unknown"):
        assert words in read.text
    assert read.text.index("The index is current") < read.text.index("Waiting for permission")
    assert "exit code 1, executor failed" in read.text
    assert 0o600 == stat.S_IMODE(page.stat().st_mode)


def test_the_page_needs_nothing_and_runs_nothing(indexed: Path, cli: "CommandLine") -> None:
    """No script, no handler, nothing fetched, and a policy that would refuse it."""
    page = cli.run("report", "--since", LONG_AGO, "--html", "--state-root", str(indexed)).out

    read = Reader(page)
    tags = {tag for tag, _ in read.tags}
    names = {name for _, attributes in read.tags for name in attributes}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a"}
    assert not {name for name in names if name.startswith("on")} | (names & {"src", "href", "xlink:href", "style"})
    assert "url(" not in page
    assert "@import" not in page
    policy = next(a["content"] for _, a in read.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'; style-src 'unsafe-inline'" == policy
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_text_of_evidence_stays_text(root: Path, cli: "CommandLine") -> None:
    """Markup, control and direction characters are shown, not obeyed, in both forms."""
    begin = datetime(2026, 3, 1, 10, tzinfo=UTC)
    write_run(root, "hostile", begin, "failed", None, failure_category=HOSTILE)
    cli.run("index", "sync", "--state-root", str(root))
    harmless = Reader(html_report(gather(root, "2027-01-01")))

    page = cli.run("report", "--since", LONG_AGO, "--html", "--state-root", str(root)).out
    text = cli.run("report", "--since", LONG_AGO, "--md", "--state-root", str(root)).out

    read = Reader(page)
    assert "<script>alert(1)</script>" in read.text
    assert {tag for tag, _ in harmless.tags} <= {tag for tag, _ in read.tags}
    assert "script" not in {tag for tag, _ in read.tags}
    assert not set("\u202e\x1b") & set(page + text)
    assert '<td class="free"><div>&lt;script&gt;' in page
    (line,) = (line for line in text.splitlines() if line.startswith("| ") and "| hostile |" in line)
    assert "<script>" not in text
    assert 7 == len(re.findall(r"(?<!\\)\|", line))


def test_unknown_is_not_nothing(root: Path, cli: "CommandLine") -> None:
    """A run without a price is counted as such; billed and estimated are apart."""
    cli.run("index", "sync", "--state-root", str(root))

    facts = facts_of(cli, root, "--since", LONG_AGO)

    (money,) = facts["money"]
    assert ("USD", 0.58, 2) == (money["currency"], money["billed"], money["billed_samples"])
    assert (None, 0) == (money["estimated"], money["estimated_samples"])
    assert 2 == facts["unpriced_runs"]


def test_one_is_not_many(root: Path, cli: "CommandLine") -> None:
    """One run, one incident and one permission are called so."""
    cli.run("index", "sync", "--state-root", str(root))

    text = cli.run("report", "--since", LONG_AGO, "--md", "--state-root", str(root)).out

    assert "- **1** incident open now\n- **1** permission pending now" in text
    assert not re.search(r"(?<![\d,])\*\*1\*\* \w+s\b", text)


def test_the_sums_are_those_of_the_index(indexed: Path, cli: "CommandLine") -> None:
    """Runs by status, failures and what is open now agree with the queries."""
    rows = cli.run("index", "query", "runs", "--json", "--state-root", str(indexed)).document["rows"]

    facts = facts_of(cli, indexed, "--since", LONG_AGO)

    assert len(rows) == facts["run_count"] == sum(facts["statuses"].values())
    assert {"completed": 2, "failed": 1, "running": 1} == facts["statuses"]
    assert [FAILED] == [failure["session_id"] for failure in facts["failures"]]
    assert [["nonzero-exit", 1]] == facts["causes"]
    assert [RUNNING] == [row["session_id"] for row in facts["permissions"]]
    assert [RUNNING] == [row["session_id"] for row in facts["incidents"]]
    assert 4 == sum(sum(bucket["counts"].values()) for bucket in facts["runs_over_time"])


def import_run(root: Path, session_id: str, begin: datetime, retry_of: str | None) -> None:
    """Write a run of an imported session, which ended badly and has no price."""
    write_run(root, session_id, begin, "failed", None)
    session = dict.fromkeys(("agent_name", "agent_class", "tier"))
    launch = {
        "schema": "agent-workflow/traced-launch-contract/v2",
        "version": 2,
        "origin": "imported",
        "session": {**session, "id": session_id, "retry_of": retry_of, "created_at": moment(begin, 0)},
        "workflow": {"name": "session"},
        "agents": [],
        "worktree": dict.fromkeys(("path", "source_revision", "branch", "dirty_at_launch")),
        "runner": None,
        "trace": {"adw_id": "grown", "database": "/srv/imported.db", "session_directory": "/srv/sessions/grown"},
        "tracer_version": "1.0.0",
    }
    (root / "runs" / session_id / "launch-contract.json").write_bytes(document_bytes(launch))


def test_an_imported_session_that_has_grown_is_told_once(tmp_path: Path, cli: "CommandLine") -> None:
    """By its newest run, wherever the report counts or lists."""
    (tmp_path / "runs").mkdir(mode=0o700)
    tmp_path.chmod(0o700)
    for session_id, retry_of in (("grown", None), ("grown-2", "grown")):
        import_run(tmp_path, session_id, datetime(2026, 3, 1, tzinfo=UTC), retry_of)
    cli.run("index", "sync", "--state-root", str(tmp_path))

    facts = facts_of(cli, tmp_path, "--since", LONG_AGO)

    assert (1, 1, {"failed": 1}, 1) == tuple(
        facts[name] for name in ("run_count", "failure_count", "statuses", "unpriced_runs")
    )
    assert ["grown-2"] == [failure["session_id"] for failure in facts["failures"]]


def test_what_does_not_fit_is_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is cut, a count is not; what is no evidence any more takes no place of what is in error."""
    monkeypatch.setattr(gathering, "_MOST_LISTED", 2)
    for number in range(3):
        for name, content in (("open", None), ("broken", b"{"), ("old", OF_ANOTHER_AGE)):
            run = root / "runs" / f"{name}-{number}"
            shutil.copytree(root / "runs" / RUNNING, run) if content is None else run.mkdir(mode=0o700)
            for file in run.rglob("*.json*"):
                file.write_bytes(file.read_bytes().replace(RUNNING.encode(), run.name.encode()))
            if content is not None:
                (run / "execution-metrics.json").write_bytes(content)
    index_store.sync(root)

    facts = gather(root, LONG_AGO)

    assert (2, 4) == (len(facts.incidents), facts.incident_count)
    assert (2, 4) == (len(facts.permissions), facts.permission_count)
    assert (2, 3) == (len(facts.errors), facts.error_count)
    assert {"broken"} == {str(row["session_id"]).partition("-")[0] for row in facts.errors}
    for form in (html_report(facts), markdown.markdown_report(facts)):
        for words in ("Waiting for permission, the newest 2 of 4", "Open incidents, the newest 2 of 4"):
            assert words in form
        assert "Evidence in error, the newest 2 of 3" in form


def test_the_period_is_obeyed_and_what_is_open_is_told_anyway(indexed: Path, cli: "CommandLine") -> None:
    """A later period has no run; what waits still waits."""
    facts = facts_of(cli, indexed, "--since", "2026-06-01")

    assert (0, 0) == (facts["run_count"], facts["failure_count"])
    assert 1 == len(facts["permissions"])


def test_a_stale_index_is_said_to_be_stale(indexed: Path, cli: "CommandLine") -> None:
    """With the step that mends it, above everything else."""
    (indexed / "runs" / DONE / "late.json").write_text("{}")

    page = cli.run("report", "--since", LONG_AGO, "--state-root", str(indexed)).out

    assert "The index is stale" in Reader(page).text
    assert "agent-workflow index sync" in page


@pytest.mark.parametrize("form", ["--html", "--md"])
@pytest.mark.parametrize("make", ["nothing", "empty index"])
def test_there_may_be_nothing_yet(cli: "CommandLine", tmp_path: Path, form: str, make: str) -> None:
    """No index gives a report that knows nothing, and one without a run a report of nothing: both say so."""
    root = tmp_path / "none"
    if make == "empty index":
        cli.run("index", "sync", "--state-root", str(root))

    report = cli.run("report", form, "--state-root", str(root))

    assert 0 == report.code, report.err
    assert ("There is no index yet" if make == "nothing" else "The index is current") in report.out
    for words in ("No run of this period", "No incident is open", "Nothing waits", "without a known price"):
        assert (words in report.out) == (make == "empty index")
    assert root.exists() == (make == "empty index")


def test_a_file_is_replaced_whole_and_says_the_form(indexed: Path, cli: "CommandLine", tmp_path: Path) -> None:
    """A link is replaced, not followed, and nothing is left beside it."""
    folder = tmp_path / "reports"
    folder.mkdir()
    (tmp_path / "precious").write_text("precious")
    (folder / "week.md").symlink_to(tmp_path / "precious")

    done = cli.run("report", "--to", str(folder / "week.md"), "--state-root", str(indexed))

    assert 0 == done.code
    assert (folder / "week.md").read_text().startswith("# Agent runs on ")
    assert "precious" == (tmp_path / "precious").read_text()
    assert ["week.md"] == [path.name for path in folder.iterdir()]


def test_a_pipe_or_a_device_is_written_to_and_stays_what_it_is(
    indexed: Path, cli: "CommandLine", tmp_path: Path
) -> None:
    """A rename would put a file in the place of ``/dev/null``."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        done = cli.run("report", "--state-root", str(indexed), "--md", "--to", str(pipe))
        if not pipe.is_fifo():
            reader.kill()  # it would wait for ever
        read, _ = reader.communicate(timeout=240)

    to_stdout = cli.run("report", "--state-root", str(indexed), "--md", "--to", "/dev/stdout")

    assert [0, 0] == [done.code, to_stdout.code]
    assert pipe.is_fifo()
    assert read.startswith("# Agent runs on ")
    assert to_stdout.out.startswith("# Agent runs on ")


def test_a_file_that_cannot_be_written_is_named_as_it_was_asked_for(indexed: Path, cli: "CommandLine") -> None:
    """Not by the name that it has until it is whole."""
    answer = cli.run("report", "--to", "nowhere/week.html", "--state-root", str(indexed))

    assert 1 == answer.code
    assert answer.err.startswith("agent-workflow: nowhere/week.html: No such file or directory; ")


@pytest.mark.parametrize("options", [("--html", "--md"), ("--since", "soon"), ("--json", "--md"), ("--to", ".")])
def test_a_wrong_call_is_refused(indexed: Path, cli: "CommandLine", options: tuple[str, ...]) -> None:
    """Exit 2 with the next step."""
    refused = cli.run("report", *options, "--state-root", str(indexed))

    assert 2 == refused.code
    assert "; " in refused.err


@given(st.text())
def test_no_text_breaks_out_of_html(words: str) -> None:
    """Any text of evidence comes back as text and makes no tag."""
    read = Reader(f"<p>{charts.text(words)}</p>")

    assert ["p"] == [tag for tag, _ in read.tags]
    assert "".join(read.words).isprintable()


@given(st.text())
def test_no_text_breaks_out_of_a_markdown_cell(words: str) -> None:
    """No unescaped bar, no new line, no tag."""
    cell = markdown.text(words)

    assert not re.search(r"(?<!\\)(\\\\)*\|", cell)
    assert not set("<>\n\r") & set(cell)


@given(st.text() | st.sampled_from(("@everyone", "&#64;", "a://b", "www.x.y", "**b** #1 `c` [l](x) <b> &lt; \\|")))
def test_a_markdown_cell_shows_the_text_as_it_is(words: str) -> None:
    """Rendered by somebody else's parser: what was written, and no markup of any kind."""
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    shown = printable(words)

    tokens = parser.parse(f"| a |\n|---|\n| {markdown.text(words)} |")

    (cell,) = (after for before, after in pairwise(tokens) if before.type == "td_open")
    assert {"text", "text_special"} >= {part.type for part in cell.children}
    assert shown.strip() == "".join(part.content for part in cell.children).strip()


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=40))
def test_every_bar_stays_inside_its_chart(counts: list[float]) -> None:
    """Whatever the figures, no bar begins above the frame or has no height."""
    made = [Bucket(f"2026-01-{number + 1:02d}", {"completed": count}) for number, count in enumerate(counts)]

    drawn = charts.stacked_bars(made, ("completed",), "runs")

    for y, height in re.findall(r'<rect class="completed" [^>]*y="([^"]+)" width="[^"]+" height="([^"]+)"', drawn):
        assert float(y) >= 0
        assert float(height) >= 1


@given(st.dates(date(2020, 1, 1), date(2030, 1, 1)), st.integers(0, 2000), st.lists(st.integers(0, 2000)))
def test_no_count_is_lost_between_days_and_buckets(first: date, length: int, days: list[int]) -> None:
    """The buckets of a period hold exactly what its days do."""
    last = first + timedelta(days=length)
    inside = [first + timedelta(days=day) for day in days if day <= length]
    by_day: dict[str, dict[str, float]] = {}
    for day in inside:
        counts = by_day.setdefault(day.isoformat(), {})
        counts["failed"] = counts.get("failed", 0) + 1

    made = buckets(by_day, first, last, bucket_size(first, last))

    assert len(inside) == sum(bucket.counts.get("failed", 0) for bucket in made)
    assert len(made) <= 70 or length > 2000


def test_clocks_that_were_far_off_do_not_stop_the_report(root: Path, cli: "CommandLine") -> None:
    """Runs of the year 0, 1 and 9999 are counted and listed; the chart keeps to years that somebody looks at."""
    begin = datetime(2026, 3, 1, 10, tzinfo=UTC)
    for number, year in enumerate(("0000-01-01", "0001-01-01", "9999-12-31")):
        write_run(root, f"odd-{number}", begin, "failed", 1.0)
        for name in ("status.json", "run-provenance.json"):
            path = root / "runs" / f"odd-{number}" / name
            path.write_text(path.read_text().replace("2026-03-01", year))
    cli.run("index", "sync", "--state-root", str(root))

    for since in ("0001-01-01", "7d"):
        report = cli.run("report", "--since", since, "--html", "--state-root", str(root))
        assert 0 == report.code, report.err
        assert "odd-2" in report.out
    facts = facts_of(cli, root, "--since", "0001-01-01")
    assert len(facts["runs_over_time"]) < 300
    assert 4 < facts["run_count"]


def test_a_run_with_one_price_is_priced() -> None:
    """Rows of stages without a price do not make it unknown; a run without metrics is unknown."""
    rows: list[Row] = [
        {"session_id": "a", "provider_billed_cost": None, "local_estimated_cost": None},
        {"session_id": "a", "provider_billed_cost": 0.0, "local_estimated_cost": None},
        {"session_id": "b", "provider_billed_cost": None, "local_estimated_cost": None},
    ]

    assert 2 == unpriced(rows, 3)
