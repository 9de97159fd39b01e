"""`Rules`: how the tokens of a request are chosen. `GenerationRequest`: a request on its way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from actorflow.errors import InvalidArgumentError
from actorflow.public import public

_MOST_FLOAT = (2 - 2**-23) * 2.0**127


@public("af.generation")
@dataclass(frozen=True, slots=True)
class Rules:
    """How the tokens of a request are chosen, and when it ends.

    Example:
        >>> af.generation.Rules(max_tokens=8, temperature=0.7, top_p=0.9).top_k
        0

    Args:
        max_tokens: the most tokens of the answer. With 0 the prompt is only checked and counted.
        temperature: divides the logits; at 0 the likeliest token is chosen.
        top_k: the number of the likeliest tokens that count; 0 counts all.
        top_p: only the fewest of the likeliest tokens count that have this share together.
        seed: of its random numbers. The same request with the same seed has the same tokens.
        stop_tokens: tokens that end the answer, and are not part of it, beside those of the model.

    Raises:
        InvalidArgumentError: a number is outside its range.
    """

    max_tokens: int = 16
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    stop_tokens: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        faults = {
            "max_tokens is a whole number from 0 on": _is_whole(self.max_tokens) and self.max_tokens >= 0,
            "temperature is a number from 0 on": _is_number(self.temperature) and self.temperature >= 0,
            "top_k is a whole number from 0 on": _is_whole(self.top_k) and 0 <= self.top_k < 1 << 31,
            "top_p is a number in (0, 1]": _is_number(self.top_p) and 0 < self.top_p <= 1,
            "seed is a whole number of 64 bits": _is_whole(self.seed) and -(1 << 63) <= self.seed < 1 << 63,
        }
        for text, fits in faults.items():
            if not fits:
                raise InvalidArgumentError(f"The {text}, not {str(getattr(self, text.split()[0]))[:40]}.")
        if not all(_is_whole(token) for token in self.stop_tokens):
            raise InvalidArgumentError("The stop_tokens are whole numbers.")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    """Whether it is a number that is finite as a float32 too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _MOST_FLOAT


@dataclass(slots=True, eq=False)
class GenerationRequest:
    """A request, from its arrival to its end.

    Args:
        prompt: its tokens.
        rules: how the next are chosen.
        wake: called when there are tokens to read, or the end is there.
    """

    prompt: tuple[int, ...]
    rules: Rules
    wake: Callable[[], None] = lambda: None
    read: int = 0
    """How many of its tokens, prompt and answer, the model has read."""
    answer: list[int] = field(default_factory=list)
    unread: deque[int] = field(default_factory=deque)
    """Tokens of the answer that its reader has not taken."""
    blocks: tuple[int, ...] = ()
    reason: str = ""
    """Why it has ended: `stop`, `length`, `cancelled` or `error`; empty before."""
    error: Exception | None = None
    stalled: float | None = None
    """Since when its reader has taken too little; None while it takes enough."""
    alarm: Callable[[], None] = lambda: None
    """Takes its deadline back."""

    @property
    def most(self) -> int:
        """The most places that it takes: the last token that is chosen is never read."""
        return len(self.prompt) + self.rules.max_tokens - 1

    @property
    def is_ended(self) -> bool:
        """Whether it has ended."""
        return bool(self.reason)

    def next_tokens(self, most: int) -> list[int]:
        """The tokens that the model reads next, at most `most`."""
        if self.read < len(self.prompt):
            return list(self.prompt[self.read : self.read + most])
        return self.answer[-1:]
