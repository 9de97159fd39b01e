"""Answers in JSON, and the answers to errors."""

from __future__ import annotations

import math
from typing import Any

from actorflow.errors import OpError, Overloaded
from actorflow.frontends.http.answers import JSON, Answer, TooLargeError
from actorflow.frontends.serving.protocols.writing import dump_json

_STATUS = {
    1: 499,
    2: 500,
    3: 400,
    4: 504,
    5: 404,
    6: 409,
    7: 403,
    8: 429,
    9: 400,
    10: 409,
    11: 400,
    12: 501,
    13: 500,
    14: 503,
    15: 500,
    16: 401,
}
"""The status of HTTP for each code of an error, as TensorFlow Serving has it."""


def ok(content: Any) -> Answer:
    """An answer with JSON."""
    return 200, JSON, dump_json(content), ()


def status_of(error: OpError) -> int:
    """The status of HTTP for an error."""
    return 413 if isinstance(error, TooLargeError) else _STATUS.get(error.code, 500)


def refused(path: str, error: OpError) -> Answer:
    """The answer to a request for `path` that ends with an error."""
    status = status_of(error)
    if path.startswith("/v2") and status in (409, 499):
        status = 400
    more = []
    if isinstance(error, Overloaded):
        more.append((b"retry-after", b"%d" % math.ceil(error.retry_after)))
    if status == 401:
        more.append((b"www-authenticate", b"Bearer"))
    return status, JSON, dump_json({"error": error.message}), tuple(more)


def internal_error() -> Answer:
    """The answer where something has failed that was not foreseen. Its text stays in the log."""
    return 500, JSON, dump_json({"error": "internal error"}), ()
