"""`sections`: what the commands say of themselves, as data; `man_page` writes a section in the format of `man`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

from actorflow import __version__

_WIDTH = 72  # a page of `man` has seven spaces before each line
_STATUS = (
    ("0", "All went well."),
    ("1", "The command failed; it says why on the standard error output."),
    ("2", "The command line can't be understood."),
)
_ENVIRONMENT = (
    ("ACTORFLOW_TARGET", "The address of a cluster, for programs that name none: tcp://host:port."),
    ("ACTORFLOW_KEYS", "The file with the keys of the cluster, as `actorflow keys init` writes it."),
)


@dataclass(frozen=True, slots=True)
class Section:
    """A command, or the whole.

    name: the words that call it, such as `actorflow keys init`.
    about: a sentence on what it does.
    usage: how it is called, without the word `usage`.
    groups: its arguments, group by group: a title, and for each argument how it is written and what it means.
    options: the options, with what may follow each (None: nothing; empty: anything).
    below: the commands under it, each with its sentence.
    words: what an argument may be that is not an option, where only some words may.
    """

    name: str
    about: str
    usage: str
    groups: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    options: dict[str, tuple[str, ...] | None]
    below: dict[str, str]
    words: tuple[str, ...] = ()


def sections(parser: argparse.ArgumentParser, about: str | None = None) -> Iterator[Section]:
    """The section of a parser and those of the commands under it.

    Args:
        parser: what reads the command line.
        about: the sentence of the section; that of the parser unless given.
    """
    formatter = argparse.HelpFormatter(parser.prog, width=_WIDTH)
    groups: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    options: dict[str, tuple[str, ...] | None] = {}
    below: dict[str, argparse.ArgumentParser] = {}
    helps: dict[str, str] = {}
    words: list[str] = []
    for group in parser._action_groups:
        rows: list[tuple[str, str]] = []
        for action in group._group_actions:
            if isinstance(action, argparse._SubParsersAction):
                below.update(action.choices)
                helps.update({choice.dest: choice.help or "" for choice in action._choices_actions})
                rows += list(helps.items())
            elif action.help == argparse.SUPPRESS:
                continue
            else:
                rows.append((formatter._format_action_invocation(action), formatter._expand_help(action)))
            follows = None if action.nargs == 0 else tuple(map(str, action.choices or ()))
            options.update(dict.fromkeys(action.option_strings, follows))
            if not action.option_strings and not below:
                words += follows or ()
        if rows:
            title = (group.title or "arguments").replace("positional arguments", "commands" if helps else "arguments")
            groups.append((title, tuple(rows)))
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    sentence = about if about is not None else parser.description or ""
    yield Section(
        parser.prog, _sentence(sentence), formatter.format_help().strip(), tuple(groups), options, helps, tuple(words)
    )
    for name, inner in below.items():
        yield from sections(inner, helps.get(name) or inner.description)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def man_page(section: Section, see_also: tuple[str, ...] = ()) -> str:
    """A section as a page of `man`.

    Args:
        section: the command.
        see_also: the names of further pages, such as `actorflow-keys`.
    """
    name = section.name.replace(" ", "-")
    lines = [
        f'.TH "{name.upper()}" 1 "" "actorflow {__version__}" "actorflow"',
        ".SH NAME",
        f"{_roff(name)} \\- {_roff(section.about.rstrip('.'))}",
        ".SH SYNOPSIS",
        ".nf",
        _roff(section.usage),
        ".fi",
    ]
    for title, rows in (*section.groups, ("exit status", _STATUS), ("environment", _ENVIRONMENT)):
        lines.append(f".SH {_roff(title.upper())}")
        for head, text in rows:
            lines += [".TP", f".B {_roff(head)}", re.sub(r"`([^`]*)`", r"\\fB\1\\fR", _roff(text)) or "\\&"]
    if see_also:
        lines += [".SH SEE ALSO", _roff(", ".join(f"{page}(1)" for page in see_also))]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Text in which no sign means anything to the formatter."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)
