"""The filters of a question as options, the same for one index and for a fleet."""

from typing import Annotated

import typer

Session = Annotated[str | None, typer.Option("--session", metavar="ID", help="Only this run.")]
State = Annotated[
    str | None, typer.Option("--state", metavar="STATE", help="Only this state, for example failed or open.")
]
Category = Annotated[str | None, typer.Option("--category", metavar="CATEGORY", help="Only this category.")]
Executor = Annotated[str | None, typer.Option("--executor", metavar="NAME", help="Only this agent program.")]
Model = Annotated[str | None, typer.Option("--model", metavar="NAME", help="Only this model.")]
Pack = Annotated[str | None, typer.Option("--pack", metavar="ID", help="Only this prompt pack.")]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="From then on: a date, a time, or an age such as 24h.")
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Up to then: a date, a time, or an age such as 7d.")
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="At most so many rows, 1 to 10000.")]
Wide = Annotated[bool, typer.Option("--wide", help="Show every column, and all of every value.")]
