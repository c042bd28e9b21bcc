"""Words for what a session is at this moment; the database knows ``running``, and only looking tells ``lost``."""

from typing import Final

LOST: Final = "lost"
RUNNING: Final = "running"
