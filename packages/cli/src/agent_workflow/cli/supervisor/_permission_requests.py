"""The requests of one stream: each is asked once, then settled or refused."""

from dataclasses import dataclass, field
from typing import Any

from agent_workflow.cli.supervisor._permission_facts import Access, Observation, observation

Record = dict[str, Any]


@dataclass(slots=True)
class Requests:
    """What was asked for and refused so far, by the ids that the stream gives.

    Attributes:
        found: the observations, in the order of the stream.
        position: byte offset of the record that is being read.
        line: its bytes.
        aliases: other ids by which a request may be settled.
        newest_call: id and name of the tool call that began last and did not end yet.
        tools: what each tool call would do, by its id, where the stream told it.
    """

    found: list[Observation] = field(default_factory=list)
    position: int = 0
    line: bytes = b""
    aliases: dict[str, str] = field(default_factory=dict)
    newest_call: tuple[str, object] | None = None
    tools: dict[str, Access] = field(default_factory=dict)
    _open: dict[str, tuple[Access, str]] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)

    @property
    def are_open(self) -> bool:
        """Tell whether a request waits for its answer."""
        return bool(self._open)

    def is_open(self, request: str) -> bool:
        """Tell whether this request, by any of its ids, waits for its answer."""
        return self.aliases.get(request, request) in self._open

    def ask(self, request: object, access: Access, rule: str, alias: object = None) -> str | None:
        """Note that a person is asked.

        Args:
            request: the id by which the agent knows the call; a record without one cannot be told apart from others.
            access: what is asked for.
            rule: which recognised it.
            alias: another id under which the answer may come.

        Returns:
            The name of the request, None where it has none.
        """
        name = name_of(request) or name_of(alias)
        if name is None or name in self._open:
            return name
        if (other := name_of(alias)) is not None:
            self.aliases[other] = name
        self._open[name] = (access, rule)
        self.found.append(observation(access, "pending", rule, name, self.position))
        return name

    def settle(self, request: object) -> None:
        """Note that nobody waits for a request any more; what was not asked for is left alone."""
        name = name_of(request)
        if name is None:
            return
        name = self.aliases.get(name, name)
        asked = self._open.pop(name, None)
        if asked is not None:
            access, rule = asked
            self.found.append(observation(access, "cleared", rule, name, self.position))

    def settle_all(self) -> None:
        """Note that nobody waits for anything any more: the turn is over."""
        self.settle_all_but(frozenset())

    def settle_all_but(self, names: frozenset[str]) -> None:
        """Note that nobody waits for any request but these."""
        for name in [name for name in self._open if name not in names]:
            self.settle(name)

    def refuse(self, request: object, access: Access, rule: str) -> None:
        """Note that something was refused; once for each request that has an id.

        Args:
            request: its id; without one the record itself is the evidence.
            access: what was refused, where neither the request nor the call said it already.
            rule: which recognised it.
        """
        name = name_of(request)
        if name is None:
            self.found.append(observation(access, "denied", rule, self.line, self.position))
            return
        name = self.aliases.get(name, name)
        if name in self._refused:
            return
        self._refused.add(name)
        asked = self._open.pop(name, None)
        access = self.tools.get(name) or (asked[0] if asked is not None else access)
        self.found.append(observation(access, "denied", rule, name, self.position))


def name_of(request: object) -> str | None:
    """Return an id as text: JSON-RPC numbers its requests, others name them."""
    if isinstance(request, bool) or not isinstance(request, str | int):
        return None
    return str(request) or None
