"""`PathRoute`: what a path asks for. Clients ask for the same few paths, so the last paths are remembered."""

from __future__ import annotations

import re
import urllib.parse
from functools import lru_cache
from typing import NamedTuple

from actorflow.errors import InvalidArgumentError

_VERSION = r"(?:/versions/(?P<version>[^/:]+)|/labels/(?P<label>[^/:]+))?"
_REST = re.compile(
    rf"^/v1/models/(?P<model>[^/:]+){_VERSION}(?:/(?P<view>metadata)|:(?P<verb>[a-z]+))?/?$", re.IGNORECASE
)
_KSERVE = re.compile(
    r"^/v2/models/(?P<model>[^/]+)(?:/versions/(?P<version>[^/]+))?(?:/(?P<view>infer|ready|config|stats))?/?$"
)
_REPOSITORY = re.compile(r"^/v2/repository/(?:index|models/(?P<model>[^/]+)/(?P<view>load|unload))$")
_MOST_REMEMBERED = 512
"""Characters of a path that is remembered."""
_ASKS_MODEL = frozenset({("rest", ":predict"), ("rest", ":classify"), ("rest", ":regress"), ("kserve", "infer")})


class PathRoute(NamedTuple):
    """The thing that a path asks for.

    `protocol` is `rest`, `kserve` or `repository`. `view` says which of its views (`metadata`) or verbs (`:predict`), or is
    empty.
    """

    protocol: str
    view: str
    model: str = ""
    version: str | None = None
    label: str | None = None

    @property
    def is_inference(self) -> bool:
        """Whether a model has to answer."""
        return self[:2] in _ASKS_MODEL

    @property
    def number(self) -> int | None:
        """The version that is asked for; None for the latest version. Raises InvalidArgumentError for any other text than a
        number."""
        text = self.version
        if text is None:
            return None
        if not (text.isascii() and text.isdecimal() and len(text) < 19):
            raise InvalidArgumentError(f"Failed to convert version: {text[:40]} to numeric.")
        return int(text)


def route(path: str) -> PathRoute | None:
    """The thing that a path asks for; None where nothing has it."""
    return _remembered(path) if len(path) <= _MOST_REMEMBERED else _route(path)


def _route(path: str) -> PathRoute | None:
    if (match := _REST.match(path)) is not None:
        view = f":{match['verb']}" if match["verb"] else match["view"] or ""
        return PathRoute("rest", view.lower(), urllib.parse.unquote(match["model"]), match["version"], match["label"])
    if (match := _KSERVE.match(path)) is not None:
        return PathRoute("kserve", match["view"] or "", urllib.parse.unquote(match["model"]), match["version"])
    if (match := _REPOSITORY.match(path)) is not None:
        return PathRoute("repository", match["view"] or "index", urllib.parse.unquote(match["model"] or ""))
    return None


_remembered = lru_cache(maxsize=256)(_route)
