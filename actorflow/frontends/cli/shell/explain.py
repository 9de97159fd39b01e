"""`actorflow explain`: cause and cure of an error, from `actorflow/errors.md`, which is also a page of the documentation."""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
import sys
from importlib.resources import files

from actorflow import errors
from actorflow.frontends.cli.main import Command

_COMMENT = re.compile(r"^<!-- (?:.(?!-->))*.?-->\n+", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^```\w*\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def topics() -> dict[str, str]:
    """The entries of the page, by the names that the texts of errors refer to."""
    page = files("actorflow").joinpath("errors.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## ", page, flags=re.MULTILINE)
    codes = {}
    for part in parts:
        heading, _, body = part.partition("\n")
        code = _FENCE.sub(lambda fence: re.sub("^(?=.)", "    ", fence[1], flags=re.MULTILINE), _COMMENT.sub("", body))
        codes[heading.strip("`")] = code.strip()
    return codes


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topic", nargs="?", help="the word behind `More:`, or a class of af.errors; without it, all topics"
    )


def _run(arguments: argparse.Namespace) -> int:
    texts = topics()
    topic = arguments.topic
    if topic is None:
        print(*texts, sep="\n")
        return 0
    if topic in texts:
        print(texts[topic])
        return 0
    kind = getattr(errors, topic.rpartition(".")[2], None)
    if inspect.isclass(kind) and issubclass(kind, Exception):
        print(inspect.getdoc(kind))
        return 0
    near = difflib.get_close_matches(topic, texts, 3)
    print(f"There is no topic {topic!r}." + (f" Similar: {', '.join(near)}." if near else ""), file=sys.stderr)
    return 2


COMMAND = Command("explain an error: cause and cure", _arguments, _run)
