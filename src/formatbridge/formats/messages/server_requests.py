"""A request of this format in the words that one server reads: the type of thinking."""

from __future__ import annotations

from formatbridge.dialect import DialectRules
from formatbridge.formats.format import ServerRequests
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


class _ServerRequests(ServerRequests):
    def with_server_fields(self, body: JsonObject, encoded: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
        del encoded, losses
        thinking = body.get("thinking")
        # The encoder writes ``adaptive`` for any server, but the caller may have the other word for thinking that is on.
        if rules.reasoning_control == "thinking_adaptive" and isinstance(thinking, dict) and thinking.get("type") == "enabled":
            return body | {"thinking": thinking | {"type": "adaptive"}}
        return body


SERVER_REQUESTS = _ServerRequests()
