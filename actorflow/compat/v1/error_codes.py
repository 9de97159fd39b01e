"""The numbers of errors: `tf.errors.NOT_FOUND` and its like."""

from __future__ import annotations

from actorflow import errors
from actorflow.public import public

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16
public(
    "tf.errors", of="OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED"
)
public("tf.errors", of="RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE")
public("tf.errors", of="DATA_LOSS UNAUTHENTICATED")


@public("tf.errors")
def exception_type_from_error_code(error_code: int) -> type[errors.OpError]:
    """The class of errors of a number. Raises KeyError for a number that there is not.

    Example:
        >>> from actorflow.compat.v1 import errors
        >>> errors.exception_type_from_error_code(5)
        <class 'actorflow.errors.NotFoundError'>
    """
    for kind in errors.OpError.__subclasses__():
        if kind.code == error_code and kind is not errors.OpError:
            return kind
    raise KeyError(error_code)


@public("tf.errors")
def error_code_from_exception_type(cls: type[errors.OpError]) -> int:
    """The number of a class of errors.

    Example:
        >>> from actorflow.compat.v1 import errors
        >>> errors.error_code_from_exception_type(errors.NotFoundError) == errors.NOT_FOUND
        True
    """
    return cls.code
