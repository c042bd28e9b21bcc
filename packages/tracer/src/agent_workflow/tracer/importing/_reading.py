"""What the readers of all session files share: a state that survives between two imports, and open turns and calls."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Final, Self

from agent_workflow.tracer._json import clip, clip_strings
from agent_workflow.tracer.agents._json_stream import trace_time
from agent_workflow.tracer.importing._items import Item, Note, SessionFacts, ToolCall, Turn, Verdict

RESULT_CHARACTERS: Final = 2_000
TEXT_CHARACTERS: Final = 4_000


@dataclass
class OpenTurn:
    """The turn that a lane is in."""

    key: str = ""
    at: str = ""
    text: str = ""
    ended_at: str = ""
    verdict: Verdict = "incomplete"
    error: str = ""
    stop_reason: str = ""
    is_copy: bool = False


@dataclass
class OpenCall:
    """A tool call that has not come back."""

    turn: str
    lane: str
    tool: str
    args: Any
    at: str
    is_copy: bool = False


@dataclass
class SessionReader:
    """Reads one source record by record; everything that it must remember is in its fields, as JSON can hold it.

    Attributes:
        needles: a line that holds none of these is of no use and is not parsed.
        facts: about the session.
        turns: the turn of each lane.
        calls: open tool calls by lane and id.
        first_at, last_at: bounds of the times seen.
    """

    needles: ClassVar[tuple[bytes, ...]] = ()
    agent: ClassVar[str] = ""

    facts: SessionFacts
    turns: dict[str, OpenTurn] = field(default_factory=dict)
    calls: dict[str, OpenCall] = field(default_factory=dict)
    first_at: str = ""
    last_at: str = ""

    def read(self, record: dict[str, Any], number: int) -> Iterator[Item]:
        """Take one record in.

        Args:
            record: that is no repetition of bytes that were read before.
            number: of its line, from 1; stands in where a record has no id of its own.

        Returns:
            What is settled by it; an item that comes again replaces the one before.
        """
        raise NotImplementedError

    def unsettled(self) -> Iterator[Item]:
        """Return what a later record may still change: the open turns and the calls that have not come back."""
        for lane, turn in self.turns.items():
            yield self._turn(lane, turn)
        for identity, call in self.calls.items():
            call_id = identity.partition("\n")[2]
            yield ToolCall(
                key=f"{call_id}@{call.at}",
                turn=call.turn,
                lane=call.lane,
                tool=call.tool,
                call_id=call_id,
                args=call.args,
                result="interrupted: the record ends before the tool returned",
                ok=False,
                duration_ms=None,
                started_at=call.at,
                ended_at=self.turns[call.lane].ended_at or call.at,
                interrupted=True,
                is_copy=call.is_copy,
            )

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON holds it."""
        return asdict(self)

    @classmethod
    def load(cls, state: dict[str, Any]) -> Self:
        """Go on where ``dump`` stopped."""
        state = dict(state)
        facts = SessionFacts(**state.pop("facts"))
        turns = {lane: OpenTurn(**turn) for lane, turn in state.pop("turns").items()}
        calls = {call_id: OpenCall(**call) for call_id, call in state.pop("calls").items()}
        return cls(facts=facts, turns=turns, calls=calls, **state)

    def moment(self, told: object) -> str:
        """Read a time and keep the bounds; what is no time counts as the newest one before."""
        at = trace_time(told)
        if not at:
            return self.last_at
        self.first_at = min(self.first_at or at, at)
        self.last_at = max(self.last_at, at)
        return at

    def begin(self, lane: str, key: str, at: str, text: str, *, is_copy: bool = False) -> Iterator[Item]:
        """Enter a new turn; the one before is settled."""
        before = self.turns.get(lane)
        if before is not None:
            yield self._turn(lane, before)
        self.turns[lane] = OpenTurn(key, at, clip(text, TEXT_CHARACTERS), at, is_copy=is_copy)

    def turn(self, lane: str, at: str, *, is_copy: bool = False) -> OpenTurn:
        """Return the turn of a lane; work without a prompt is a turn of its own."""
        if lane not in self.turns:
            self.turns[lane] = OpenTurn(f"start {self.facts.session_id} {lane}", at, "", at, is_copy=is_copy)
        turn = self.turns[lane]
        turn.ended_at = max(turn.ended_at, at)
        return turn

    def end(self, lane: str, at: str, verdict: Verdict, error: str = "", stop_reason: str = "") -> None:
        """Say how the turn stands now; later records may say otherwise."""
        turn = self.turn(lane, at)
        turn.verdict, turn.error, turn.stop_reason = verdict, clip(error, TEXT_CHARACTERS), stop_reason

    def start_call(self, lane: str, call_id: str, tool: str, args: object, at: str, *, is_copy: bool = False) -> None:
        """Note that a tool was called."""
        kept = clip_strings(args, RESULT_CHARACTERS)
        self.calls[f"{lane}\n{call_id}"] = OpenCall(self.turn(lane, at).key, lane, tool, kept, at, is_copy)

    def finish_call(
        self,
        lane: str,
        call_id: str,
        result: str,
        ok: bool,
        at: str,
        duration_ms: float | None = None,
        *,
        is_denied: bool = False,
    ) -> Iterator[Item]:
        """Note that a tool returned, or was not allowed to run; an answer to nothing is passed over, as is a second."""
        call = self.calls.pop(f"{lane}\n{call_id}", None)
        self.turn(lane, at)
        if call is None:
            return
        returned = ToolCall(
            key=f"{call_id}@{call.at}",
            turn=call.turn,
            lane=lane,
            tool=call.tool,
            call_id=call_id,
            args=call.args,
            result=clip(result, RESULT_CHARACTERS),
            ok=ok,
            duration_ms=duration_ms,
            started_at=call.at,
            ended_at=at,
            is_copy=call.is_copy,
        )
        yield returned
        if is_denied:
            yield denied(returned)

    def _turn(self, lane: str, turn: OpenTurn) -> Turn:
        return Turn(
            key=turn.key,
            lane=lane,
            at=turn.at,
            text=turn.text,
            ended_at=turn.ended_at,
            verdict=turn.verdict,
            error=turn.error,
            stop_reason=turn.stop_reason,
            is_copy=turn.is_copy,
        )


def denied(call: ToolCall) -> Note:
    """Note that a tool was not allowed to run; what came back says why."""
    details = {"tool": call.tool, "tool_call_id": call.call_id, "reason": call.result}
    return Note("denied", f"{call.key} denied", call.turn, call.lane, call.ended_at, details, call.is_copy)
