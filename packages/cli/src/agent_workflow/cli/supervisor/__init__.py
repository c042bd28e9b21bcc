"""The foreground supervisor: it looks at live runs, writes what it saw, and helps where allowed."""
