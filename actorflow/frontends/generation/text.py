"""`Text`: the text of tokens as they come, and texts that end it."""

from __future__ import annotations

from collections.abc import Sequence

from actorflow.errors import InvalidArgumentError
from actorflow.frontends.generation.tokenizers import Tokenizer

_UNFINISHED = "\ufffd"
_MOST_STOPS, _LONGEST_STOP = 16, 256


class Text:
    """Turns tokens into text. A text is held back while it may be the begin of a stop, or its last letter lacks bytes.

    Args:
        tokenizer: decodes tokens; None gives no text.
        stops: texts that end the answer, and are not part of it.

    Raises:
        InvalidArgumentError: there are stops, but no tokenizer; or they are empty, too many or too long.
    """

    def __init__(self, tokenizer: Tokenizer | None, stops: Sequence[str] = ()) -> None:
        if stops and tokenizer is None:
            raise InvalidArgumentError("The model has no tokenizer, so no text can end its answer; give stop_tokens.")
        if not all(isinstance(stop, str) and 0 < len(stop) <= _LONGEST_STOP for stop in stops):
            raise InvalidArgumentError(f"A stop is a text of 1 to {_LONGEST_STOP} letters.")
        if len(stops) > _MOST_STOPS:
            raise InvalidArgumentError(f"There are {len(stops)} stops; {_MOST_STOPS} are the most.")
        self._tokenizer, self._stops = tokenizer, tuple(stops)
        self._tokens: list[int] = []
        self._decoded = ""
        """The text of `_tokens` that was taken on."""
        self._held = ""
        """Text that was decoded, but not given."""
        self.is_stopped = False
        """Whether a stop was in the text."""

    def add(self, token: int) -> str:
        """The text that is certain with one more token."""
        if self._tokenizer is None:
            return ""
        self._tokens.append(token)
        whole = self._tokenizer.decode(self._tokens)
        if whole.endswith(_UNFINISHED) and len(self._tokens) < 8:
            return ""
        self._held += whole[len(self._decoded) :]
        # Tokens before the last say no more than where a word begins.
        self._tokens = self._tokens[-1:]
        self._decoded = self._tokenizer.decode(self._tokens)
        if _UNFINISHED in self._decoded:
            self._tokens, self._decoded = [], ""
        return self._certain()

    def _certain(self) -> str:
        begins = [at for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if begins:
            self.is_stopped = True
            text, self._held = self._held[: min(begins)], ""
            return text
        longest = 0
        for stop in self._stops:
            for size in range(min(len(stop) - 1, len(self._held)), longest, -1):
                if self._held.endswith(stop[:size]):
                    longest = size
                    break
        at = len(self._held) - longest
        text, self._held = self._held[:at], self._held[at:]
        return text

    def rest(self) -> str:
        """The text that was held back, at the end of the tokens."""
        if self._tokenizer is not None and not self.is_stopped:
            self._held += self._tokenizer.decode(self._tokens)[len(self._decoded) :]
        text, self._held, self._tokens, self._decoded = self._held, "", [], ""
        return "" if self.is_stopped else text
