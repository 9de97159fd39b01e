"""Errors on the wire: a code and a text, which become the same class at the other end."""

from __future__ import annotations

from actorflow import errors
from actorflow.errors import OpError, UnknownError

from .frames import Record, pack, unpack_fields

_TEXT = 8 * 1024
_CLASSES: dict[int, type[OpError]] = {
    found.code: found
    for found in (
        errors.CancelledError,
        errors.UnknownError,
        errors.InvalidArgumentError,
        errors.DeadlineExceededError,
        errors.NotFoundError,
        errors.AlreadyExistsError,
        errors.PermissionDeniedError,
        errors.ResourceExhaustedError,
        errors.FailedPreconditionError,
        errors.AbortedError,
        errors.OutOfRangeError,
        errors.UnimplementedError,
        errors.InternalError,
        errors.UnavailableError,
        errors.DataLossError,
        errors.UnauthenticatedError,
    )
}


def report_of(error: BaseException) -> bytes:
    """The metadata of an ABORT for `error`."""
    code = error.code if isinstance(error, OpError) else UnknownError.code
    text = str(error) if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
    return pack([code, text[:_TEXT]])


def error_of(record: Record, peer: str) -> OpError:
    """The error that an ABORT reports. Raises ProtocolError where it reports none."""
    code, text = unpack_fields(record, int, str)
    return _CLASSES.get(code, UnknownError)(f"{text[:_TEXT]}", details=[f"step {record.step} was aborted by {peer}"])
