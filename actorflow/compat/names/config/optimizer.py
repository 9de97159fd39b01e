"""`tf.config.optimizer`: switches of passes, which are kept and have no effect: a session says `options=`."""

from __future__ import annotations

from typing import Any

_options: dict[str, Any] = {}
_jit = [False]


def get_experimental_options() -> dict[str, Any]:
    """The options that were set."""
    return dict(_options)


def set_experimental_options(options: dict[str, Any]) -> None:
    """Keeps options."""
    _options.update(options)


def get_jit() -> bool:
    """The setting that was kept."""
    return _jit[0]


def set_jit(enabled: bool) -> None:
    """Keeps the setting: there is no XLA."""
    _jit[0] = enabled
