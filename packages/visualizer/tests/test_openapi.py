"""Requests made up from the OpenAPI document: every reply is documented, and none is a fault."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from trace_playground import Trace, fill

from agent_workflow import index_store
from agent_workflow.visualizer import create_app

pytestmark = pytest.mark.slow

_FOLDER = tempfile.TemporaryDirectory(prefix="agent-workflow-openapi-")
_ROOT = Path(_FOLDER.name)
_KNOWN = {"adw_id": "aaaa0001", "agent": "builder", "event_id": "evt_000000000001", "envelope_id": "env_1"}
_HOST = {"host": "127.0.0.1:4600"}


def _served() -> Any:
    trace = Trace(_ROOT / "shop" / "sssf.db")
    fill(trace)
    trace.close()
    run = _ROOT / "state-root" / "runs" / "run-1"
    run.mkdir(parents=True)
    for folder in (_ROOT / "state-root", _ROOT / "state-root" / "runs"):
        folder.chmod(0o700)
    index_store.sync(_ROOT / "state-root")
    return create_app([trace.path], state_root=_ROOT / "state-root", flags=_ROOT / "flags.json")


app = _served()
schema = schemathesis.openapi.from_dict(app.openapi())
schema.app = app


@pytest.mark.parametrize("_", ["with made-up ids"])
@schema.parametrize()
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_makes_a_fault(_: str, case: Any) -> None:
    """Whatever is asked: a documented answer that is JSON; no 5xx, for nothing is broken here."""
    _check(case)


@schema.parametrize()
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_about_what_exists_makes_a_fault(case: Any) -> None:
    """The same about a session, an agent and an event that are there."""
    for name, value in _KNOWN.items():
        if name in (case.path_parameters or {}):
            case.path_parameters[name] = value
    if "project" in (case.path_parameters or {}):
        case.path_parameters["project"] = "shop"
    _check(case)


def _check(case: Any) -> None:
    reply = case.call(headers=_HOST)

    assert reply.status_code < 500, (case.as_curl_command(), reply.text)
    if reply.status_code != 304:
        assert reply.headers["content-type"][0].startswith("application/json")
        assert isinstance(reply.json(), list | dict)
    if reply.status_code >= 400:
        assert {"error", "problem"} == set(reply.json())
    if reply.status_code != 404:  # a made-up id may hold a slash: then it is another address
        checks = [status_code_conformance, content_type_conformance, response_schema_conformance]
        case.validate_response(reply, checks=checks)
