# `make names` writes this file from the marks in the sources.

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
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "FeedError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OutOfRangeError",
    "Overloaded",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "StarvationError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "UnknownNameError",
]
