"""What the tests of this package need when they run alone, without the workspace's own configuration."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of the tests that need the genuine evidence."""
    config.addinivalue_line("markers", "corpus: needs AGENT_WORKFLOW_CORPUS, the folder with the genuine evidence")
