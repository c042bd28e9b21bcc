"""The web page over traces and the evidence index: an application factory and a way to serve it."""

from agent_workflow.visualizer._app import create_app
from agent_workflow.visualizer._serving import CannotServe, ServeOptions, serve

__all__ = ["CannotServe", "ServeOptions", "create_app", "serve"]
