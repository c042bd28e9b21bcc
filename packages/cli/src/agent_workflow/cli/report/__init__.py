"""One self-contained report for people: gathered from the index, then written as HTML or as Markdown."""
