"""What agents spent: estimated cost where they name no money, and sums over the traces that hold it."""

from agent_workflow.tracer.pricing._estimate import Estimate, Prices, load_prices
from agent_workflow.tracer.pricing._spend_lines import SpendLine, read_spend
from agent_workflow.tracer.pricing._usage_sums import GROUPS, UsageSum, day_of, sum_usage

__all__ = [
    "GROUPS",
    "Estimate",
    "Prices",
    "SpendLine",
    "UsageSum",
    "day_of",
    "load_prices",
    "read_spend",
    "sum_usage",
]
