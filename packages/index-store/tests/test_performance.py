"""Averages over runs: kinds of money and currencies stay apart, unknown stays unknown."""

from collections.abc import Mapping
from typing import Any

from sample_records import launch_contract, metrics, stage
from sample_state import StateRoot

from agent_workflow.index_store import query, sync

# Money and time: unknown is not zero.


def performance(state: StateRoot, *stages: dict[str, Any]) -> Mapping[str, Any]:
    """Give each stage a run of its own, and return the one row that sums them up."""
    for number, one in enumerate(stages):
        state.run(f"run-{number}").document("execution-metrics.json", metrics(f"run-{number}", one))
    sync(state.path)
    (row,) = query(state.path, "performance").rows
    return row


def test_one_currency_has_an_average(state: StateRoot) -> None:
    """Over the samples that have an amount, and no others."""
    row = performance(
        state,
        stage(provider_billed_cost=1.0, currency="USD"),
        stage(provider_billed_cost=2.0, currency="USD"),
        stage(currency="USD"),
    )

    assert 3 == row["sample_count"]
    assert (2, 1.5, "USD") == billed(row)


def billed(row: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return what a row says of billed money."""
    return row["provider_billed_sample_count"], row["avg_provider_billed_cost"], row["provider_billed_currency"]


def estimated(row: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return what a row says of estimated money."""
    return row["local_estimated_sample_count"], row["avg_local_estimated_cost"], row["local_estimated_currency"]


def test_mixed_currencies_have_neither_currency_nor_average(state: StateRoot) -> None:
    """Their sum would mean nothing."""
    row = performance(
        state, stage(provider_billed_cost=1.0, currency="USD"), stage(provider_billed_cost=2.0, currency="EUR")
    )

    assert (2, None, None) == billed(row)


def test_a_sample_without_currency_leaves_no_average(state: StateRoot) -> None:
    """It could be of any."""
    row = performance(state, stage(provider_billed_cost=1.0, currency="USD"), stage(provider_billed_cost=2.0))

    assert (2, None, None) == billed(row)


def test_no_sample_is_no_average(state: StateRoot) -> None:
    """And not zero; nor does the currency of what was not measured count."""
    row = performance(state, stage(currency="USD"))

    assert (0, None, None) == billed(row)
    assert (0, None, None) == estimated(row)


def test_a_cost_of_zero_is_a_cost(state: StateRoot) -> None:
    """Free is known, and counts in the average."""
    row = performance(
        state, stage(provider_billed_cost=0, currency="USD"), stage(provider_billed_cost=3.0, currency="USD")
    )

    assert (2, 1.5, "USD") == billed(row)


def test_billed_and_estimated_money_stay_apart(state: StateRoot) -> None:
    """Each has its own samples, average and currency."""
    row = performance(
        state,
        stage(provider_billed_cost=1.0, currency="USD"),
        stage(local_estimated_cost=9.0, currency="EUR"),
        stage(local_estimated_cost=11.0, currency="EUR"),
    )

    assert (1, 1.0, "USD") == billed(row)
    assert (2, 10.0, "EUR") == estimated(row)


def test_a_mixture_of_one_kind_of_money_does_not_spoil_the_other(state: StateRoot) -> None:
    """Estimates in two currencies, bills in one."""
    row = performance(
        state,
        stage(provider_billed_cost=1.0, local_estimated_cost=1.0, currency="USD"),
        stage(local_estimated_cost=2.0, currency="EUR"),
    )

    assert (1, 1.0, "USD") == billed(row)
    assert (2, None, None) == estimated(row)


def test_averages_leave_out_what_is_unknown(state: StateRoot) -> None:
    """An average of 10 and unknown is 10; of nothing but unknown it is unknown."""
    row = performance(state, stage(input_tokens=10, elapsed_seconds=4.0), stage(elapsed_seconds=2.0))

    assert (10.0, 3.0) == (row["avg_input_tokens"], row["avg_elapsed_seconds"])
    assert (None, None) == (row["avg_output_tokens"], row["avg_first_output_latency_seconds"])


def test_an_unknown_metric_stays_unknown(state: StateRoot) -> None:
    """No price, no tokens, no latency: none of them is zero."""
    performance(state, stage())

    (row,) = query(state.path, "metrics").rows

    unknown = ("input_tokens", "output_tokens", "provider_billed_cost", "local_estimated_cost", "currency")
    assert dict.fromkeys(unknown) == {name: row[name] for name in unknown}


def test_stages_executors_and_models_are_groups_of_their_own(state: StateRoot) -> None:
    """A run of two stages gives two rows, and another model a third."""
    for name, model in (("one", "large"), ("two", "large"), ("three", "small")):
        run = state.run(name)
        run.document("launch-contract.json", launch_contract(name, executor="codex", model=model))
        run.document("execution-metrics.json", metrics(name, stage("total"), stage("verification")))
    sync(state.path)

    groups = {(row["model"], row["stage"]): row["sample_count"] for row in query(state.path, "performance").rows}

    assert {
        ("large", "total"): 2,
        ("large", "verification"): 2,
        ("small", "total"): 1,
        ("small", "verification"): 1,
    } == groups


def test_attempts_are_summed_up_by_their_outcome(state: StateRoot) -> None:
    """Runs in error are no attempts; eligible ones are counted among the others."""
    state.run("one", executor_result="completed", acceptance_eligible=True)
    state.run("two", executor_result="completed", acceptance_eligible=False)
    state.run("three", executor_result="failed")
    state.run("broken").journal("events.jsonl", [{"schema": "agent-workflow/lifecycle-event/v1"}])
    sync(state.path)

    rows = query(state.path, "attempts").rows

    assert [("completed", 2, 1), ("failed", 1, 0)] == [
        (row["executor_result"], row["run_count"], row["acceptance_eligible_count"]) for row in rows
    ]
