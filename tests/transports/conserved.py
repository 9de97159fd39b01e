"""The facts on which two ends of a connection agree when nothing is under way between them: credit, and who holds what."""

from __future__ import annotations

from actorflow.transports.protocol.connection import ProtocolConnection


def disagreements(one: ProtocolConnection, other: ProtocolConnection) -> list[str]:
    """The losses between two ends, in sentences; none if all is well. Something may be under way while it is not."""
    return [line for sender, receiver in ((one, other), (other, one)) for line in _lost(sender, receiver)]


def _lost(sender: ProtocolConnection, receiver: ProtocolConnection) -> list[str]:
    outbox, credit, limits = sender.outbox, receiver.credit, receiver.limits
    sums = {
        "credit for tokens": (outbox.data_credit, credit._tokens_open),
        "the window of tokens": (credit._tokens_open + credit._tokens_owed, limits.data_window),
        "credit for messages": (outbox.control_credit, credit._messages_open),
        "the window of messages": (credit._messages_open + credit._messages_owed, limits.control_window),
        "chunks": (outbox.bulk_sent, receiver._expected[1]),
    }
    who = f"{sender.mine.identity.task} to {receiver.mine.identity.task}"
    return [f"{what} from {who}: {is_} and not {has_to}" for what, (is_, has_to) in sums.items() if is_ != has_to]
