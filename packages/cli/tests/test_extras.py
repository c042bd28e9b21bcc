"""What is not installed, or not in a version that can be used, is named with the extra that brings it."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine


@pytest.mark.parametrize("words", [("export", "otlp", "--to", "x"), ("mcp",)])
def test_without_the_extra_it_says_which(words: tuple[str, ...], cli: "CommandLine") -> None:
    """Exit 2 and the command that installs it into the environment that was asked."""
    block = "import sys; sys.modules.update({'opentelemetry': None, 'mcp': None, 'mcp_types': None});"
    script = f"{block} from agent_workflow.cli._app import run; sys.exit(run(sys.argv[1:]))"

    done = subprocess.run(
        [sys.executable, "-c", script, *words], env=cli.environment, capture_output=True, text=True, timeout=240
    )

    extra = "mcp" if words == ("mcp",) else "otlp"
    assert (2, "") == (done.returncode, done.stdout)
    assert sys.executable in done.stderr
    assert f"'agent-workflow-cli[{extra}]'" in done.stderr


OLDER = """
import sys, types
sys.modules.update({name: types.ModuleType(name) for name in ("mcp", "mcp.server", "mcp.types")})
from agent_workflow.cli._app import run
sys.exit(run(sys.argv[1:]))
"""


def test_a_version_that_lacks_what_is_needed_is_no_traceback(cli: "CommandLine") -> None:
    """Other programs of the environment may bring an older one."""
    done = subprocess.run(
        [sys.executable, "-c", OLDER, "mcp"], env=cli.environment, capture_output=True, text=True, timeout=240
    )

    assert (2, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert "cannot use the version that is installed" in done.stderr
    assert "'agent-workflow-cli[mcp]'" in done.stderr
