"""Record contracts of agent-workflow evidence."""
