"""A flag: how its text is read, its default, and the value that it has now."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from actorflow.compat.flags import parsers
from actorflow.compat.flags.errors import Error, IllegalFlagValueError

T = TypeVar("T")


class Flag:
    """A flag of one value.

    `value` is what `FLAGS.name` gives; `present` counts how often the command line had it.
    """

    def __init__(
        self,
        parser: parsers.ArgumentParser,
        serializer: parsers.ArgumentSerializer | None,
        name: str,
        default: Any,
        help_string: str | None,
        short_name: str | None = None,
        boolean: bool = False,
        allow_override: bool = False,
        allow_override_cpp: bool = False,
        allow_hide_cpp: bool = False,
        allow_overwrite: bool = True,
        allow_using_method_names: bool = False,
    ) -> None:
        self.name = name
        self.parser = parser
        self.serializer = serializer
        self.help = help_string or ""
        self.short_name = short_name
        self.boolean = boolean
        self.allow_override = allow_override
        self.allow_overwrite = allow_overwrite
        self.allow_using_method_names = allow_using_method_names
        self.module = ""
        self.required = False
        self.present = 0
        self.using_default_value = True
        self.checks: list[tuple[Callable[[Any], Any], str]] = []
        self.default: Any = None
        self._value: Any = None
        self._set_default(default)

    @property
    def value(self) -> Any:
        """The value that the flag has now."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value

    @property
    def default_unparsed(self) -> Any:
        """The default as it was declared."""
        return self._default_unparsed

    @property
    def default_as_str(self) -> str | None:
        """The default as text."""
        return None if self.default is None else self._text(self.default)

    def flag_type(self) -> str:
        """The name of the values' type."""
        return self.parser.flag_type()

    def parse(self, argument: Any) -> None:
        """Takes a value from the command line. Raises IllegalFlagValueError for a text that does not fit."""
        if self.present and not self.allow_overwrite:
            raise IllegalFlagValueError(f"flag --{self.name}={argument}: already defined as {self.value}")
        self.value = self._parse(argument)
        self.present += 1

    def unparse(self) -> None:
        """Gives the flag its default again."""
        self.value = self.default
        self.using_default_value = True
        self.present = 0

    def serialize(self) -> str:
        """The flag as a word of a command line; empty without a value. Raises Error without a serializer."""
        return self._written(self.value)

    def check(self) -> None:
        """Raises IllegalFlagValueError where a validator refuses the value."""
        for checker, message in self.checks:
            if not checker(self.value):
                raise IllegalFlagValueError(f"flag --{self.name}={self.value}: {message}")

    def _parse(self, argument: Any) -> Any:
        try:
            return self.parser.parse(argument)
        except (TypeError, ValueError, OverflowError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={argument}: {error}") from error

    def _set_default(self, value: Any) -> None:
        self._default_unparsed = value
        self.default = None if value is None else self._parse(value)
        if self.using_default_value:
            self.value = self.default

    def _text(self, value: Any) -> str:
        return str(value) if self.serializer is None else self.serializer.serialize(value)

    def _written(self, value: Any) -> str:
        if value is None:
            return ""
        if self.boolean:
            return f"--{self.name}" if value else f"--no{self.name}"
        if self.serializer is None:
            raise Error(f"Serializer not present for flag {self.name}")
        return f"--{self.name}={self.serializer.serialize(value)}"


class BooleanFlag(Flag):
    """A flag that is true as `--name` and false as `--noname`."""

    def __init__(self, name: str, default: Any, help: str | None, short_name: str | None = None, **args: Any) -> None:
        super().__init__(parsers.BooleanParser(), None, name, default, help, short_name, True, **args)


class EnumFlag(Flag):
    """A flag that takes a text from a list."""

    def __init__(
        self,
        name: str,
        default: str | None,
        help: str | None,
        enum_values: Sequence[str],
        short_name: str | None = None,
        case_sensitive: bool = True,
        **args: Any,
    ) -> None:
        parser = parsers.EnumParser(enum_values, case_sensitive)
        text = f"<{'|'.join(parser.enum_values)}>: {help or '(no help available)'}"
        super().__init__(parser, parsers.ArgumentSerializer(), name, default, text, short_name, **args)


class EnumClassFlag(Flag):
    """A flag that takes the name of an enum's member, and gives that member."""

    def __init__(
        self,
        name: str,
        default: enum.Enum | str | None,
        help: str | None,
        enum_class: type[enum.Enum],
        short_name: str | None = None,
        case_sensitive: bool = False,
        **args: Any,
    ) -> None:
        parser = parsers.EnumClassParser(enum_class, case_sensitive)
        text = f"<{'|'.join(parser.member_names)}>: {help or '(no help available)'}"
        serializer = parsers.EnumClassSerializer(lowercase=not case_sensitive)
        super().__init__(parser, serializer, name, default, text, short_name, **args)


class MultiFlag(Flag):
    """A flag that may be given several times, and is a list."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help += ";\n    repeat this option to specify a list of values"

    def parse(self, arguments: Any) -> None:
        values = self._parse(arguments)
        self.value = [*self.value, *values] if self.present and self.value else values
        self.present += len(values)

    def serialize(self) -> str:
        return "\n".join(self._written(value) for value in self.value or ())

    def flag_type(self) -> str:
        return f"multi {self.parser.flag_type()}"

    def _parse(self, arguments: Any) -> list[Any]:
        several = [arguments] if isinstance(arguments, (str, enum.Enum)) else arguments
        try:
            return [super(MultiFlag, self)._parse(each) for each in several]
        except TypeError:  # a single value that is no text
            return [super()._parse(several)]

    def _text(self, value: Any) -> str:
        return ",".join(super(MultiFlag, self)._text(each) for each in value)


class MultiEnumClassFlag(MultiFlag):
    """A flag that takes names of an enum's members, and gives the list of these members."""

    def __init__(
        self,
        name: str,
        default: Any,
        help_string: str | None,
        enum_class: type[enum.Enum],
        case_sensitive: bool = False,
        **args: Any,
    ) -> None:
        parser = parsers.EnumClassParser(enum_class, case_sensitive)
        text = f"<{'|'.join(parser.member_names)}>: {help_string or '(no help available)'}"
        serializer = parsers.EnumClassListSerializer(",", lowercase=not case_sensitive)
        super().__init__(parser, serializer, name, default, text, **args)


class FlagHolder(Generic[T]):
    """The flag that a function `DEFINE_...` declares; its value is typed other than that of `FLAGS.name`."""

    def __init__(self, flag_values: Any, flag: Flag, ensure_non_none_value: bool = False) -> None:
        self._flagvalues = flag_values
        self._name = flag.name
        self._ensure_non_none_value = ensure_non_none_value

    def __bool__(self) -> bool:
        raise TypeError("bool() not supported for instances of type 'FlagHolder': did you mean its .value?")

    @property
    def name(self) -> str:
        """The flag's name."""
        return self._name

    @property
    def value(self) -> T:
        """The flag's value. Raises IllegalFlagValueError for None, where the flag is required."""
        value: T = getattr(self._flagvalues, self._name)
        if value is None and self._ensure_non_none_value:
            raise IllegalFlagValueError(f"Unexpected None value for flag {self._name}")
        return value

    @property
    def default(self) -> T:
        """The flag's default."""
        default: T = self._flagvalues[self._name].default
        return default

    @property
    def present(self) -> bool:
        """Whether the command line has the flag."""
        return bool(self._flagvalues[self._name].present)

    def serialize(self) -> str:
        """The flag as a word of a command line."""
        text: str = self._flagvalues[self._name].serialize()
        return text
