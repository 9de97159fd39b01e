"""`Description`: facts of a model that generates, which its graph brings along as a text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from actorflow.errors import InvalidArgumentError

METHOD = "actorflow/generation"
"""The method of the signatures of such a model; no server takes requests for them."""
STEP, START = "generation_step", "generation_start"
"""Their names: a step; and the begin, which makes the caches and tells the description."""
_MOST = 1 << 24
"""Tokens of a context, and blocks of a pool, that a description may name."""


@dataclass(frozen=True, slots=True)
class Description:
    """Facts of a model that generates.

    Args:
        context: the most tokens of a request: its prompt and its answer.
        block_size: tokens of a block.
        blocks: blocks of the pool, unless the program says otherwise.
        vocabulary: how many tokens there are.
        by_one: whether a step takes one token of a request at most, as recurrent states need it.
        stop_tokens: tokens that end an answer.
        tokenizer: a tokenizer, as `tokenizers.described` writes it; None for a model of bare tokens.
    """

    context: int
    block_size: int
    blocks: int
    vocabulary: int
    by_one: bool = False
    stop_tokens: tuple[int, ...] = ()
    tokenizer: Mapping[str, Any] | None = None

    def text(self) -> str:
        """It as JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def of(text: bytes) -> Description:
        """The description that a text holds.

        Raises:
            InvalidArgumentError: the text is none.
        """
        try:
            values = json.loads(text)
            numbers = {name: int(values[name]) for name in ("context", "block_size", "blocks", "vocabulary")}
            stops = tuple([int(token) for token in values.get("stop_tokens") or ()])
            tokenizer = values.get("tokenizer")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidArgumentError(f"The description of a model that generates can't be read: {error!r}.") from None
        if not all(0 < number <= _MOST for number in numbers.values()):
            raise InvalidArgumentError(f"The numbers of a model's description are in [1, {_MOST}], but are {numbers}.")
        if tokenizer is not None and not isinstance(tokenizer, dict):
            raise InvalidArgumentError("The tokenizer of a model's description is no object of JSON.")
        return Description(**numbers, by_one=bool(values.get("by_one")), stop_tokens=stops, tokenizer=tokenizer)
