"""The pipeline that a file of Python has, by the words of a command."""

from __future__ import annotations

import importlib
import os
import re
import sys

from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.frontends.serving.pipelines.pipeline import Pipeline

_WORD = re.compile(r"^(?P<file>.*?(?P<stem>[A-Za-z_]\w*)\.py):(?P<name>[A-Za-z_]\w*)$")


def stem_of(word: str) -> str | None:
    """The name of the file in `FILE.py:NAME`, without its ending; None for other words."""
    match = _WORD.match(word)
    return None if match is None else match["stem"]


def load(word: str) -> Pipeline:
    """The pipeline that `FILE.py:NAME` says. The file is imported, so its code runs.

    Args:
        word: the file and the name of a pipeline in it.

    Raises:
        NotFoundError: there is no such file or name.
        InvalidArgumentError: the file can't be imported, or the name is no pipeline.
    """
    match = _WORD.match(word)
    if match is None or not os.path.isfile(match["file"]):
        raise NotFoundError(f"There is no file of Python for {word!r}.", hint="Write it as FILE.py:NAME.")
    path = os.path.abspath(match["file"])
    sys.path.insert(0, os.path.dirname(path))
    try:
        module = importlib.import_module(match["stem"])
    except Exception as error:
        raise InvalidArgumentError(f"The file {path} can't be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(os.path.dirname(path))
    if not _is_file(module.__file__ or os.devnull, path):
        raise InvalidArgumentError(f"Another module has the name of the file {path}: {module.__file__}.")
    pipeline = getattr(module, match["name"], None)
    if not isinstance(pipeline, Pipeline):
        kind = "nothing" if pipeline is None else f"a {type(pipeline).__name__}"
        raise InvalidArgumentError(f"The name {match['name']!r} of {path} is {kind}, not an af.serving.Pipeline.")
    return pipeline


def _is_file(path: str, other: str) -> bool:
    """Whether two paths are of a single file, which is there."""
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False
