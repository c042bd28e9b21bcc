"""History that coding agents have left on disk, as sessions of a trace."""

from agent_workflow.tracer.importing._formats import discover, recognise_session
from agent_workflow.tracer.importing._importing import ImportProgress, ImportReport, import_sessions
from agent_workflow.tracer.importing._items import CostBasis

__all__ = ["CostBasis", "ImportProgress", "ImportReport", "discover", "import_sessions", "recognise_session"]
