"""`tf.flags` (`tf.app.flags`): command line flags, over `argparse`.

A flag is declared by `DEFINE_string(name, default, help)` and read as `FLAGS.name`. The command line is read at the first
use of a flag, or by `tf.app.run`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from actorflow.public import public

public("tf:flags")


class UnrecognizedFlagError(AttributeError):
    """There is no flag of that name."""


class _Flags:
    """The declared flags as attributes; calling it with an argument list reads that, and gives what is no flag."""

    def __init__(self) -> None:
        self.__dict__["_parser"] = argparse.ArgumentParser(allow_abbrev=False)
        self.__dict__["_values"] = None
        self.__dict__["_set"] = {}

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads `argv`, whose first entry is the program; gives that and what is no flag.

        Raises SystemExit for a value that doesn't fit and, without `known_only`, for a flag that there is not.
        """
        values, rest = self._parser.parse_known_args(list(argv)[1:])
        unknown = [text for text in rest if text.startswith("-") and text != "--"]
        if unknown and not known_only:
            self._parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        self.__dict__["_values"] = values
        return [*list(argv)[:1], *rest]

    def is_parsed(self) -> bool:
        """Whether a command line was read."""
        return self._values is not None

    def flag_values_dict(self) -> dict[str, Any]:
        """All flags with their values."""
        return {action.dest: getattr(self, action.dest) for action in self._parser._actions if action.dest != "help"}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not any(action.dest == name for action in self._parser._actions):
            raise UnrecognizedFlagError(
                f"There is no flag --{name}; declare it by tf.flags.DEFINE_string and the like."
            )
        if name in self._set:
            return self._set[name]
        if self._values is None:
            self(sys.argv, known_only=True)
        return getattr(self._values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)
        self._set[name] = value


FLAGS = _Flags()


def _boolean(text: str) -> bool:
    known = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    if text.lower() not in known:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return known[text.lower()]


def _define(name: str, default: Any, help: str | None, **more: Any) -> None:
    if any(action.dest == name for action in FLAGS._parser._actions):
        raise ValueError(f"The flag --{name} is declared already.")
    text = None if help is None else help.replace("%", "%%")
    FLAGS._parser.add_argument(f"--{name}", f"-{name}", dest=name, default=default, help=text, **more)
    FLAGS.__dict__["_values"] = None  # read again, with this flag


def DEFINE_string(name: str, default: str | None, help: str | None = None) -> None:
    """Declares a flag that takes text. Raises ValueError where there is one of that name, as all these functions do."""
    _define(name, default, help)


def DEFINE_integer(name: str, default: int | None, help: str | None = None) -> None:
    """Declares a flag that takes an integer."""
    _define(name, default, help, type=int)


def DEFINE_float(name: str, default: float | None, help: str | None = None) -> None:
    """Declares a flag that takes a number."""
    _define(name, None if default is None else float(default), help, type=float)


def DEFINE_boolean(name: str, default: bool | None, help: str | None = None) -> None:
    """Declares a flag that is true as `--name` or `--name=true`, and false as `--noname` or `--name=false`."""
    _define(name, default, help, type=_boolean, nargs="?", const=True)
    FLAGS._parser.add_argument(f"--no{name}", dest=name, action="store_false", default=argparse.SUPPRESS)


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(name: str, default: str | None, enum_values: Sequence[str], help: str | None = None) -> None:
    """Declares a flag that takes one of some texts."""
    _define(name, default, help, choices=list(enum_values))


def DEFINE_list(name: str, default: Sequence[str] | str | None, help: str | None = None) -> None:
    """Declares a flag that takes texts between commas."""
    usual = _texts(default) if isinstance(default, str) else None if default is None else list(default)
    _define(name, usual, help, type=_texts)


def _define_multi(name: str, default: Any, help: str | None, kind: Any) -> None:
    usual = default if default is None or isinstance(default, (list, tuple)) else [default]
    _define(name, None if usual is None else list(usual), help, type=kind, action=_Append)


class _Append(argparse.Action):
    """Each time that the flag is given adds a value; the first one takes the place of the default."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        found = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*([] if found is self.default else found), values])


def DEFINE_multi_string(name: str, default: Sequence[str] | str | None, help: str | None = None) -> None:
    """Declares a flag that takes text, may be given several times, and is a list."""
    _define_multi(name, default, help, str)


def DEFINE_multi_integer(name: str, default: Sequence[int] | int | None, help: str | None = None) -> None:
    """Declares a flag that takes an integer, may be given several times, and is a list."""
    _define_multi(name, default, help, int)


def DEFINE_multi_float(name: str, default: Sequence[float] | float | None, help: str | None = None) -> None:
    """Declares a flag that takes a number, may be given several times, and is a list."""
    _define_multi(name, default, help, float)


def mark_flag_as_required(flag_name: str) -> None:
    """Ends the program where the command line lacks the flag. Raises UnrecognizedFlagError where there is no such flag."""
    if not any(action.dest == flag_name for action in FLAGS._parser._actions):
        raise UnrecognizedFlagError(f"There is no flag --{flag_name} that could be required.")
    for action in FLAGS._parser._actions:
        if action.dest == flag_name and action.default is not argparse.SUPPRESS:
            action.required = action.default is None
    FLAGS.__dict__["_values"] = None


def mark_flags_as_required(flag_names: Sequence[str]) -> None:
    """`mark_flag_as_required` for each of several."""
    for name in flag_names:
        mark_flag_as_required(name)


def _texts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []
