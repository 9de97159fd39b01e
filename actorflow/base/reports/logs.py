"""The package's log: it goes to the standard `logging`, by loggers named `actorflow.PART`.

`get_logger("supervisor")` is a `structlog` logger over `logging.getLogger("actorflow.supervisor")`. It does not read
structlog's configuration and does not change it, nor that of `logging`: which records are shown, where and how is up to
the program. A record's message holds the fields as `key=value`, and each field is an attribute of the record too, so a
formatter that writes JSON finds them by name. Programs of ours call `configure`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, MutableMapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

LEVELS = ("debug", "info", "warning", "error", "critical")
_NUMBERS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
"""As `logging` counts the levels."""
_FORMAT = "%(asctime)s %(levelname)-8s %(name)s: %(message)s"
_PASSED = ("exc_info", "stack_info")
_FRAMES = 4
"""Of structlog, between the caller and `logging`: a record names the caller's file and line."""


class Logger:
    """A logger that imports structlog for the first record that the program's `logging` takes, since that takes longer than many
    a program's whole run.

    It has structlog's methods: `info("what happened", peer=peer)`, `bind(step=1)` and so on.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        if "structlog" not in sys.modules and (number := _NUMBERS.get(method)) is not None:
            import logging

            if not logging.getLogger(self._name).isEnabledFor(number):
                return _dropped
        return getattr(_bound(self._name), method)


def _dropped(*args: Any, **fields: Any) -> None:
    """The method `info` of a program that takes no such records."""


def get_logger(part: str) -> BoundLogger:
    """The logger `actorflow.PART`.

    Args:
        part: the part of the package that tells something, such as "supervisor" or "transports".
    """
    return cast("BoundLogger", Logger(f"actorflow.{part}"))


def configure(level: str = "info") -> None:
    """Shows the process's log on stderr, a line a record with its time, level and logger. For programs, not for libraries.

    A process whose log is configured already stays as it is.

    Args:
        level: the lowest level that is shown, from `LEVELS`.
    """
    import logging

    logging.basicConfig(level=level.upper(), stream=sys.stderr, format=_FORMAT)


def render(event: str, fields: Mapping[str, Any]) -> str:
    """The text of a record: what happened, and then each field as `key=value`."""
    return " ".join([event, *(f"{key}={_shown(value)}" for key, value in fields.items())])


def _shown(value: Any) -> str:
    if not isinstance(value, str):
        return repr(value)
    plain = value.startswith("\n") or (value and not any(c.isspace() or c in "\"'=" for c in value))
    return value if plain else repr(value)


@cache
def _taken() -> frozenset[str]:
    """The attributes that each record has. `logging` refuses fields of these names."""
    import logging

    return frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "event"}


@cache
def _bound(name: str) -> Any:
    import logging

    import structlog

    return structlog.wrap_logger(
        logging.getLogger(name),
        processors=[structlog.stdlib.filter_by_level, structlog.contextvars.merge_contextvars, _for_logging],
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=True,
    )


def _for_logging(
    logger: Any, method: str, event_dict: MutableMapping[str, Any]
) -> tuple[tuple[str], MutableMapping[str, Any]]:
    """structlog's last processor: the arguments of `logging.Logger.info` and its like."""
    event = str(event_dict.pop("event"))
    passed = {key: event_dict.pop(key) for key in _PASSED if key in event_dict}
    extra = {f"{key}_" if key in _taken() else key: value for key, value in event_dict.items()}
    extra["event"] = event
    return (render(event, event_dict),), {**passed, "extra": extra, "stacklevel": _FRAMES}
