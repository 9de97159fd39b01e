# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.functions import raise_exception_on_not_ok_status as raise_exception_on_not_ok_status
from actorflow.compat.v1.error_codes import ABORTED as ABORTED
from actorflow.compat.v1.error_codes import ALREADY_EXISTS as ALREADY_EXISTS
from actorflow.compat.v1.error_codes import CANCELLED as CANCELLED
from actorflow.compat.v1.error_codes import DATA_LOSS as DATA_LOSS
from actorflow.compat.v1.error_codes import DEADLINE_EXCEEDED as DEADLINE_EXCEEDED
from actorflow.compat.v1.error_codes import FAILED_PRECONDITION as FAILED_PRECONDITION
from actorflow.compat.v1.error_codes import INTERNAL as INTERNAL
from actorflow.compat.v1.error_codes import INVALID_ARGUMENT as INVALID_ARGUMENT
from actorflow.compat.v1.error_codes import NOT_FOUND as NOT_FOUND
from actorflow.compat.v1.error_codes import OK as OK
from actorflow.compat.v1.error_codes import OUT_OF_RANGE as OUT_OF_RANGE
from actorflow.compat.v1.error_codes import PERMISSION_DENIED as PERMISSION_DENIED
from actorflow.compat.v1.error_codes import RESOURCE_EXHAUSTED as RESOURCE_EXHAUSTED
from actorflow.compat.v1.error_codes import UNAUTHENTICATED as UNAUTHENTICATED
from actorflow.compat.v1.error_codes import UNAVAILABLE as UNAVAILABLE
from actorflow.compat.v1.error_codes import UNIMPLEMENTED as UNIMPLEMENTED
from actorflow.compat.v1.error_codes import UNKNOWN as UNKNOWN
from actorflow.compat.v1.error_codes import error_code_from_exception_type as error_code_from_exception_type
from actorflow.compat.v1.error_codes import exception_type_from_error_code as exception_type_from_error_code
from actorflow.errors import AbortedError as AbortedError
from actorflow.errors import AlreadyExistsError as AlreadyExistsError
from actorflow.errors import CancelledError as CancelledError
from actorflow.errors import DataLossError as DataLossError
from actorflow.errors import DeadlineExceededError as DeadlineExceededError
from actorflow.errors import FailedPreconditionError as FailedPreconditionError
from actorflow.errors import FeedError as FeedError
from actorflow.errors import InternalError as InternalError
from actorflow.errors import InvalidArgumentError as InvalidArgumentError
from actorflow.errors import NotFoundError as NotFoundError
from actorflow.errors import OpError as OpError
from actorflow.errors import OutOfRangeError as OutOfRangeError
from actorflow.errors import Overloaded as Overloaded
from actorflow.errors import PermissionDeniedError as PermissionDeniedError
from actorflow.errors import ResourceExhaustedError as ResourceExhaustedError
from actorflow.errors import StarvationError as StarvationError
from actorflow.errors import UnauthenticatedError as UnauthenticatedError
from actorflow.errors import UnavailableError as UnavailableError
from actorflow.errors import UnimplementedError as UnimplementedError
from actorflow.errors import UnknownError as UnknownError
from actorflow.errors import UnknownNameError as UnknownNameError

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "AbortedError",
    "AlreadyExistsError",
    "CANCELLED",
    "CancelledError",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "DataLossError",
    "DeadlineExceededError",
    "FAILED_PRECONDITION",
    "FailedPreconditionError",
    "FeedError",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "InternalError",
    "InvalidArgumentError",
    "NOT_FOUND",
    "NotFoundError",
    "OK",
    "OUT_OF_RANGE",
    "OpError",
    "OutOfRangeError",
    "Overloaded",
    "PERMISSION_DENIED",
    "PermissionDeniedError",
    "RESOURCE_EXHAUSTED",
    "ResourceExhaustedError",
    "StarvationError",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "UnknownNameError",
    "error_code_from_exception_type",
    "exception_type_from_error_code",
    "raise_exception_on_not_ok_status",
]
