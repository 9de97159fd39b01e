"""The command `actorflow` and its subcommands, which are found through entry points (group `actorflow.commands`)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from actorflow import __version__
from actorflow.errors import OpError
from actorflow.registry import plugins


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand: a line of help, what adds its arguments, and what runs it and gives the exit status."""

    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line (that of the process unless given) and gives the exit status: 0, 1 for a failure, 2 for an
    invalid command line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="actorflow", description="Run and inspect actorflow clusters.")
    parser.add_argument("--version", action="version", version=f"actorflow {__version__}")
    below = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    entries = {entry.name: entry for entry in sorted(plugins.entries("commands"), key=lambda e: e.name)}
    wanted = [words[0]] if words and words[0] in entries else list(entries)  # the others need not be imported
    commands: dict[str, Command] = {}
    for name in wanted:
        command: Command = entries[name].load()
        commands[name] = command
        command.arguments(below.add_parser(name, help=command.help, description=command.help))
    parsed = parser.parse_args(words)
    try:
        return commands[parsed.command].run(parsed)
    except OpError as error:
        print(f"actorflow {parsed.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has closed it, so there is no place for a message
        return 1
