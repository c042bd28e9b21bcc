"""Trace databases of any writer for the browser: the playground of the page's own package."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "packages/visualizer/tests"))

from trace_playground import BASE, FOREIGN, LATER, Trace, fill

__all__ = ["BASE", "FOREIGN", "LATER", "Trace", "fill"]
