"""Estimated cost: what tokens would have cost by a public price list, where the agent names no money."""

from agent_workflow.tracer.pricing._estimate import Estimate, Prices, load_prices

__all__ = ["Estimate", "Prices", "load_prices"]
