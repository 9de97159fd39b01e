"""`tf.flags` (`tf.app.flags`): command line flags.

A flag is declared by `DEFINE_string(name, default, help)` and read as `FLAGS.name`. The command line is read at the first
use of a flag, or by `tf.app.run`.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from actorflow.compat.flags.errors import (
    CantOpenFlagFileError,
    DuplicateFlagError,
    Error,
    FlagNameConflictsWithMethodError,
    IllegalFlagValueError,
    UnparsedFlagAccessError,
    UnrecognizedFlagError,
    ValidationError,
)
from actorflow.compat.flags.flag import (
    BooleanFlag,
    EnumClassFlag,
    EnumFlag,
    Flag,
    FlagHolder,
    MultiEnumClassFlag,
    MultiFlag,
)
from actorflow.compat.flags.parsers import (
    ArgumentParser,
    ArgumentSerializer,
    BaseListParser,
    BooleanParser,
    CsvListSerializer,
    EnumClassListSerializer,
    EnumClassParser,
    EnumClassSerializer,
    EnumParser,
    FloatParser,
    IntegerParser,
    ListParser,
    ListSerializer,
    WhitespaceSeparatedListParser,
)
from actorflow.compat.flags.texts import doc_to_help, flag_dict_to_args, get_help_width, text_wrap
from actorflow.compat.flags.values import FlagValues
from actorflow.public import public

public("tf:flags")

__all__ = [
    "ArgumentParser",
    "ArgumentSerializer",
    "BaseListParser",
    "BooleanFlag",
    "BooleanParser",
    "CantOpenFlagFileError",
    "CsvListSerializer",
    "DuplicateFlagError",
    "EnumClassFlag",
    "EnumClassListSerializer",
    "EnumClassParser",
    "EnumClassSerializer",
    "EnumFlag",
    "EnumParser",
    "Error",
    "Flag",
    "FlagHolder",
    "FlagNameConflictsWithMethodError",
    "FlagValues",
    "FloatParser",
    "IllegalFlagValueError",
    "IntegerParser",
    "ListParser",
    "ListSerializer",
    "MultiEnumClassFlag",
    "MultiFlag",
    "UnparsedFlagAccessError",
    "UnrecognizedFlagError",
    "ValidationError",
    "WhitespaceSeparatedListParser",
    "doc_to_help",
    "flag_dict_to_args",
    "get_help_width",
    "text_wrap",
]

FLAGS = FlagValues()

_OLDER = {"flag_name": "name", "default_value": "default", "docstring": "help"}
"""Names of parameters of TensorFlow before 1.5, which 1.15 takes as well."""

_Build = Callable[..., Flag]


def _caller() -> str:
    """The name of the module that declares a flag."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


def _define(build: _Build, arguments: Sequence[Any], named: Mapping[str, Any]) -> FlagHolder[Any]:
    """Declares the flag that `build` makes of `name`, `default` and `help`, by place or by name, and what is left."""
    facts: dict[str, Any] = {"default": None, "help": "", **dict(zip(("name", "default", "help"), arguments))}
    facts |= {_OLDER.get(name, name): value for name, value in named.items()}
    declared = {name: facts.pop(name, None) for name in ("flag_values", "module_name", "required")}
    return DEFINE_flag(build(**facts), **declared)


def _flag(parser: ArgumentParser, serializer: ArgumentSerializer, kind: type[Flag] = Flag) -> _Build:
    return lambda help, **facts: kind(parser, serializer, help_string=help, **facts)


def _bounded(kind: type[FloatParser] | type[IntegerParser], form: type[Flag] = Flag) -> _Build:
    def build(lower_bound: float | None = None, upper_bound: float | None = None, **facts: Any) -> Flag:
        return _flag(kind(lower_bound, upper_bound), ArgumentSerializer(), form)(**facts)

    return build


def DEFINE_flag(
    flag: Flag, flag_values: FlagValues | None = None, module_name: str | None = None, required: bool | None = False
) -> FlagHolder[Any]:
    """Declares a `Flag`, and gives its holder.

    Raises DuplicateFlagError if another module has a flag of that name, as all these functions do."""
    flags = FLAGS if flag_values is None else flag_values
    if required and flag.default is not None:
        raise ValueError(f"Required flag --{flag.name} cannot have a non-None default")
    flag.module = module_name or _caller()
    flag.required = bool(required)
    flags[flag.name] = flag
    return FlagHolder(flags, flag, ensure_non_none_value=flag.required or flag.default is not None)


def DEFINE(
    parser: ArgumentParser,
    name: str,
    default: Any,
    help: str | None,
    flag_values: FlagValues | None = None,
    serializer: ArgumentSerializer | None = None,
    module_name: str | None = None,
    required: bool = False,
    **args: Any,
) -> FlagHolder[Any]:
    """Declares a flag with a parser of your own."""
    return DEFINE_flag(Flag(parser, serializer, name, default, help, **args), flag_values, module_name, required)


def DEFINE_string(*arguments: Any, **named: Any) -> FlagHolder[Any]:
    """Declares a flag that takes text: `DEFINE_string(name, default, help)`."""
    return _define(_flag(ArgumentParser(), ArgumentSerializer()), arguments, named)


def DEFINE_integer(*arguments: Any, **named: Any) -> FlagHolder[Any]:
    """Declares a flag that takes an integer; `lower_bound` and `upper_bound` are its bounds."""
    return _define(_bounded(IntegerParser), arguments, named)


def DEFINE_float(*arguments: Any, **named: Any) -> FlagHolder[Any]:
    """Declares a flag that takes a number; `lower_bound` and `upper_bound` are its bounds."""
    return _define(_bounded(FloatParser), arguments, named)


def DEFINE_boolean(*arguments: Any, **named: Any) -> FlagHolder[Any]:
    """Declares a flag that is true as `--name` or `--name=true`, and false as `--noname` or `--name=false`."""
    return _define(BooleanFlag, arguments, named)


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(
    name: str, default: str | None, enum_values: Sequence[str], help: str | None = None, **named: Any
) -> FlagHolder[Any]:
    """Declares a flag that takes a text from a list."""
    return _define(EnumFlag, (name, default, help), {**named, "enum_values": enum_values})


def DEFINE_enum_class(
    name: str, default: Any, enum_class: type[enum.Enum], help: str | None, **named: Any
) -> FlagHolder[Any]:
    """Declares a flag that takes the name of an enum's member."""
    return _define(EnumClassFlag, (name, default, help), {**named, "enum_class": enum_class})


def DEFINE_list(*arguments: Any, **named: Any) -> FlagHolder[Any]:
    """Declares a flag that takes texts between commas."""
    return _define(_flag(ListParser(), CsvListSerializer(",")), arguments, named)


def DEFINE_spaceseplist(
    name: str, default: Any, help: str | None, comma_compat: bool = False, **named: Any
) -> FlagHolder[Any]:
    """Declares a flag that takes texts between spaces; with `comma_compat` between commas too."""
    build = _flag(WhitespaceSeparatedListParser(comma_compat), ListSerializer(" "))
    return _define(build, (name, default, help), named)


def DEFINE_multi(
    parser: ArgumentParser,
    serializer: ArgumentSerializer,
    name: str,
    default: Any,
    help: str | None,
    flag_values: FlagValues | None = None,
    module_name: str | None = None,
    required: bool = False,
    **args: Any,
) -> FlagHolder[Any]:
    """Declares a flag with a parser of your own that may be given several times, and is a list."""
    return DEFINE_flag(MultiFlag(parser, serializer, name, default, help, **args), flag_values, module_name, required)


def DEFINE_multi_string(*arguments: Any, **named: Any) -> FlagHolder[Any]:
    """Declares a flag that takes text, may be given several times, and is a list."""
    return _define(_flag(ArgumentParser(), ArgumentSerializer(), MultiFlag), arguments, named)


def DEFINE_multi_integer(*arguments: Any, **named: Any) -> FlagHolder[Any]:
    """Declares a flag that takes an integer, may be given several times, and is a list."""
    return _define(_bounded(IntegerParser, MultiFlag), arguments, named)


def DEFINE_multi_float(*arguments: Any, **named: Any) -> FlagHolder[Any]:
    """Declares a flag that takes a number, may be given several times, and is a list."""
    return _define(_bounded(FloatParser, MultiFlag), arguments, named)


def DEFINE_multi_enum(
    name: str,
    default: Any,
    enum_values: Sequence[str],
    help: str | None,
    flag_values: FlagValues | None = None,
    case_sensitive: bool = True,
    **named: Any,
) -> FlagHolder[Any]:
    """Declares a flag that takes a text from a list, may be given several times, and is a list."""
    parser = EnumParser(enum_values, case_sensitive)
    text = f"<{'|'.join(enum_values)}>: {help}"
    return _define(
        _flag(parser, ArgumentSerializer(), MultiFlag), (name, default, text), {**named, "flag_values": flag_values}
    )


def DEFINE_multi_enum_class(
    name: str, default: Any, enum_class: type[enum.Enum], help: str | None, **named: Any
) -> FlagHolder[Any]:
    """Declares a flag that takes the name of an enum's member, may be given several times, and is a list."""
    build: _Build = lambda help, **facts: MultiEnumClassFlag(help_string=help, **facts)  # noqa: E731
    return _define(build, (name, default, help), {**named, "enum_class": enum_class})


def DEFINE_alias(
    name: str, original_name: str, flag_values: FlagValues | None = None, module_name: str | None = None
) -> FlagHolder[Any]:
    """Declares a second name of a flag. Raises UnrecognizedFlagError for an unknown flag."""
    flags = FLAGS if flag_values is None else flag_values
    original = flags[original_name]

    class FlagAlias(Flag):
        """A flag whose value is that of another flag."""

        @property
        def value(self) -> Any:
            return original.value

        @value.setter
        def value(self, value: Any) -> None:
            original.value = value

        def parse(self, argument: Any) -> None:
            original.parse(argument)
            self.present += 1

    text = f"Alias for --{original_name}."
    alias = FlagAlias(original.parser, original.serializer, name, None, text, boolean=original.boolean)
    original.value = original.value if original.present else original.default
    return DEFINE_flag(alias, flags, module_name)


def mark_flag_as_required(flag_name: str, flag_values: FlagValues | None = None) -> None:
    """Ends the program if the command line lacks the flag. Raises UnrecognizedFlagError for an unknown flag."""
    flags = FLAGS if flag_values is None else flag_values
    flags[flag_name].required = True
    flags.__dict__["_read"] = False


def mark_flags_as_required(flag_names: Iterable[str], flag_values: FlagValues | None = None) -> None:
    """`mark_flag_as_required` for each of several."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def mark_flags_as_mutual_exclusive(
    flag_names: Iterable[str], required: bool = False, flag_values: FlagValues | None = None
) -> None:
    """Lets at most a single flag of these have a value other than None; with `required` it is to be there."""
    _exclude(list(flag_names), required, flag_values, lambda value: value is not None)


def mark_bool_flags_as_mutual_exclusive(
    flag_names: Iterable[str], required: bool = False, flag_values: FlagValues | None = None
) -> None:
    """Lets at most a single flag of these be true; with `required` it is to be there. Raises ValidationError for others."""
    names = list(flag_names)
    for name in names:
        if not (FLAGS if flag_values is None else flag_values)[name].boolean:
            raise ValidationError(f"Flag --{name} is not Boolean, which is required for flags used here.")
    _exclude(names, required, flag_values, bool)


def _exclude(names: list[str], required: bool, flag_values: FlagValues | None, counts: Callable[[Any], bool]) -> None:
    def check(values: Mapping[str, Any]) -> bool:
        number = sum(map(counts, values.values()))
        return number == 1 or (number == 0 and not required)

    least = "Exactly" if required else "At most"
    register_multi_flags_validator(
        names, check, f"{least} a single flag of ({', '.join(names)}) is to be set", flag_values
    )


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


def register_multi_flags_validator(
    flag_names: Iterable[str],
    multi_flags_checker: Callable[[Mapping[str, Any]], Any],
    message: str = "Flags validation failed",
    flag_values: FlagValues | None = None,
) -> None:
    """`multi_flags_checker` gets the values of several flags by name, and says whether these are allowed together."""
    (FLAGS if flag_values is None else flag_values).register_check(list(flag_names), multi_flags_checker, message)


def multi_flags_validator(
    flag_names: Iterable[str], message: str = "Flag validation failed", flag_values: FlagValues | None = None
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """`register_multi_flags_validator` as a decorator."""

    def register(checker: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_multi_flags_validator(flag_names, checker, message, flag_values)
        return checker

    return register


def declare_key_flag(flag_name: str, flag_values: FlagValues | None = None) -> None:
    """Makes a flag of another module a key flag of the calling module: `--helpshort` shows it."""
    flags = FLAGS if flag_values is None else flag_values
    flags.register_key_flag_for_module(_caller(), flags[flag_name])


def adopt_module_key_flags(module: Any, flag_values: FlagValues | None = None) -> None:
    """`declare_key_flag` for all key flags of a module. Raises Error for what is no module."""
    if not isinstance(module, ModuleType):
        raise Error(f"Expected a module object, not {module!r}.")
    flags = FLAGS if flag_values is None else flag_values
    for flag in flags.get_key_flags_for_module(module):
        flags.register_key_flag_for_module(_caller(), flag)


def disclaim_key_flags() -> None:
    """Does nothing: a flag belongs to the module that calls `DEFINE_...`."""


def set_default(flag_holder: FlagHolder[Any], value: Any) -> None:
    """Gives a flag another default."""
    flag_holder._flagvalues.set_default(flag_holder.name, value)


def override_value(flag_holder: FlagHolder[Any], value: Any) -> None:
    """Gives a flag another value. Raises IllegalFlagValueError for a value that does not fit."""
    flags = flag_holder._flagvalues
    setattr(flags, flag_holder.name, flags[flag_holder.name]._parse(value))
