"""The log of actorflow during a block, as structlog's own `capture_logs` gives it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OWN = frozenset(vars(logging.makeLogRecord({})))


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        fields = {key: value for key, value in vars(record).items() if key not in _OWN and key != "message"}
        self.seen.append({**fields, "log_level": record.levelname.lower()})


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    """The fields of each record of whatever level, with `event` and `log_level`. Other handlers do not see the records."""
    logger, collector = logging.getLogger("actorflow"), _Collector()
    before = logger.level, logger.propagate
    logger.addHandler(collector)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield collector.seen
    finally:
        logger.removeHandler(collector)
        logger.setLevel(before[0])
        logger.propagate = before[1]
