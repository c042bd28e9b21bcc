"""The evidence index for agents: a read-only MCP server over the curated questions. Needs the extra ``mcp``."""
