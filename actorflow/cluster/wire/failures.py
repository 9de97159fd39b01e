"""Errors on the way from one task to another: the same class there, with its whole text and a word on its origin."""

from __future__ import annotations

import builtins
import reprlib
import traceback
from typing import Any

import anyio

from actorflow import errors
from actorflow.base.reports.tracebacks import says_all, theirs
from actorflow.errors import OpError, UnavailableError, UnknownError, Where, with_topic

_MOST_TEXT = 16 * 1024
_PLAIN = ("TypeError", "ValueError", "KeyError", "UnknownNameError")


def first_of(error: BaseException) -> BaseException:
    """The first error of a task group, which raises groups of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def encode_error(error: BaseException) -> dict[str, Any]:
    """`error` as a map of msgpack's types."""
    record: dict[str, Any] = {"class": _class_of(error), "message": sendable_text(error)}
    if isinstance(error, OpError):
        record["message"] = sendable_text(error.message)
        for name in ("node", "op", "device", "hint"):
            if (value := getattr(error, name)) is not None:
                record[name] = sendable_text(value)
        if error.where is not None:
            record["where"] = [sendable_text(error.where.file), error.where.line]
        if error.details:
            record["details"] = [sendable_text(line) for line in error.details[:100]]
        if isinstance(error, errors.Overloaded):
            record["retry_after"] = error.retry_after
    cause = error.__cause__ if isinstance(error, OpError) else error
    if cause is not None and (cause is error or not says_all(error, cause)):
        lines = traceback.format_exception(type(cause), cause, theirs(cause))
        record["traceback"] = sendable_text("".join(lines)[-_MOST_TEXT:])
    return record


def link_is_closed(task: str, error: BaseException) -> UnavailableError:
    """The error of a step whose link is closed, by this side or the other.

    Args:
        task: the task at its other end.
        error: how its channel has ended; the text of it says why, if that is known.
    """
    why = f": {error}".rstrip(".") if str(error) else ""
    return UnavailableError(
        f"The link to {task} is being closed, by this task or by {task}{why}.",
        hint=with_topic(
            f"The process of {task} has ended, hangs, or can't be reached; the next run tries to reach it again.",
            "task-is-lost",
        ),
    )


def _class_of(error: BaseException) -> str:
    """The name of the nearest class that each process knows: a transport's `PeerLost` is an UnavailableError."""
    for kind in type(error).__mro__:
        if issubclass(kind, OpError) and getattr(errors, kind.__name__, None) is kind:
            return str(kind.__name__)
    if isinstance(error, (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)):
        return UnavailableError.__name__
    return type(error).__name__


def sendable_text(value: Any) -> str:
    """Text that msgpack takes: the names of files need not be UTF-8."""
    return str(value)[:_MOST_TEXT].encode("utf-8", "backslashreplace").decode()


def decode_error(record: Any, task: str) -> Exception:
    """The error that `task` has sent. An error that can't be read becomes an UnknownError that says so; nothing is
    raised."""
    if not isinstance(record, dict) or not isinstance(record.get("message"), str):
        return UnknownError(f"{task} reported a failure that can't be read: {reprlib.repr(record)}")

    def text(name: str) -> str | None:
        value = record.get(name)
        return value if isinstance(value, str) else None

    name, message = text("class") or "", text("message") or ""
    error: Exception
    if name in _PLAIN:
        error = (getattr(errors, name, None) or getattr(builtins, name))(message)
    else:
        kind = getattr(errors, name, None)
        is_ours = isinstance(kind, type) and issubclass(kind, OpError)
        facts: dict[str, Any] = {key: text(key) for key in ("node", "op", "device", "hint")}
        details = record.get("details")
        facts["details"] = [str(line) for line in details] if isinstance(details, list) else []
        facts["where"] = _where(record.get("where"))
        if kind is errors.Overloaded:
            after = record.get("retry_after")
            facts["retry_after"] = float(after) if isinstance(after, (int, float)) else 0.1
        error_class: type[OpError] = kind if is_ours else UnknownError  # type: ignore[assignment]
        error = error_class(message if is_ours else f"{name}: {message}", **facts)
    if trace := text("traceback"):
        error.add_note(f"Raised in {task}:\n{trace}")
    return error


def _where(place: Any) -> Where | None:
    if isinstance(place, list) and len(place) == 2 and isinstance(place[0], str) and isinstance(place[1], int):
        return Where(*place)
    return None
