"""Parsers, which read a flag's text into a value, and serializers, which write a value as text."""

from __future__ import annotations

import csv
import enum
import io
from collections.abc import Iterable, Sequence
from typing import Any


class ArgumentParser:
    """A parser of any text, which stays as it is.

    `syntactic_help` is a sentence of the help about the values that it takes.
    """

    syntactic_help = ""

    def parse(self, argument: Any) -> Any:
        """The value of a text. Raises ValueError or TypeError for an argument that does not fit."""
        if not isinstance(argument, str):
            raise TypeError(f"flag value must be a string, found {argument!r}")
        return argument

    def flag_type(self) -> str:
        """The name of the values' type."""
        return "string"


class ArgumentSerializer:
    """Writes a value by `str`."""

    def serialize(self, value: Any) -> str:
        """The text of a value."""
        return str(value)


class _NumberParser(ArgumentParser):
    """A parser of numbers between two bounds. A bound may be None."""

    number: type[int] | type[float]
    words: tuple[str, str]

    def __init__(self, lower_bound: float | None = None, upper_bound: float | None = None) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        if lower_bound is not None and upper_bound is not None:
            self.syntactic_help = f"{self.words[0]} in the range [{lower_bound}, {upper_bound}]"
        elif lower_bound is not None:
            self.syntactic_help = f"{self.words[0]} >= {lower_bound}"
        elif upper_bound is not None:
            self.syntactic_help = f"{self.words[0]} <= {upper_bound}"
        else:
            self.syntactic_help = self.words[0]

    def is_outside_bounds(self, val: float) -> bool:
        """Whether a number is not between the bounds."""
        below = self.lower_bound is not None and val < self.lower_bound
        return below or (self.upper_bound is not None and val > self.upper_bound)

    def convert(self, argument: Any) -> float:
        """The number of a text or of another number."""
        return self.number(argument)

    def parse(self, argument: Any) -> float:
        value = self.convert(argument)
        if self.is_outside_bounds(value):
            raise ValueError(f"{argument} is not {self.syntactic_help}")
        return value

    def flag_type(self) -> str:
        return self.words[1]


class FloatParser(_NumberParser):
    """A parser of numbers between two bounds."""

    number = float
    words = ("a number", "float")

    def convert(self, argument: Any) -> float:
        if isinstance(argument, bool) or not isinstance(argument, (int, float, str)):
            raise TypeError(f"Expect argument to be a string, int, or float, found {type(argument)}")
        return float(argument)


class IntegerParser(_NumberParser):
    """A parser of integers between two bounds; texts may have the prefixes 0x and 0o."""

    number = int
    words = ("an integer", "int")

    def convert(self, argument: Any) -> int:
        if isinstance(argument, bool) or not isinstance(argument, (int, str)):
            raise TypeError(f"Expect argument to be a string or int, found {type(argument)}")
        if isinstance(argument, int):
            return argument
        prefix = argument[:2].lower()
        return int(argument, {"0x": 16, "0o": 8}.get(prefix, 10))


class BooleanParser(ArgumentParser):
    """A parser of true, t, 1, false, f, 0 in small letters or capitals."""

    def parse(self, argument: Any) -> bool:
        words = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
        if isinstance(argument, str) and argument.lower() in words:
            return words[argument.lower()]
        if isinstance(argument, (int, float)) and argument in (0, 1):
            return bool(argument)
        raise ValueError(f"{argument!r} is neither true nor false")

    def flag_type(self) -> str:
        return "bool"


class EnumParser(ArgumentParser):
    """A parser of texts from a list. Raises ValueError for an empty list."""

    def __init__(self, enum_values: Sequence[str], case_sensitive: bool = True) -> None:
        if not enum_values:
            raise ValueError(f"enum_values cannot be empty, found {enum_values!r}")
        self.enum_values = list(enum_values)
        self.case_sensitive = case_sensitive

    def parse(self, argument: Any) -> Any:
        if self.case_sensitive:
            named = [text for text in self.enum_values if text == argument]
        else:
            named = [text for text in self.enum_values if text.upper() == str(argument).upper()]
        if not named:
            raise ValueError(f"value should be one of <{'|'.join(self.enum_values)}>, and is {argument!r}")
        return named[0]

    def flag_type(self) -> str:
        return "string enum"


class EnumClassParser(ArgumentParser):
    """A parser of the names of an enum's members. Raises TypeError and ValueError for another class, or an empty class."""

    def __init__(self, enum_class: type[enum.Enum], case_sensitive: bool = True) -> None:
        if not (isinstance(enum_class, type) and issubclass(enum_class, enum.Enum)):
            raise TypeError(f"{enum_class} is not a subclass of Enum.")
        if not enum_class.__members__:
            raise ValueError(f"enum_class cannot be empty, but {enum_class} has no members.")
        self.enum_class = enum_class
        self._names = {(name if case_sensitive else name.lower()): name for name in enum_class.__members__}
        self._case_sensitive = case_sensitive
        if len(self._names) < len(enum_class.__members__):
            raise ValueError(f"The names of {enum_class.__name__} differ in capitals alone: use case_sensitive=True.")

    @property
    def member_names(self) -> Sequence[str]:
        """The names that are taken."""
        return list(self._names)

    def parse(self, argument: Any) -> Any:
        if isinstance(argument, self.enum_class):
            return argument
        key = str(argument) if self._case_sensitive else str(argument).lower()
        if key not in self._names:
            raise ValueError(f"value should be one of <{'|'.join(self._names)}>, and is {argument!r}")
        return self.enum_class[self._names[key]]

    def flag_type(self) -> str:
        return "enum class"


class BaseListParser(ArgumentParser):
    """A parser of texts between separators."""

    def __init__(self, token: str | None = None, name: str | None = None) -> None:
        self._token = token
        self._name = name

    def parse(self, argument: Any) -> list[str]:
        if isinstance(argument, list):
            return argument
        return [part.strip() for part in argument.split(self._token)] if argument else []

    def flag_type(self) -> str:
        return f"{self._name} separated list of strings"


class ListParser(BaseListParser):
    """A parser of texts between commas, with the quotes of CSV."""

    def __init__(self) -> None:
        super().__init__(",", "comma")

    def parse(self, argument: Any) -> list[str]:
        if isinstance(argument, (list, tuple)):
            return list(argument)
        if not argument:
            return []
        try:
            return [part.strip() for part in next(csv.reader([argument], strict=True))]
        except csv.Error as error:
            raise ValueError(f"Unable to parse the value {argument!r} as a {self.flag_type()}: {error}") from error


class WhitespaceSeparatedListParser(BaseListParser):
    """A parser of texts between spaces; with `comma_compat` between commas too."""

    def __init__(self, comma_compat: bool = False) -> None:
        self._comma_compat = comma_compat
        super().__init__(None, "whitespace or comma" if comma_compat else "whitespace")

    def parse(self, argument: Any) -> list[str]:
        if isinstance(argument, str) and self._comma_compat:
            argument = argument.replace(",", " ")
        return super().parse(argument)


class ListSerializer(ArgumentSerializer):
    """Writes texts with a separator between."""

    def __init__(self, list_sep: str) -> None:
        self.list_sep = list_sep

    def serialize(self, value: Iterable[Any]) -> str:
        return self.list_sep.join(str(each) for each in value)


class CsvListSerializer(ListSerializer):
    """Writes texts as a row of CSV."""

    def serialize(self, value: Iterable[Any]) -> str:
        row = io.StringIO()
        csv.writer(row, delimiter=self.list_sep, lineterminator="").writerow([str(each) for each in value])
        return row.getvalue()


class EnumClassSerializer(ArgumentSerializer):
    """Writes the name of an enum's member, in small letters with `lowercase`."""

    def __init__(self, lowercase: bool = True) -> None:
        self._lowercase = lowercase

    def serialize(self, value: Any) -> str:
        return value.name.lower() if self._lowercase else str(value.name)


class EnumClassListSerializer(ListSerializer):
    """Writes the names of an enum's members with a separator between."""

    def __init__(self, list_sep: str, lowercase: bool = True) -> None:
        super().__init__(list_sep)
        self._element = EnumClassSerializer(lowercase)

    def serialize(self, value: Any) -> str:
        members = value if isinstance(value, list) else [value]
        return self.list_sep.join(self._element.serialize(each) for each in members)
