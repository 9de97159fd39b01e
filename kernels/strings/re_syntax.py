"""Patterns in RE2's syntax as patterns of Python's `re`, over text in which a byte that is not UTF-8 is a lone surrogate.

Several things differ: `$` is the very end, classes such as `\\d` are those of ASCII, `(?i)` may stand anywhere, there are POSIX
classes and `\\Q...\\E`, a bad byte matches no `.`. RE2 has no lookaround, back references or possessive repetition.

Python's `re` backtracks: where a pattern fails, it tries each other way in which repetitions and alternatives before may match.
`Group.work` bounds that, so that the caller can refuse a pattern that would hold the interpreter for long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from actorflow.errors import UnimplementedError

_WORD = "0-9A-Za-z_"
_NO_BYTE = "\\udc80-\\udcff"  # bytes that are no UTF-8
_LAST = "\\udc7f\\udd00-\\U0010ffff"
_CLASSES = {
    "d": "0-9",
    "w": _WORD,
    "s": r"\t\n\f\r ",
    "D": rf"\x00-/:-{_LAST}",
    "W": rf"\x00-/:-@\[-^`{{-{_LAST}",
    "S": rf"\x00-\x08\x0b\x0e-\x1f!-{_LAST}",
}
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": _WORD,
    "xdigit": "0-9A-Fa-f",
}
_BOUNDARY = f"(?:(?<![{_WORD}])(?=[{_WORD}])|(?<=[{_WORD}])(?![{_WORD}]))"
_INSIDE = f"(?:(?<![{_WORD}])(?![{_WORD}])|(?<=[{_WORD}])(?=[{_WORD}]))"
_PLACES = (r"\A", r"\Z", "(?m:^)", "(?m:$)", _BOUNDARY, _INSIDE)
_REPEAT = re.compile(r"[*+?]|\{\d+(?:,\d*)?\}")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_HEX = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})")
_MOST = 1000  # repetitions that RE2 takes
_DEEPEST = 50  # groups within groups
_MANY = 1 << 62
"""`BacktrackWork` counts no further."""


class BacktrackWork(NamedTuple):
    """The size of backtracking: the number of `ways` in which something may match, and of `steps` to try all of them."""

    ways: int
    steps: int


@dataclass(slots=True)
class Group:
    """The alternatives of a group, each with its parts."""

    alternatives: list[list[Group | RepeatedGroup]] = field(default_factory=lambda: [[]])

    def least_width(self) -> int:
        """The number of characters that a match has at least."""
        return min(sum(part.least_width() for part in parts) for parts in self.alternatives)

    def work(self, size: int) -> BacktrackWork:
        """The work that it may take to match it from one place of a text of `size` characters."""
        total = BacktrackWork(0, 0)
        for parts in self.alternatives:
            ways = steps = 1
            for part in parts:
                cost = part.work(size)
                steps = min(steps + ways * cost.steps, _MANY)
                ways = min(ways * cost.ways, _MANY)
            total = BacktrackWork(total.ways + ways, total.steps + steps)
        return total


@dataclass(frozen=True, slots=True)
class RepeatedGroup:
    """`least` to `most` matches of a group, or of a single character, in a row."""

    least: int
    most: int | None
    group: Group | None

    def least_width(self) -> int:
        """See `Group.least_width`."""
        return self.least * (1 if self.group is None else self.group.least_width())

    def work(self, size: int) -> BacktrackWork:
        """See `Group.work`."""
        most = size if self.most is None else min(self.most, size)
        each = _SINGLE if self.group is None else self.group.work(size)
        counts = max(most - self.least, 0) + 1
        if each.ways == 1:
            return BacktrackWork(counts, max(most, 1) * each.steps)
        ways = min(counts * each.ways ** min(most, 64), _MANY)
        return BacktrackWork(ways, min(ways * each.steps, _MANY))


_SINGLE = BacktrackWork(1, 1)
_ONCE = RepeatedGroup(1, 1, None)
_PLACE = RepeatedGroup(0, 0, None)
"""A condition about a place, such as a boundary of words, which takes no character."""


class _Level:
    """A group, or the whole: its flags, the groups that stand for its `(?i)`, and its parts."""

    def __init__(self, multiline: bool, dotall: bool) -> None:
        self.multiline, self.dotall = multiline, dotall
        self.opened: list[str] = []
        self.group = Group()


class _Translation:
    def __init__(self, pattern: str) -> None:
        self.rest, self.at = pattern, 0
        self.out: list[str] = []
        self.levels = [_Level(False, False)]

    def run(self) -> str:
        repeatable = False  # whether a repetition may come: not twice
        while self.at < len(self.rest):
            repeat = _REPEAT.match(self.rest, self.at)
            if repeat is not None:
                if not repeatable:
                    raise ValueError(f"bad repetition operator: {repeat.group()!r}")
                self._repeat(repeat)
                repeatable = False
                continue
            repeatable = self._one()
        if len(self.levels) > 1:
            raise ValueError("missing )")
        return "".join(self.out) + ")" * len(self.levels[0].opened)

    def _repeat(self, match: re.Match[str]) -> None:
        text = match.group()
        numbers = [int(number) for number in re.findall(r"\d+", text)]
        if any(number > _MOST for number in numbers):
            raise ValueError(f"bad repetition operator: {text!r}")
        parts = self.levels[-1].group.alternatives[-1]
        last = parts.pop()
        place = last is _PLACE
        least = numbers[0] if numbers else int(text == "+")
        most = 1 if text == "?" else None if not numbers or text.endswith(",}") else numbers[-1]
        parts.append(last if place else RepeatedGroup(least, most, last if isinstance(last, Group) else None))
        self.out.append(text)
        self.at = match.end()
        if self.rest.startswith("?", self.at):
            self.out.append("?")
            self.at += 1

    def _one(self) -> bool:
        """Translates one element. Gives whether it may be repeated."""
        level, char = self.levels[-1], self.rest[self.at]
        self.at += 1
        if char == "(":
            return self._open()
        if char == ")":
            if len(self.levels) == 1:
                raise ValueError("unexpected )")
            self.levels.pop()
            self.out.append(")" * (len(level.opened) + 1))
            self.levels[-1].group.alternatives[-1].append(level.group)
            return True
        if char == "|":
            self.out.append(")" * len(level.opened) + "|" + "".join(level.opened))
            level.group.alternatives.append([])
            return False
        if char == "\\":
            if not self._escape():
                return False
        elif char == "[":
            self._class()
        elif char == ".":
            self.out.append(f"[^{'' if level.dotall else chr(92) + 'n'}{_NO_BYTE}]")
        elif char == "$":
            self.out.append("(?m:$)" if level.multiline else r"\Z")
        elif char == "^":
            self.out.append("(?m:^)" if level.multiline else r"\A")
        else:
            self.out.append(re.escape(char))
        level.group.alternatives[-1].append(_PLACE if self.out[-1] in _PLACES else _ONCE)
        return True

    def _open(self) -> bool:
        flags = _FLAGS.match(self.rest, self.at - 1)
        if flags is None:
            named = re.compile(r"\?P?<(\w+)>").match(self.rest, self.at)
            if named is None and self.rest.startswith("?", self.at):
                raise ValueError(f"invalid perl operator: {self.rest[self.at - 1 : self.at + 2]!r}")
            self._enter("(" if named is None else f"(?P<{named.group(1)}>")
            self.at = self.at if named is None else named.end()
            return False
        on, off, end = flags.group(1), flags.group(2) or "", flags.group(3)
        if "U" in on or "U" in off:
            raise UnimplementedError("A pattern with the flag U (ungreedy) is not supported; write *? and +?.")
        self.at = flags.end()
        # Python is told only of `i`; what the others change is translated.
        text = "(?i:" if "i" in on else "(?-i:" if "i" in off else "(?:"
        if end == ":":
            self._enter(text)
        else:
            self.levels[-1].opened.append(text)
            self.out.append(text)
        level = self.levels[-1]
        level.multiline = (level.multiline or "m" in on) and "m" not in off
        level.dotall = (level.dotall or "s" in on) and "s" not in off
        return False

    def _enter(self, text: str) -> None:
        if len(self.levels) > _DEEPEST:
            raise UnimplementedError(
                f"A pattern with groups that are nested more than {_DEEPEST} times is not supported."
            )
        self.out.append(text)
        self.levels.append(_Level(self.levels[-1].multiline, self.levels[-1].dotall))

    def _escape(self) -> bool:
        if self.at == len(self.rest):
            raise ValueError("trailing \\")
        char = self.rest[self.at]
        if char == "Q":
            end = self.rest.find("\\E", self.at)
            quoted = self.rest[self.at + 1 : end if end >= 0 else None]
            self.out.append(re.escape(quoted))
            self.at = len(self.rest) if end < 0 else end + 2
            return bool(quoted)
        if char in "AzbB":
            self.at += 1
            self.out.append({"A": r"\A", "z": r"\Z", "b": _BOUNDARY, "B": _INSIDE}[char])
        else:
            text, single = self._character()
            self.out.append(text if single else f"[{text}]")
        return True

    def _character(self) -> tuple[str, bool]:
        """The character that follows a backslash, in a class or outside, and whether it is one character."""
        char = self.rest[self.at]
        self.at += 1
        if char in _CLASSES:
            return _CLASSES[char], False
        if char in "pPC":
            raise UnimplementedError(
                f"A pattern with \\{char} is not supported.", hint="Name the characters: [a-zäöü]."
            )
        if char in "afnrtv":
            return f"\\{char}", True
        if match := _HEX.match(self.rest, self.at - 1):
            self.at = match.end()
            return re.escape(chr(int(match.group(1) or match.group(2), 16))), True
        if match := re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}").match(self.rest, self.at - 1):
            self.at = match.end()
            return re.escape(chr(int(match.group(), 8))), True
        if char.isascii() and (char.isalnum() or char == "_"):
            raise ValueError(f"invalid escape sequence: \\{char}")
        return re.escape(char), True

    def _class(self) -> None:
        parts: list[str] = []
        negated = self.rest.startswith("^", self.at)
        self.at += negated
        first = self.at
        while True:
            if self.at >= len(self.rest):
                raise ValueError("missing ]")
            char = self.rest[self.at]
            if char == "]" and self.at > first:
                break
            posix = re.compile(r"\[:(\^?)(\w+):\]").match(self.rest, self.at)
            if posix is not None:
                if posix.group(2) not in _POSIX:
                    raise ValueError(f"invalid character class range: {posix.group()!r}")
                members = _POSIX[posix.group(2)]
                parts.append(_complement(members) if posix.group(1) else members)
                self.at = posix.end()
                continue
            self.at += 1
            if char == "\\":
                if self.at == len(self.rest):
                    raise ValueError("missing ]")
                parts.append(self._character()[0])
            else:
                parts.append(char if char == "-" else re.escape(char))
        self.at += 1
        self.out.append(f"[{'^' + _NO_BYTE if negated else ''}{''.join(parts)}]")


def _complement(members: str) -> str:
    """A class of ASCII's without `members`, and all that is beyond ASCII."""
    inside = re.compile(f"[{members}]")
    others = "".join(re.escape(chr(i)) for i in range(128) if not inside.match(chr(i)))
    return rf"{others}\x80-{_LAST}"


def translate(pattern: str) -> tuple[re.Pattern[str], Group]:
    """Python's pattern for a pattern of RE2, and the parts of it that may match in several ways.

    Raises:
        ValueError: RE2 takes no such pattern.
        UnimplementedError: RE2 takes it, and this does not.
    """
    translation = _Translation(pattern)
    return re.compile(translation.run()), translation.levels[0].group
