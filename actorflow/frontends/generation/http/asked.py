"""The fields of a request for text, each checked, with a sentence that names a field that does not fit."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from actorflow.errors import InvalidArgumentError
from actorflow.frontends.generation.request import Rules

MOST_BODY = 1 << 20
"""Bytes of a request for text."""
PARAMETERS = ("max_tokens", "temperature", "top_k", "top_p", "seed", "stop")
"""The fields that say how the tokens are chosen, and when the answer ends."""
_RULES = {"max_tokens": int, "temperature": float, "top_k": int, "top_p": float, "seed": int}


def rules_of(values: Mapping[str, Any]) -> Rules:
    """The rules of a request. A field that is missing or null has the usual value; without a seed, a seed is drawn.

    Args:
        values: the fields `max_tokens`, `temperature`, `top_k`, `top_p` and `seed`.

    Raises:
        InvalidArgumentError: a field is no such number.
    """
    options: dict[str, Any] = {}
    for name, kind in _RULES.items():
        value = values.get(name)
        if value is None:
            continue
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not fits or kind is int and not isinstance(value, int):
            what = "a whole number" if kind is int else "a number"
            raise InvalidArgumentError(f"The field {name!r} is {what}, not {str(value)[:40]!r}.")
        options[name] = value
    options.setdefault("seed", int.from_bytes(os.urandom(4)))
    return Rules(**options)


def stops_of(value: Any) -> list[str]:
    """The texts that end an answer.

    Raises:
        InvalidArgumentError: the field `stop` is neither a text nor a list of texts.
    """
    texts = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidArgumentError("The field 'stop' is a text, or a list of texts.")
    return texts


def check_fields(values: Mapping[str, Any], fields: Collection[str], what: str = "A request for text") -> None:
    """Raises InvalidArgumentError for a field that is not known.

    Args:
        values: the fields of a request.
        fields: those that are known.
        what: the thing that has them.
    """
    unknown = sorted(values.keys() - set(fields))
    if unknown:
        raise InvalidArgumentError(f"{what} has no field {unknown[0][:40]!r}; it has {', '.join(sorted(fields))}.")


def flag(values: Mapping[str, Any], name: str) -> bool:
    """A field that is true or false; a missing field is false. Raises InvalidArgumentError for others."""
    value = values.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidArgumentError(f"The field {name!r} is true or false, not {str(value)[:40]!r}.")
    return bool(value)


def prompts_of(value: Any, most: int) -> Sequence[str | list[int]]:
    """The prompts of a request: a text, a list of tokens, or a list of either.

    Args:
        value: the field `prompt`.
        most: how many prompts a request may have.

    Raises:
        InvalidArgumentError: it is none of these, or has too many.
    """
    if isinstance(value, str):
        return [value]
    is_list = isinstance(value, list) and value
    if is_list and all(isinstance(token, int) and not isinstance(token, bool) for token in value):
        return [value]
    if is_list and all(isinstance(prompt, (str, list)) for prompt in value):
        if len(value) > most:
            raise InvalidArgumentError(f"The field 'prompt' has {len(value)} prompts; {most} are the most.")
        return list(value)
    raise InvalidArgumentError("The field 'prompt' is a text, a list of tokens, or a list of these.")
