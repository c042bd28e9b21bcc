"""History that coding agents have left on disk, as sessions of a trace."""

from agent_workflow.tracer.importing._formats import discover, recognise_session
from agent_workflow.tracer.importing._importing import import_sessions
from agent_workflow.tracer.importing._items import CostBasis
from agent_workflow.tracer.importing._publishing import QUIET_SECONDS, publishing_root
from agent_workflow.tracer.importing._report import ImportProgress, ImportReport

__all__ = [
    "QUIET_SECONDS",
    "CostBasis",
    "ImportProgress",
    "ImportReport",
    "discover",
    "import_sessions",
    "publishing_root",
    "recognise_session",
]
