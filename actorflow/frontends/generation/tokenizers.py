"""Tokenizers: the bytes of UTF-8, the characters of an alphabet, and those of the package `tokenizers`."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.public import public


@public("af.generation")
class Tokenizer(Protocol):
    """Turns texts into tokens and back.

    Example:
        >>> tokenizer: af.generation.Tokenizer = af.generation.Bytes()
        >>> tokenizer.decode(tokenizer.encode("é"))
        'é'
    """

    def encode(self, text: str) -> list[int]:
        """The tokens of a text.

        Example:
            >>> af.generation.Bytes().encode("ab")
            [97, 98]

        Args:
            text: the text.

        Raises:
            InvalidArgumentError: it has letters for which there is no token.
        """

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens; a letter with missing bytes is U+FFFD.

        Example:
            >>> af.generation.Bytes().decode([97, 98])
            'ab'

        Args:
            tokens: the tokens.
        """

    def described(self) -> Mapping[str, Any]:
        """It as JSON, from which `tokenizer_of` makes it again.

        Example:
            >>> af.generation.Bytes().described()
            {'kind': 'bytes'}
        """


@public("af.generation")
class Bytes:
    """The 256 bytes of UTF-8 as tokens.

    Example:
        >>> af.generation.Bytes().encode("é")
        [195, 169]
    """

    def encode(self, text: str) -> list[int]:
        """The bytes of a text. Surrogates are replaced."""
        return list(text.encode("utf-8", "replace"))

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of bytes; other tokens are no text."""
        return bytes([token for token in tokens if token < 256]).decode("utf-8", "replace")

    def described(self) -> Mapping[str, Any]:
        """Its kind."""
        return {"kind": "bytes"}


@public("af.generation")
class Characters:
    """The characters of an alphabet as tokens.

    Example:
        >>> af.generation.Characters("abc").encode("cab")
        [2, 0, 1]

    Args:
        alphabet: each character once; its place is its token.
    """

    def __init__(self, alphabet: str) -> None:
        self._alphabet = alphabet
        self._numbers = {letter: number for number, letter in enumerate(alphabet)}
        if len(self._numbers) != len(alphabet) or not alphabet:
            raise InvalidArgumentError("An alphabet has each of its characters once, and is not empty.")

    def encode(self, text: str) -> list[int]:
        """The tokens of a text. Raises InvalidArgumentError for a character that is not in the alphabet."""
        try:
            return [self._numbers[letter] for letter in text]
        except KeyError as error:
            raise InvalidArgumentError(
                f"The character {error.args[0]!r} is not among the {len(self._alphabet)} that the model knows."
            ) from None

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens; tokens behind the alphabet are no text."""
        return "".join([self._alphabet[token] for token in tokens if token < len(self._alphabet)])

    def described(self) -> Mapping[str, Any]:
        """Its alphabet."""
        return {"kind": "characters", "alphabet": self._alphabet}


@public("af.generation")
class Pieces:
    """A tokenizer of the package `tokenizers`, such as those in files `tokenizer.json`.

    Example:
        >>> try:
        ...     af.generation.Pieces("{}")
        ... except af.errors.OpError as error:  # no tokenizer, or the package is not installed
        ...     print("The tokenizer of the model" in str(error))
        True

    Args:
        text: the JSON of the tokenizer.

    Raises:
        UnimplementedError: the package is not installed.
        InvalidArgumentError: the text is no tokenizer.
    """

    def __init__(self, text: str) -> None:
        if importlib.util.find_spec("tokenizers") is None:
            raise UnimplementedError(
                "The tokenizer of the model needs the package tokenizers, which is not installed.",
                hint="Install it with: pip install 'actorflow[tokenizers]'. Without it, prompts are lists of tokens.",
            )
        self._text = text
        try:
            self._inner: Any = importlib.import_module("tokenizers").Tokenizer.from_str(text)
        except Exception as error:  # the package raises Exception itself
            raise InvalidArgumentError(f"The tokenizer of the model can't be read: {error}.") from None

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        return list(self._inner.encode(text).ids)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special tokens."""
        return str(self._inner.decode(list(tokens)))

    def described(self) -> Mapping[str, Any]:
        """Its JSON."""
        return {"kind": "tokenizers", "text": self._text}


def tokenizer_of(description: Mapping[str, Any] | None) -> Tokenizer | None:
    """The tokenizer of a description; None without a description.

    Args:
        description: what `Tokenizer.described` gave.

    Raises:
        InvalidArgumentError: it describes no tokenizer.
        UnimplementedError: its package is not installed.
    """
    if description is None:
        return None
    kind = description.get("kind")
    if kind == "bytes":
        return Bytes()
    if kind == "characters":
        return Characters(str(description.get("alphabet", "")))
    if kind == "tokenizers":
        return Pieces(str(description.get("text", "")))
    raise InvalidArgumentError(f"Tokenizers are of the kinds bytes, characters and tokenizers, not {str(kind)[:40]!r}.")
