"""`tf.flags` (`tf.app.flags`): command line flags, over `argparse`.

A flag is declared by `DEFINE_string(name, default, help)` and read as `FLAGS.name`. The command line is read at the first
use of a flag, or by `tf.app.run`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from actorflow.public import public

public("tf:flags")


class Error(Exception):
    """The root of the errors of flags."""


class UnrecognizedFlagError(Error, AttributeError):
    """There is no flag of that name."""


class DuplicateFlagError(Error, ValueError):
    """Two modules declare a flag of one name."""


class IllegalFlagValueError(Error, ValueError):
    """A flag can't have that value."""


ValidationError = IllegalFlagValueError


@dataclass(slots=True)
class Flag:
    """One flag: how it is declared, and the value that it has now.

    `value` is what `FLAGS.name` gives; `present` says whether the command line had it.
    """

    name: str
    default: Any
    help: str
    parsing: Mapping[str, Any] = field(repr=False)
    module: str = field(repr=False)
    short_name: str | None = None
    required: bool = False
    value: Any = None
    present: bool = False
    checks: list[tuple[Callable[[Any], Any], str]] = field(default_factory=list, repr=False)

    def check(self) -> None:
        """Raises IllegalFlagValueError where a validator refuses the value."""
        for checker, message in self.checks:
            if not checker(self.value):
                raise IllegalFlagValueError(f"flag --{self.name}={self.value}: {message}")


class FlagValues:
    """The declared flags as attributes; calling it with an argument list reads that, and gives what is no flag.

    It is also a mapping from the names to the `Flag`s.
    """

    def __init__(self) -> None:
        self.__dict__["__flags"] = {}
        self.__dict__["_read"] = False

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads `argv`, whose first entry is the program; gives that and what is no flag.

        Raises SystemExit for a value that doesn't fit and, without `known_only`, for a flag that there is not.
        """
        parser = self._parser()
        values, rest = parser.parse_known_args(list(argv)[1:])
        unknown = [text for text in rest if text.startswith("-") and text != "--"]
        if unknown and not known_only:
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        for name, value in vars(values).items():
            flag = self[name]
            flag.value, flag.present = value, True
        try:
            for flag in self._flags().values():
                flag.check()
        except IllegalFlagValueError as error:
            parser.error(str(error))
        self.__dict__["_read"] = True
        return [*list(argv)[:1], *rest]

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(allow_abbrev=False, argument_default=argparse.SUPPRESS)
        for flag in self._flags().values():
            text = flag.help.replace("%", "%%")
            names = [f"--{flag.name}", f"-{flag.name}", *([f"-{flag.short_name}"] if flag.short_name else [])]
            required = flag.required and flag.value is None
            parser.add_argument(*names, dest=flag.name, help=text, required=required, **flag.parsing)
            if flag.parsing.get("type") is _boolean:
                parser.add_argument(f"--no{flag.name}", dest=flag.name, action="store_false")
        return parser

    def _flags(self) -> dict[str, Flag]:
        flags: dict[str, Flag] = self.__dict__["__flags"]
        return flags

    def is_parsed(self) -> bool:
        """Whether a command line was read."""
        parsed: bool = self._read
        return parsed

    def mark_as_parsed(self) -> None:
        """From now on flags have their defaults, as if an empty command line had been read."""
        self.__dict__["_read"] = True

    def unparse_flags(self) -> None:
        """Forgets the command line: flags have their defaults until a command line is read."""
        self.__dict__["_read"] = False
        for flag in self._flags().values():
            flag.value, flag.present = flag.default, False

    def flag_values_dict(self) -> dict[str, Any]:
        """All flags with their values."""
        return {name: getattr(self, name) for name in self}

    def get_flag_value(self, name: str, default: Any) -> Any:
        """The value of a flag; `default` if the value is None."""
        value = getattr(self, name)
        return default if value is None else value

    def set_default(self, name: str, value: Any) -> None:
        """Gives a flag another default. Raises UnrecognizedFlagError for an unknown flag."""
        flag = self[name]
        if not flag.present and flag.value is flag.default:
            flag.value = value
        flag.default = value

    def remove_flag_values(self, flag_values: Iterable[str]) -> None:
        """Takes flags away."""
        for name in list(flag_values):
            delattr(self, name)

    def flags_into_string(self) -> str:
        """The flags that have a value as lines of a command line."""
        return "".join(f"--{name}={flag.value}\n" for name, flag in self._flags().items() if flag.value is not None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__flags":
            raise AttributeError(name)
        flag = self[name]
        if not self._read:
            self(sys.argv, known_only=True)
        return flag.value

    def __setattr__(self, name: str, value: Any) -> None:
        flag = self[name]
        flag.value = value
        flag.check()

    def __delattr__(self, name: str) -> None:
        del self._flags()[self[name].name]

    def __getitem__(self, name: str) -> Flag:
        flag = self._flags().get(name)
        if flag is None:
            raise UnrecognizedFlagError(
                f"There is no flag --{name}; declare it by tf.flags.DEFINE_string and the like."
            )
        return flag

    def __contains__(self, name: object) -> bool:
        return name in self._flags()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._flags()))

    def __len__(self) -> int:
        return len(self._flags())

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._flags()]


FLAGS = FlagValues()


def _boolean(text: str) -> bool:
    words = {"true": True, "t": True, "1": True, "yes": True, "false": False, "f": False, "0": False, "no": False}
    if text.lower() not in words:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return words[text.lower()]


_OLDER = {"flag_name": "name", "default_value": "default", "docstring": "help"}
"""Names of parameters of TensorFlow before 1.5, which 1.15 takes as well."""


def _define(parsing: Mapping[str, Any], convert: Callable[[Any], Any], *arguments: Any, **named: Any) -> None:
    """Declares a flag: `name`, `default` and `help`, by place or by name."""
    facts = {"help": "", **dict(zip(("name", "default", "help"), arguments))}
    facts |= {_OLDER.get(name, name): value for name, value in named.items()}
    flags: FlagValues = facts.get("flag_values", FLAGS)
    name, module = facts["name"], facts.get("module_name") or _caller()
    if name in flags and flags[name].module != module:
        raise DuplicateFlagError(f"The flag --{name} is declared already, in {flags[name].module}.")
    default = None if facts["default"] is None else convert(facts["default"])
    if (lower := facts.get("lower_bound")) is not None or facts.get("upper_bound") is not None:
        parsing = {**parsing, "type": _bounded(parsing["type"], lower, facts.get("upper_bound"))}
    flag = Flag(name, default, facts["help"] or "", parsing, module, facts.get("short_name"), value=default)
    flag.required = bool(facts.get("required"))
    flags._flags()[name] = flag
    flags.__dict__["_read"] = False  # read again, with this flag


def _bounded(kind: Callable[[str], Any], lower: float | None, upper: float | None) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = kind(text)
        if lower is not None and value < lower or upper is not None and value > upper:
            raise argparse.ArgumentTypeError(f"{text} is not between {lower} and {upper}")
        return value

    return read


def _caller() -> str:
    """The name of the module that declares a flag."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


def _same(value: Any) -> Any:
    return value


def DEFINE_string(*arguments: Any, **named: Any) -> None:
    """Declares a flag that takes text: `DEFINE_string(name, default, help)`.

    Raises DuplicateFlagError if another module has a flag of that name, as all these functions do."""
    _define({}, _same, *arguments, **named)


def DEFINE_integer(*arguments: Any, **named: Any) -> None:
    """Declares a flag that takes an integer; `lower_bound` and `upper_bound` are its bounds."""
    _define({"type": int}, int, *arguments, **named)


def DEFINE_float(*arguments: Any, **named: Any) -> None:
    """Declares a flag that takes a number; `lower_bound` and `upper_bound` are its bounds."""
    _define({"type": float}, float, *arguments, **named)


def DEFINE_boolean(*arguments: Any, **named: Any) -> None:
    """Declares a flag that is true as `--name` or `--name=true`, and false as `--noname` or `--name=false`."""
    parsing = {"type": _boolean, "nargs": "?", "const": True}
    _define(parsing, lambda value: _boolean(value) if isinstance(value, str) else bool(value), *arguments, **named)


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(
    name: str, default: str | None, enum_values: Sequence[str], help: str | None = None, **named: Any
) -> None:
    """Declares a flag that takes a text from a list."""
    _define({"choices": list(enum_values)}, _same, name, default, help, **named)


def DEFINE_list(*arguments: Any, **named: Any) -> None:
    """Declares a flag that takes texts between commas."""
    _define(
        {"type": _texts}, lambda value: _texts(value) if isinstance(value, str) else list(value), *arguments, **named
    )


def _define_multi(kind: Callable[[Any], Any], *arguments: Any, **named: Any) -> None:
    several = (list, tuple)
    parsing = {"type": kind, "action": "append"}
    _define(parsing, lambda value: list(value) if isinstance(value, several) else [value], *arguments, **named)


def DEFINE_multi_string(*arguments: Any, **named: Any) -> None:
    """Declares a flag that takes text, may be given several times, and is a list."""
    _define_multi(str, *arguments, **named)


def DEFINE_multi_integer(*arguments: Any, **named: Any) -> None:
    """Declares a flag that takes an integer, may be given several times, and is a list."""
    _define_multi(int, *arguments, **named)


def DEFINE_multi_float(*arguments: Any, **named: Any) -> None:
    """Declares a flag that takes a number, may be given several times, and is a list."""
    _define_multi(float, *arguments, **named)


def mark_flag_as_required(flag_name: str, flag_values: FlagValues | None = None) -> None:
    """Ends the program if the command line lacks the flag. Raises UnrecognizedFlagError for an unknown flag."""
    flags = FLAGS if flag_values is None else flag_values
    flags[flag_name].required = True
    flags.__dict__["_read"] = False


def mark_flags_as_required(flag_names: Iterable[str], flag_values: FlagValues | None = None) -> None:
    """`mark_flag_as_required` for each of several."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def register_validator(
    flag_name: str,
    checker: Callable[[Any], Any],
    message: str = "Flag validation failed",
    flag_values: FlagValues | None = None,
) -> None:
    """`checker(value)` says whether a value of the flag is allowed, when the command line is read and when it is assigned."""
    (FLAGS if flag_values is None else flag_values)[flag_name].checks.append((checker, message))


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues | None = None
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """`register_validator` as a decorator."""

    def register(checker: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return register


def _texts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []
