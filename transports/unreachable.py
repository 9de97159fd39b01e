"""The sentence about a peer that was not reached in time."""

from __future__ import annotations

from actorflow.errors import UnavailableError, with_topic


def not_reached(address: str, seconds: float, reached: str) -> UnavailableError:
    """The error of a connection that came as far as `reached`, a word of progress."""
    if reached in ("nothing", "resolved"):
        what = f"{address} can't be reached: within {seconds:g} s nothing has taken a connection there"
        hint = "Is the process running there, under this address and port? A firewall may drop what is sent."
    else:
        what = f"{address} does not answer: it has not accepted a channel within {seconds:g} s"
        hint = "The process there is starting, stopped or busy, or its machine is. A longer time limit waits longer."
    return UnavailableError(f"{what}; it got as far as: {reached}.", hint=with_topic(hint, "task-not-reached"))
