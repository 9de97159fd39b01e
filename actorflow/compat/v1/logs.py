"""`tf.logging`: messages of a script, over Python's logger `actorflow.compat.v1`."""

from __future__ import annotations

import logging
import sys
from typing import Any

from actorflow.public import public

public("tf:logging")

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL

_ours = logging.getLogger("actorflow")
_logger = logging.getLogger("actorflow.compat.v1")
_seen: dict[tuple[str, int], int] = {}


class _Shown(logging.Handler):
    """Writes to stderr where the program has not set up `logging`, as TensorFlow does. Python itself shows warnings only."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers and _ours.handlers == [self]:
            print(self.format(record), file=sys.stderr)


_shown = _Shown()
_shown.setFormatter(logging.Formatter(logging.BASIC_FORMAT))


def get_verbosity() -> int:
    """The level from which messages are logged."""
    return _logger.getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Logs messages of this level (`INFO`, `WARN`, ..., or its name) and above, those of actorflow itself as well, such as losses
    of Estimators. They are written to stderr unless the program has set up `logging`."""
    _ours.setLevel({"WARN": WARN, "FATAL": FATAL}.get(v.upper(), v.upper()) if isinstance(v, str) else v)
    _ours.addHandler(_shown)


def log(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at a level."""
    _logger.log(level, msg, *args, **{"stacklevel": 2, **kwargs})


vlog = log


def debug(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level DEBUG."""
    log(DEBUG, msg, *args, **{"stacklevel": 3, **kwargs})


def info(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level INFO."""
    log(INFO, msg, *args, **{"stacklevel": 3, **kwargs})


def warning(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level WARN."""
    log(WARN, msg, *args, **{"stacklevel": 3, **kwargs})


warn = warning


def error(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level ERROR."""
    log(ERROR, msg, *args, **{"stacklevel": 3, **kwargs})


def fatal(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs at level FATAL."""
    log(FATAL, msg, *args, **{"stacklevel": 3, **kwargs})


def TaskLevelStatusMessage(msg: object) -> None:
    """A message of the level ERROR."""
    error(msg)


def log_if(level: int, msg: object, condition: object, *args: Any) -> None:
    """Logs where `condition` is true."""
    if condition:
        log(level, msg, *args, stacklevel=3)


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Logs the first and then each n-th of the calls with this message."""
    log_if(level, msg, _count(msg, n) % n == 0, *args)


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Logs the first n of the calls with this message."""
    log_if(level, msg, _count(msg, -n) < n, *args)


def _count(msg: str, n: int) -> int:
    """How often this message came before."""
    _seen[msg, n] = _seen.get((msg, n), -1) + 1
    return _seen[msg, n]


def flush() -> None:
    """Flushes the handlers."""
    for handler in (*_logger.handlers, *logging.getLogger().handlers):
        handler.flush()


@public("tf")
def get_logger() -> logging.Logger:
    """The logger of `tf.logging`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.get_logger().name
        'actorflow.compat.v1'
    """
    return _logger
