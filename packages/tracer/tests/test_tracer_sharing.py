"""One session, many hands: threads of a workflow, and children that it forks."""

import os
import threading
from pathlib import Path

from agent_workflow.tracer import Run, Tracer, ensure, load_config
from agent_workflow.tracer._journal import records


def run_in(folder: Path) -> Run:
    """Begin a session that is published nowhere."""
    (folder / "sssf.config.yaml").write_text("evidence: {publish: false}\n")
    return ensure(load_config(folder / "sssf.config.yaml"), "run1")


def test_agents_side_by_side_keep_their_conversations(tmp_path: Path) -> None:
    """Threads that remember an agent each at the same moment forget nobody's."""
    run = run_in(tmp_path)
    names = [f"agent{n}" for n in range(8)]

    def remember(name: str) -> None:
        for n in range(20):
            run.save_agent(name, {"session_id": f"{name}-{n}"})

    threads = [threading.Thread(target=remember, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.finish()

    assert {name: {"session_id": f"{name}-19"} for name in names} == run.agent_map()


def test_a_child_does_not_wait_for_a_thread_that_it_does_not_have(tmp_path: Path) -> None:
    """A thread may be recording while the workflow forks; the child records all the same."""
    tracer = Tracer(tmp_path / "sssf.db", tmp_path, "run1")
    is_held, is_over = threading.Event(), threading.Event()

    def record() -> None:
        with tracer._lock:
            is_held.set()
            is_over.wait()

    thread = threading.Thread(target=record)
    thread.start()
    is_held.wait()
    child = os.fork()
    if child == 0:
        try:
            threading.Timer(60, os._exit, [2]).start()
            tracer.event("log", "child")
            tracer.numbered_row("processes", pid=1)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    is_over.set()
    thread.join()
    tracer.reserve.release()
    tracer.close()

    assert 0 == os.waitstatus_to_exitcode(status)
    assert ["child"] == [record.value["name"] for record in records(tracer.files.events) if record.value]
