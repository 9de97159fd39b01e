"""The command `actorflow` and its subcommands, which are found through entry points (group `actorflow.commands`)."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from actorflow import __version__
from actorflow.base.registry import plugins
from actorflow.base.reports import tracebacks
from actorflow.errors import OpError


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand: a line of help, what adds its arguments, and what runs it and gives the exit status."""

    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def commands(words: Sequence[str] = ()) -> dict[str, Command]:
    """The installed commands by their names, or that one alone with which a command line begins."""
    entries = {entry.name: entry for entry in sorted(plugins.entries("commands"), key=lambda e: e.name)}
    names = [words[0]] if words and words[0] in entries else list(entries)  # the others need not be imported
    return {name: entries[name].load() for name in names}


class _Parser(argparse.ArgumentParser):
    """A reader of command lines that names the nearest command for an unknown name."""

    def error(self, message: str) -> NoReturn:
        match = re.search(r"argument COMMAND: invalid choice: '([^']*)'", message)
        nearest = difflib.get_close_matches(match[1], commands(), 1) if match else []
        super().error(f"{message}. Did you mean {nearest[0]!r}?" if nearest else message)


def parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Makes the reader of command lines; with the words of a command line, only the command that they name is imported."""
    root = _Parser(prog="actorflow", description="Run and inspect actorflow clusters.")
    root.add_argument("--version", action="version", version=f"actorflow {__version__}")
    below = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in commands(words).items():
        sub = below.add_parser(name, help=command.help, description=command.help)
        command.arguments(sub)
        sub.set_defaults(run=command.run)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line (that of the process unless given) and gives the exit status: 0, 1 for a failure, 2 for an
    invalid command line. A failure is a sentence; with `ACTORFLOW_TRACEBACK=full` it is a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parsed = parser(words).parse_args(words)
    run: Callable[[argparse.Namespace], int] = parsed.run
    try:
        return run(parsed)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has closed it, so there is no place for a message
        return 1
    except Exception as error:
        if tracebacks.full():
            raise
        print(f"actorflow {parsed.command}: {failure(error)}", file=sys.stderr)
        return 1


def failure(error: BaseException) -> str:
    """The sentence for an error that ended a command. Of a group it is that of the first error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OpError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename is not None else error.strerror
    return f"{error}" if isinstance(error, ValueError) and str(error) else f"{type(error).__name__}: {error}"
