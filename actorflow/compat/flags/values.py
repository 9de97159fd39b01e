"""`FLAGS`: the declared flags, the command line that they are read from, and their values as attributes."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from actorflow.compat.flags.errors import (
    CantOpenFlagFileError,
    DuplicateFlagError,
    FlagNameConflictsWithMethodError,
    IllegalFlagValueError,
    UnrecognizedFlagError,
)
from actorflow.compat.flags.flag import Flag
from actorflow.compat.flags.texts import get_help_width, text_wrap


class FlagValues:
    """The declared flags as attributes; calling it with an argument list reads that, and gives what is no flag.

    It is also a mapping from the names to the `Flag`s.
    """

    def __init__(self) -> None:
        self.__dict__["__flags"] = {}
        self.__dict__["_read"] = False
        self.__dict__["_checks"] = []
        self.__dict__["_key_flags"] = {}

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads `argv`, whose first entry is the program; gives that and what is no flag.

        Raises SystemExit for a value that doesn't fit and, without `known_only`, for a flag that there is not.
        """
        words = list(argv)
        try:
            rest, unknown = self._parse(words[1:])
            if unknown and not known_only:
                self._stop(f"unrecognized arguments: {' '.join(unknown)}", unknown)
            self.validate_all_flags()
        except (IllegalFlagValueError, CantOpenFlagFileError) as error:
            self._stop(str(error))
        missing = [f"--{flag.name}" for flag in self._flags().values() if flag.required and flag.value is None]
        if missing:
            self._stop(f"the following arguments are required: {', '.join(missing)}")
        self.__dict__["_read"] = True
        return [*words[:1], *rest]

    def _parse(self, words: list[str]) -> tuple[list[str], list[str]]:
        """Gives values to flags: what is no flag, and those words that look like a flag."""
        rest: list[str] = []
        unknown: list[str] = []
        waiting = iter(self.read_flags_from_files(words))
        for word in waiting:
            if word == "--":
                rest.extend(waiting)
            elif not word.startswith("-") or word == "-":
                rest.append(word)
            else:
                name, equals, text = word.lstrip("-").partition("=")
                flag = self._flags().get(name)
                if flag is not None and flag.boolean:
                    flag.parse(text if equals else "true")
                elif flag is not None:
                    flag.parse(text if equals else self._next(waiting, name))
                elif (
                    (negated := self._flags().get(name.removeprefix("no"))) is not None
                    and negated.boolean
                    and not equals
                ):
                    negated.parse("false")
                elif name in ("help", "helpfull", "helpshort", "h") and not equals:
                    self._print_help()
                else:
                    rest.append(word)
                    unknown.append(word)
                    continue
                (flag or negated).using_default_value = False  # type: ignore[union-attr]
        return rest, unknown

    def _next(self, waiting: Iterator[str], name: str) -> str:
        word = next(waiting, None)
        if word is None:
            raise IllegalFlagValueError(f"Missing value for flag --{name}")
        return word

    def _print_help(self) -> NoReturn:
        print(f"{sys.argv[0]}:\n{self.get_help()}")
        raise SystemExit(1)

    def _stop(self, message: str, unknown: Sequence[str] = ()) -> NoReturn:
        """Ends the program, as argparse does."""
        names = [difflib.get_close_matches(word.lstrip("-").partition("=")[0], self._flags(), 1) for word in unknown]
        near = [f"--{name}" for each in names for name in each]
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        print(f"{sys.argv[0]}: error: {message}{hint}\nPass --help to see the flags.", file=sys.stderr)
        raise SystemExit(2)

    def _flags(self) -> dict[str, Flag]:
        flags: dict[str, Flag] = self.__dict__["__flags"]
        return flags

    def read_flags_from_files(self, argv: Sequence[str], force_gnu: bool = True) -> list[str]:
        """The words of a command line, with the lines of each `--flagfile=path` in its place.

        Raises CantOpenFlagFileError for a file that can't be read.
        """
        words: list[str] = []
        waiting = iter(argv)
        for word in waiting:
            name, equals, path = word.lstrip("-").partition("=")
            if word == "--":
                words.extend((word, *waiting))
            elif word.startswith("-") and name == "flagfile" and "flagfile" not in self:
                words.extend(self._lines(path if equals else self._next(waiting, name)))
            else:
                words.append(word)
        return words

    def _lines(self, path: str) -> list[str]:
        try:
            with open(path, encoding="utf-8") as file:
                lines = [line.strip() for line in file]
        except OSError as error:
            raise CantOpenFlagFileError(f"Unable to open flagfile {path}: {error}") from error
        return self.read_flags_from_files([line for line in lines if line and not line.startswith(("#", "//"))])

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
            flag.unparse()

    def validate_all_flags(self) -> None:
        """Raises IllegalFlagValueError where a validator refuses values."""
        for flag in self._flags().values():
            flag.check()
        for names, checker, message in self._checks:
            if not checker({name: self[name].value for name in names}):
                raise IllegalFlagValueError(f"flags {', '.join(names)}: {message}")

    def register_check(self, names: Sequence[str], checker: Callable[[Mapping[str, Any]], Any], message: str) -> None:
        """Has `checker` called with the values of several flags. Raises UnrecognizedFlagError for an unknown flag."""
        for name in names:
            self[name]
        self._checks.append((list(names), checker, message))

    def flag_values_dict(self) -> dict[str, Any]:
        """All flags with their values."""
        return {name: getattr(self, name) for name in self}

    def get_flag_value(self, name: str, default: Any) -> Any:
        """The value of a flag; `default` if the value is None."""
        value = getattr(self, name)
        return default if value is None else value

    def set_default(self, name: str, value: Any) -> None:
        """Gives a flag another default. Raises UnrecognizedFlagError for an unknown flag."""
        self[name]._set_default(value)

    def register_flag_by_module(self, module_name: str, flag: Flag) -> None:
        """Notes that a module declares a flag."""
        flag.module = module_name

    def register_key_flag_for_module(self, module_name: str, flag: Flag) -> None:
        """Notes that a flag of another module is a key flag of a module."""
        self._key_flags.setdefault(module_name, []).append(flag)

    def flags_by_module_dict(self) -> dict[str, list[Flag]]:
        """The flags that each module declares."""
        modules: dict[str, list[Flag]] = {}
        for flag in dict.fromkeys(self._flags().values()):
            modules.setdefault(flag.module, []).append(flag)
        return modules

    def get_key_flags_for_module(self, module: Any) -> list[Flag]:
        """The flags that a module declares, and its further key flags."""
        name = module if isinstance(module, str) else module.__name__
        flags = [*self.flags_by_module_dict().get(name, []), *self._key_flags.get(name, [])]
        return list(dict.fromkeys(flags))

    def remove_flag_values(self, flag_values: Iterable[str]) -> None:
        """Takes flags away."""
        for name in list(flag_values):
            delattr(self, name)

    def append_flag_values(self, flag_values: FlagValues) -> None:
        """Takes the flags of another `FlagValues` too. Raises DuplicateFlagError for a flag that is there already."""
        for name in flag_values:
            self[name] = flag_values[name]

    def flags_into_string(self) -> str:
        """The flags that have a value as lines of a command line."""
        return "".join(f"{text}\n" for flag in dict.fromkeys(self._flags().values()) if (text := flag.serialize()))

    def append_flags_into_file(self, filename: str) -> None:
        """Writes the flags to the end of a file, which `--flagfile` reads."""
        with open(filename, "a", encoding="utf-8") as file:
            file.write(self.flags_into_string())

    def get_help(self, prefix: str = "", include_special_flags: bool = True) -> str:
        """The flags with their help, by module."""
        lines: list[str] = []
        for module, flags in self.flags_by_module_dict().items():
            lines.append(f"\n{prefix}{module}:")
            for flag in sorted(flags, key=lambda each: each.name):
                short = f"-{flag.short_name}," if flag.short_name else ""
                name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}"
                lines.append(text_wrap(f"{short}{name}: {flag.help}", get_help_width(), f"{prefix}    ", f"{prefix}  "))
                if flag.default is not None:
                    lines.append(f"{prefix}    (default: {flag.default_as_str!r})")
                if flag.parser.syntactic_help:
                    lines.append(f"{prefix}    ({flag.parser.syntactic_help})")
        return "\n".join(lines)

    main_module_help = module_help = get_help

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
        flag.using_default_value = False
        flag.check()

    def __delattr__(self, name: str) -> None:
        flag = self[name]
        for each in filter(None, (flag.name, flag.short_name)):
            self._flags().pop(each, None)

    def __getitem__(self, name: str) -> Flag:
        flag = self._flags().get(name)
        if flag is None:
            raise UnrecognizedFlagError(
                f"There is no flag --{name}; declare it by tf.flags.DEFINE_string and the like."
            )
        return flag

    def __setitem__(self, name: str, flag: Flag) -> None:
        """Declares a flag. Raises DuplicateFlagError if another module has a flag of that name."""
        present = self._flags().get(name)
        if present is not None and present is not flag and not flag.allow_override and present.module != flag.module:
            raise DuplicateFlagError(f"The flag --{name} is declared already, in {present.module}.")
        if not flag.allow_using_method_names and hasattr(type(self), name):
            raise FlagNameConflictsWithMethodError(f"Cannot create a flag named {name!r}: FLAGS has a method {name}.")
        self._flags()[name] = flag
        if flag.short_name:
            self._flags()[flag.short_name] = flag
        self.__dict__["_read"] = False  # read again, with this flag

    def __contains__(self, name: object) -> bool:
        return name in self._flags()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._flags()))

    def __len__(self) -> int:
        return len(self._flags())

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._flags()]
