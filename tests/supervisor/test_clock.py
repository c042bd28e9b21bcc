"""The wall's clock is set back and forward: no run is stalled, progressing or lost because of it."""

import pytest
from supervisor_lab import Host

HOUR = 3600.0


@pytest.mark.parametrize("step", [HOUR, -HOUR, 400 * 24 * HOUR, -400 * 24 * HOUR])
@pytest.mark.parametrize("has_memory", [True, False], ids=["run", "once"])
def test_set_clock_makes_no_incident(host: Host, step: float, has_memory: bool) -> None:
    """A run that prints is well before and after; a step is no silence, and no process is another because of it."""
    run = host.run()
    look = host.look if has_memory else host.look_anew
    look()
    for _ in range(3):
        look(30)
    host.clock.set_wall(step)
    for _ in range(5):
        look(30)

    assert [] == run.records("incident-events.jsonl")
    assert run.records("run-health-samples.jsonl")[-1]["seconds_since_semantic_progress"] < 300


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_silence_is_measured_across_a_step(host: Host, step: float) -> None:
    """A silence that began before the step is a stall when it has lasted long enough, and not before."""
    run = host.run()
    host.look()
    host.look_anew(290)
    host.clock.set_wall(step)
    host.look_anew(290)
    before = run.records("incident-events.jsonl")
    host.look_anew(60)

    assert [] == before
    assert ["process_alive_no_progress"] == [record["category"] for record in run.records("incident-events.jsonl")]


def test_other_boot_falls_back_on_the_wall(host: Host) -> None:
    """After a restart of the host the clocks of before say nothing; ages are never negative."""
    run = host.run()
    host.look(30)
    host.clock.ran = 5.0  # a new boot counts from its beginning
    host.look_anew(10)

    sample = run.records("run-health-samples.jsonl")[-1]
    assert 0 <= sample["seconds_since_semantic_progress"] <= 60
