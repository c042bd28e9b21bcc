"""The agent-workflow command."""


def main() -> None:
    """Run the command line."""
