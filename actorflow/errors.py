"""Errors with TensorFlow's names and meanings, written as sentences that a person can act on.

Mistakes that are seen while a graph is built raise Python's own `TypeError` (a dtype) or `ValueError`
(a shape, a name, a device), as TensorFlow 1 does; whatever fails in a run raises an `OpError`.
Both name the node and the line of the user's program that made it.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, overload

from actorflow.public import public

public("af:errors")

_MAX_LINES = 25
_MESSAGE_LINES = 12
_MAX_LINE = 400
_FACTS: Mapping[str, Any] = {
    "message": None,
    "node": None,
    "op": None,
    "device": None,
    "where": None,
    "details": (),
    "hint": None,
    "node_def": None,
    "error_code": None,
}
"""The facts that an error may be told, and their values otherwise."""


class Where(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int

    def source(self) -> str:
        """The line's text, or an empty string if it can't be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@public("tf", "tf.errors")
class OpError(Exception):
    """The root of all errors of a run.

    `node` is the name of the node at fault, `op` its type, `device` the device that ran it, and `where` the user's line that
    made it. In an error that a program raises itself, `op` is the operation that it gives. Each is None if the failure has no
    single node (a closed session, say).

    Example:
        >>> error = af.errors.OutOfRangeError("The file is read.", hint="Open another one.")
        >>> error.message, error.error_code
        ('The file is read.', 11)
        >>> af.errors.OutOfRangeError(None, None, "The file is read.").message  # as TensorFlow's programs write it
        'The file is read.'
    """

    code: ClassVar[int] = 2
    message: str = ""
    op: Any = None

    @overload
    def __init__(
        self,
        message: str,
        *,
        node: str | None = None,
        op: str | None = None,
        device: str | None = None,
        where: Where | None = None,
        details: Iterable[str] = (),
        hint: str | None = None,
    ) -> None: ...

    @overload
    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None) -> None: ...

    def __init__(self, *args: Any, **facts: Any) -> None:
        """
        Args:
            message: a sentence on what failed and why.
            node: the name of the node at fault.
            op: the type of that node.
            device: the name of the device on which it ran.
            where: the user's line that made the node.
            details: further lines of the text, such as the shapes of the inputs.
            hint: a sentence on what to do.
            node_def, error_code: with `op` and `message` by place, the arguments of TensorFlow's errors.

        Raises:
            TypeError: there is no message, or an argument that neither form has.
        """
        self.message, own_facts = self._arguments(*args, **facts)
        self.node: str | None = own_facts["node"]
        self.op = own_facts["op"]
        self.device: str | None = own_facts["device"]
        self.where: Where | None = own_facts["where"]
        self.details: tuple[str, ...] = tuple(own_facts["details"])
        self.hint: str | None = own_facts["hint"]
        self._node_def, self._error_code = own_facts["node_def"], own_facts["error_code"]
        kind = getattr(self.op, "type", self.op)
        super().__init__(
            describe(
                self.message,
                node=self.node,
                op=kind,
                device=self.device,
                where=self.where,
                details=self.details,
                hint=self.hint,
            )
        )

    @staticmethod
    def _arguments(*args: Any, **facts: Any) -> tuple[str, dict[str, Any]]:
        """The message, and all other arguments of either form."""
        plain = len(args) == 1 and "message" not in facts
        names = ("message",) if plain else ("node_def", "op", "message", "error_code")
        if len(args) > len(names) or not facts.keys() <= _FACTS.keys() or facts.keys() & set(names[: len(args)]):
            raise TypeError(
                "An error is made of a message and keywords, or of TensorFlow's node_def, op, message; but it got "
                f"{len(args)} arguments and the keywords {sorted(facts)}."
            )
        values = {**_FACTS, **dict(zip(names, args)), **facts}
        if not isinstance(values["message"], (str, bytes)):
            raise TypeError(f"The message of an error is text, but it is {values['message']!r:.60}.")
        message = values["message"]
        if values["node"] is None:
            part = values["node_def"] if values["node_def"] is not None else values["op"]
            values["node"] = getattr(part, "name", None)
        if values["where"] is None:
            values["where"] = getattr(values["op"], "where", None)
        return message if isinstance(message, str) else message.decode(errors="replace"), values

    @property
    def error_code(self) -> int:
        """The number of the error, such as 11 for `OutOfRangeError`."""
        return self.code if self._error_code is None else self._error_code

    @property
    def node_def(self) -> Any:
        """The node at fault, with its `name`, `op` and `device`; None without such a node."""
        if self._node_def is not None or self.node is None:
            return self._node_def
        inner = getattr(self.op, "node_def", None)
        return SimpleNamespace(name=self.node, op=self.op or "", device=self.device or "") if inner is None else inner

    def __reduce__(self) -> Any:
        """Pickled and copied with all of its facts: `__init__` would take the whole text for the message."""
        return _revived, (type(self), self.args), {**self.__dict__, "op": getattr(self.op, "type", self.op)}

    def located(self, message: str | None = None, **facts: Any) -> OpError:
        """The same error with what it did not know yet (node, op, device, where, details); known facts stay.

        Args:
            message: the sentence in other words.
            facts: keywords of `OpError`.

        Example:
            >>> error = af.errors.NotFoundError("There is no file a.txt.").located(node="ReadFile")
            >>> error.node, str(error).splitlines()[0]
            ('ReadFile', 'There is no file a.txt.')
        """
        names = ("node", "op", "device", "where", "details", "hint", "node_def", "error_code")
        merged: dict[str, Any] = {name: getattr(self, name) or facts.get(name) for name in names}
        merged["details"] = merged["details"] or ()
        error = type(self)(message or self.message, **merged)
        error.__cause__, error.__traceback__ = self.__cause__, self.__traceback__
        return error


@public("tf.errors")
class CancelledError(OpError):
    """The operation was cancelled, typically by a closed session or a failed step."""

    code = 1


@public("tf.errors")
class UnknownError(OpError):
    """A kernel failed in a way that has no name of its own; the cause is chained."""

    code = 2


@public("tf.errors")
class InvalidArgumentError(OpError, ValueError):
    """An input cannot be what it is: a shape, a value, a name. Feeds that don't fit raise it, so it is a ValueError too."""

    code = 3


@public("tf.errors")
class FeedError(InvalidArgumentError):
    """A value does not fit the tensor that it was fed to: the caller's mistake, and nothing was run."""


@public("tf.errors")
class DeadlineExceededError(OpError, TimeoutError):
    """The step's time was up; the message lists what had not finished."""

    code = 4


@public("tf.errors")
class NotFoundError(OpError):
    """Something that was named does not exist."""

    code = 5


@public("tf.errors")
class UnknownNameError(KeyError, ValueError):
    """Nothing of a graph has that name. A ValueError too, because TensorFlow's `run` raises that."""

    __str__ = Exception.__str__  # a KeyError shows the repr of its text


@public("tf.errors")
class AlreadyExistsError(OpError):
    """Something that was to be made exists already."""

    code = 6


@public("tf.errors")
class PermissionDeniedError(OpError):
    """The caller may not do this."""

    code = 7


@public("tf.errors")
class ResourceExhaustedError(OpError):
    """Memory or another bounded resource would be over its budget."""

    code = 8


@public("tf.errors")
class Overloaded(ResourceExhaustedError):
    """The session has its maximum number of steps running and waiting.

    Args:
        message: a sentence on what failed and why.
        retry_after: the number of seconds after which another try makes sense.
        facts: the keywords of `OpError`.
    """

    def __init__(self, message: str, *, retry_after: float = 0.1, **facts: Any) -> None:
        self.retry_after = retry_after
        super().__init__(message, **facts)


@public("tf.errors")
class FailedPreconditionError(OpError):
    """The system is not in the state that this needs: a variable has no value yet, a session is closed."""

    code = 9


@public("tf.errors")
class AbortedError(OpError):
    """The step was stopped because something else failed; it may be tried again."""

    code = 10


@public("tf.errors")
class OutOfRangeError(OpError):
    """Read past a valid end: a closed and empty queue, an input at its end."""

    code = 11


@public("tf.errors")
class UnimplementedError(OpError):
    """No kernel, or an extra that is not installed."""

    code = 12


@public("tf.errors")
class InternalError(OpError):
    """A promise that the runtime makes to itself was broken: a bug in actorflow."""

    code = 13


@public("tf.errors")
class UnavailableError(OpError):
    """A peer cannot be reached now; may be tried again."""

    code = 14


@public("tf.errors")
class DataLossError(OpError):
    """Stored or received data is damaged."""

    code = 15


@public("tf.errors")
class UnauthenticatedError(OpError):
    """The caller did not prove who it is."""

    code = 16


@public("tf.errors")
class StarvationError(InternalError):
    """Nothing of a step can go on, and it is not finished: the report lists each waiting node and who should feed it."""


def _revived(kind: type[OpError], args: tuple[Any, ...]) -> OpError:
    error = kind.__new__(kind)
    error.args = args
    return error


def with_topic(text: str, topic: str) -> str:
    """A sentence of an error, or its hint, with the line that says where the mistake is with_topic.

    Args:
        text: the sentence.
        topic: a heading of `errors.md`, beside this module: cause and cure, with an example.
    """
    return f"{text}\n  More: actorflow explain {topic}"


def describe(
    message: str,
    *,
    node: str | None = None,
    op: str | None = None,
    device: str | None = None,
    where: Where | None = None,
    details: Iterable[str] = (),
    hint: str | None = None,
) -> str:
    """`message` with its place in the user's program, in at most 25 lines."""
    lines = message.splitlines() or [message]  # what a kernel raised may be a long story
    if len(lines) > _MESSAGE_LINES:
        lines = [*lines[: _MESSAGE_LINES - 1], f"... and {len(lines) - _MESSAGE_LINES + 1} lines more"]
    if node is not None:
        lines.append(f"  node {node}" + (f" ({op})" if op else "") + (f" on {device}" if device else ""))
    if where is not None:
        lines.append(f"  made at {where}")
        if source := where.source():
            lines.append(f"    {source}")
    lines.extend(f"  {line}" for line in details)
    room = _MAX_LINES - 1 - (hint or "").count("\n")
    if len(lines) > room:
        left_out = len(lines) - (room - 1)
        lines = [*lines[: room - 1], f"  ... and {left_out} lines more"]
    if hint:
        lines.append(f"  {hint}")
    return "\n".join(line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 4]} ..." for line in lines)
