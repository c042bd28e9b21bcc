"""The evidence index as the page asks it."""

from pathlib import Path


class Fleet:
    """One state root."""

    def __init__(self, state_root: Path) -> None:
        self.state_root = state_root
