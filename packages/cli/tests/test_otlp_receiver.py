"""Where spans are sent: what is named, what the environment says, and what nobody may read on the way."""

import pytest

from agent_workflow.cli._failure import CommandFailed
from agent_workflow.cli.otlp.receiver import Receiver, headers_from, receiver_of


def test_what_is_named_comes_before_the_environment() -> None:
    """The option, then the variable for traces, whose address is taken as it is, then that for every signal."""
    both = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://all", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces/x"}
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2"}

    assert Receiver("http://named/v1/traces") == receiver_of("http://named", both)
    assert Receiver("http://traces/x", {"b": "2"}) == receiver_of(None, both | headers)
    assert Receiver("http://all/v1/traces") == receiver_of(None, both | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": " "})
    assert receiver_of(None, headers) is None


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "gRPC"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, "zstd"),
        ({"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "nothing"}, "OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"}, "no address"),
    ],
)
def test_a_variable_that_asks_for_something_else_is_told(variables: dict[str, str], words: str) -> None:
    """Nothing is sent anywhere that was not meant."""
    with pytest.raises(CommandFailed, match=words) as raised:
        receiver_of(None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h"} | variables)

    assert 2 == raised.value.failure.exit_code


@pytest.mark.parametrize(
    ("url", "is_clear"),
    [
        ("http://127.0.0.1:4318", False),
        ("http://[::1]:1", False),
        ("http://localhost", False),
        ("https://collector.example", False),
        ("http://collector.example", True),
        ("http://127.0.0.1.example", True),
    ],
)
def test_what_can_be_read_on_the_way_is_known(url: str, is_clear: bool) -> None:
    """Headers that hold a secret, and content, are not sent in the clear without a word."""
    assert is_clear == Receiver(url).is_in_the_clear
    assert "word" not in repr(Receiver(url, {"authorization": "word"}))


@pytest.mark.parametrize(
    "text", ["authorization=a%0Asecret-4711", "secret-4711", "a b=secret-4711", "a=%C3%A9secret-4711"]
)
def test_headers_that_cannot_be_read_are_not_repeated(text: str) -> None:
    """They may hold a secret."""
    with pytest.raises(CommandFailed) as raised:
        headers_from(text)

    assert "4711" not in raised.value.failure.line
