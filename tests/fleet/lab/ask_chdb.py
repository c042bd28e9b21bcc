"""Ask chDB, in a process of its own: usage: ask_chdb.py VIEWS.sql VIEW… — prints a JSON object of lists of rows."""

import json
import sys
from pathlib import Path

from chdb.session import Session
from fleet_engines import statements

AS_TEXT = "output_format_json_quote_64bit_integers=0, date_time_output_format='iso'"


def main() -> None:
    """Make the views, then print all rows of those that are named."""
    session = Session()
    for statement in statements(Path(sys.argv[1])):
        session.query(statement)
    answers = {}
    for view in sys.argv[2:]:
        answered = session.query(f"SELECT * FROM {view} SETTINGS {AS_TEXT}", "JSONEachRow")
        answers[view] = [json.loads(line) for line in answered.data().splitlines()]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
