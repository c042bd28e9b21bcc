"""Lets the tests import the modules beside them, wherever this folder is copied to."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
