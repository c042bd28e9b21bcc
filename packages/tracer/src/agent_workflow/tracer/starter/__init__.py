"""What ``agent-workflow init`` puts into a repository: a configuration, prompts, an example and recipes."""

from agent_workflow.tracer.starter._writing import StarterFile, write_starter

__all__ = ["StarterFile", "write_starter"]
