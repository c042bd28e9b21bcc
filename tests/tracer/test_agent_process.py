"""What an agent's process may do to a workflow: write too much beside its answer, read what is not there, ask again."""

import json
import sys

from tracer_lab import ENVELOPE, PI_CONFIG, Project

NOISY = """
import json, sys
sys.stderr.write("e" * 2_000_000)
sys.stderr.flush()
read = sys.stdin.buffer.read()
def emit(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)
usage = {"input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 7}
text = json.dumps({"summary": f"{len(read)} bytes from stdin"})
content = [{"type": "text", "text": text}]
emit("session", version=3, id="s1")
emit("message_end", message={"role": "assistant", "content": content, "usage": usage, "stopReason": "stop"})
emit("agent_settled", aborted=False)
"""
CALL = """
with phase("build", kind="agent", owner="builder", retries=1) as ph:
    ph.call(AgentCall(prompt="go", timeout_seconds=60))
sys.exit(run.finish())
"""


def test_stderr_beyond_a_pipe_and_a_stdin_without_end(project: Project) -> None:
    """Two megabytes of complaints do not stop an agent, they are kept; and it waits for nobody's input."""
    project.configure(PI_CONFIG)
    (project.root / "noisy.py").write_text(NOISY)
    project.environment["AGENT_WORKFLOW_PI"] = f"{sys.executable} {project.root / 'noisy.py'}"

    done = project.run(CALL, "run1")

    assert 0 == done.code, done.err
    assert 2_000_000 == (project.files("run1") / "builder/stderr.log").read_bytes().count(b"e")
    assert "0 bytes from stdin" in project.rows("envelopes")[0]["payload_json"]
    assert 7 == project.session("run1")["total_tokens"]


def test_attempts_are_told_while_the_agent_is_asked_again(project: Project) -> None:
    """The row of a phase counts its corrections as they come, not at its end."""
    waits = {
        "tools": [{"name": "bash", "arguments": {"command": "touch started; while ! test -e on; do sleep 0.05; done"}}]
    }
    project.script([{"text": "no JSON"}], [waits, {"text": ENVELOPE}])
    process = project.start(CALL, "run1")
    project.wait_for((project.root / "started").exists)

    row = project.rows("phases")[0]
    (project.root / "on").touch()
    _, err = process.communicate(timeout=120)

    assert (0, b"") == (process.returncode, err)
    assert ("running", 1) == (row["status"], row["attempt"])
    assert ("success", 1) == (project.rows("phases")[0]["status"], project.rows("phases")[0]["attempt"])


def test_prompt_file_that_cannot_be_read(project: Project) -> None:
    """A prompt file of another encoding fails the phase with its name."""
    project.script([{"text": ENVELOPE}])
    prompt = project.root / "builder.md"
    prompt.write_bytes("Prüfe: {{prompt}}".encode("latin-1"))
    config = project.root / "adws/sssf.config.yaml"
    config.write_text(config.read_text().replace("builder,", "builder, prompt_engineering: {user: builder.md},"))

    done = project.run(CALL, "run1")

    assert 1 == done.code
    assert f"{prompt} cannot be read" in project.rows("phases")[0]["error"]
    assert (
        "configuration"
        == json.loads((project.published("run1") / "final-status.json").read_bytes())["failure_category"]
    )
