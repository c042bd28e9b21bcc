"""What a column holds, what a document holds, and what every answer names as its authority."""

AUTHORITY = "json-jsonl-sealed-receipts"
"""What every answer names as its authority: the files, never the database."""

Value = str | int | float | None
"""What a column holds."""

Row = tuple[Value, ...]

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
