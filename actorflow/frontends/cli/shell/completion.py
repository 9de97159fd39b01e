"""`actorflow completion bash|zsh|fish|man`: what completes command lines in a shell, and the manual pages.

All of it is written from the commands' own help, so that it has the commands of other packages too.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from actorflow.frontends.cli.main import Command, parser
from actorflow.frontends.cli.shell.manual import Section, man_page, sections

_BASH = """\
# actorflow completion for bash. In ~/.bashrc: eval "$(actorflow completion bash)"
_actorflow() {
    local path=actorflow cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path ${COMP_WORDS[i]}" in
            %(paths)s) path="$path ${COMP_WORDS[i]}" ;;
        esac
    done
    COMPREPLY=()
    case "$path $prev" in
%(values)s
    esac
    case "$path" in
%(words)s
    esac
}
complete -o default -F _actorflow actorflow
"""

_ZSH = """\
#compdef actorflow
# actorflow completion for zsh. In ~/.zshrc, after compinit: eval "$(actorflow completion zsh)"
_actorflow() {
    local command=actorflow word
    for word in "${(@)words[2,CURRENT-1]}"; do
        case "$command $word" in
            %(paths)s) command="$command $word" ;;
        esac
    done
    local -a found
    case "$command $words[CURRENT-1]" in
%(values)s
    esac
    case "$command" in
%(words)s
    esac
    if (( $#found )); then _describe "$command" found; fi
    _files
}
compdef _actorflow actorflow
"""


def bash(every: Sequence[Section]) -> str:
    """The script for bash: words of the command so far, values of options that have few, else files."""
    values = [
        f'        "{section.name} {option}") COMPREPLY=($(compgen -W "{" ".join(follows)}" -- "$cur")); return ;;'
        for section in every
        for option, follows in section.options.items()
        if follows
    ]
    free = [
        f'"{section.name} {option}"'
        for section in every
        for option, follows in section.options.items()
        if follows == ()
    ]
    if free:
        values.append(f"        {'|'.join(free)}) return ;;")
    words = [
        f'        "{page.name}") COMPREPLY=($(compgen -W "{" ".join([*page.below, *page.words, *page.options])}" -- "$cur")) ;;'
        for page in every
    ]
    return _BASH % {"paths": _paths(every), "values": "\n".join(values), "words": "\n".join(words)}


def zsh(every: Sequence[Section]) -> str:
    """The script for zsh: the same words, with what they mean beside them."""
    values = [
        f'        "{page.name} {option}") compadd -- {" ".join(map(shlex.quote, follows))}; return ;;'
        for page in every
        for option, follows in page.options.items()
        if follows
    ]
    free = [f'"{page.name} {option}"' for page in every for option, follows in page.options.items() if follows == ()]
    if free:
        values.append(f"        {'|'.join(free)}) _files; return ;;")
    words = []
    for section in every:
        pairs = [*section.below.items(), *((word, "") for word in section.words), *_meanings(section)]
        listed = " ".join(shlex.quote(f"{word}:{text}" if text else word) for word, text in pairs)
        words.append(f'        "{section.name}") found=({listed}) ;;')
    return _ZSH % {"paths": _paths(every), "values": "\n".join(values), "words": "\n".join(words)}


def fish(every: Sequence[Section]) -> str:
    """The script for fish: a line for each command and each option."""
    lines = ["# actorflow completion for fish. In config.fish: actorflow completion fish | source"]
    for section in every:
        _, *path = section.name.split()
        seen = " && ".join(f"__fish_seen_subcommand_from {word}" for word in path)
        if section.below:
            none = f"not __fish_seen_subcommand_from {' '.join(section.below)}"
            here = f"{seen} && {none}" if seen else none
            lines += [
                f"complete -c actorflow -f -n {shlex.quote(here)} -a {word} -d {shlex.quote(text)}"
                for word, text in section.below.items()
            ]
        else:
            here = seen
        if section.words:
            lines.append(f"complete -c actorflow -f -n {shlex.quote(here)} -a {shlex.quote(' '.join(section.words))}")
        for option, text in _meanings(section):
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            follows = section.options[option]
            rest = "" if follows is None else f" -x -a {shlex.quote(' '.join(follows))}" if follows else " -r"
            condition = f" -n {shlex.quote(here)}" if here else ""
            lines.append(f"complete -c actorflow{condition} {kind} -d {shlex.quote(text)}{rest}")
    return "\n".join(lines) + "\n"


def _paths(every: Sequence[Section]) -> str:
    return "|".join(f'"{section.name}"' for section in every if " " in section.name)


def _meanings(section: Section) -> list[tuple[str, str]]:
    """The options of a command, each with the first clause of its help."""
    meanings = {}
    for _, rows in section.groups:
        for head, text in rows:
            for option in section.options:
                if option in head.replace(",", " ").split():
                    meanings[option] = text.split(";")[0].replace("\n", " ")
    return list(meanings.items())


SCRIPTS: dict[str, Callable[[Sequence[Section]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _arguments(reading: argparse.ArgumentParser) -> None:
    reading.add_argument("kind", choices=[*SCRIPTS, "man"], help="the shell, or man for the manual pages")
    reading.add_argument(
        "--into", type=Path, metavar="FOLDER", help="where the manual pages go; default: the folder man1"
    )


def _run(arguments: argparse.Namespace) -> int:
    every = list(sections(parser()))
    if arguments.kind != "man":
        print(SCRIPTS[arguments.kind](every), end="")
        return 0
    folder: Path = arguments.into or Path("man1")
    folder.mkdir(parents=True, exist_ok=True)
    names = tuple(page.name.replace(" ", "-") for page in every)
    for section, name in zip(every, names, strict=True):
        (folder / f"{name}.1").write_text(man_page(section, _related(name, names)), encoding="utf-8")
    print(f"{len(names)} pages in {folder}; read one with: man -l {folder / names[0]}.1")
    return 0


def _related(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """The pages of the commands above a command, and of those directly below it."""
    return tuple(n for n in names if name.startswith(f"{n}-") or n.rpartition("-")[0] == name)


COMMAND = Command("write the completion of a shell, or the manual pages", _arguments, _run)
