"""A small program with the tracer's commands alone: ``python trace_cli.py trace sessions``."""

import typer

from agent_workflow.cli._init import init_command
from agent_workflow.cli._trace import trace_app

app = typer.Typer()
app.add_typer(trace_app, name="trace")
app.command("init")(init_command)

if __name__ == "__main__":
    app()
