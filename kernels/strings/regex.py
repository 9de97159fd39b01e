"""Regular expressions of strings, matched by RE2 (the extra `strings`) or, without that, by Python's `re`.

RE2's time is linear in the text, whatever the pattern, and other threads go on meanwhile. `re` backtracks, and holds the
interpreter: a pattern that a client of a cluster sent could stop a worker forever, its event loop too. So without RE2, a string
is refused over which a pattern might take more than `MOST_STEPS`.

A call of RE2 from Python takes microseconds for each match. So `re` also takes what it can't take long over: ASCII, up to
`QUICK_STEPS`, and patterns whose matches are never empty.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, AnyStr, Protocol

from actorflow.errors import UnimplementedError

from .re_syntax import Group, translate

MOST_STEPS = 1_000_000_000
"""The number of steps of backtracking that Python's `re` may take over one string: about a second at the worst."""


QUICK_STEPS = 1 << 20
"""The number of steps of backtracking that `re` may take over a string where RE2 is there: a millisecond at the worst."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    r"""The text that a match becomes: bytes, and the numbers of groups that stand there.

    Example:
        >>> import re
        >>> from actorflow.kernels.strings.regex import Rewrite
        >>> Rewrite((b"<", 1, b">"))(re.match(b"a(b)", b"ab"))
        b'<b>'
    """

    parts: tuple[bytes | int, ...]

    @property
    def is_text(self) -> bool:
        """Whether it is the same for all matches: no group stands in it."""
        return all(isinstance(part, bytes) for part in self.parts)

    def __call__(self, match: Any) -> bytes:
        return b"".join(part if isinstance(part, bytes) else _as_bytes(match.group(part)) for part in self.parts)

    def for_text(self) -> str | Callable[[re.Match[str]], str]:
        """The argument of `sub` for it: a template where no group stands, which is quicker than a function."""
        if not self.is_text:
            return lambda match: self(match).decode("utf-8", "surrogateescape")
        return self(None).decode("utf-8", "surrogateescape").replace("\\", "\\\\")


class Pattern(Protocol):
    """A pattern, in RE2's syntax, that is compiled."""

    groups: int

    def fits(self, value: bytes) -> bool:
        """Whether all of `value` matches."""

    def replaced(self, value: bytes, rewrite: Rewrite, once: bool) -> bytes:
        """`value` with its matches, or the first match, rewritten."""


class Re2Pattern:
    """A pattern for RE2."""

    def __init__(self, re2: Any, pattern: bytes) -> None:
        options = re2.Options()
        options.log_errors = False
        try:
            self._pattern = re2.compile(pattern, options)
        except re2.error as error:
            reason = error.args[0] if error.args else error
            raise ValueError(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from None
        self.groups: int = self._pattern.groups
        self._quick = _quick(pattern)

    def fits(self, value: bytes) -> bool:
        quick = self._quick
        if quick is not None and value.isascii() and quick.is_quick(len(value)):
            return quick.pattern.fullmatch(value.decode("ascii")) is not None
        return self._pattern.fullmatch(value) is not None

    def replaced(self, value: bytes, rewrite: Rewrite, once: bool) -> bytes:
        quick = self._quick
        if quick is not None and value.isascii() and quick.is_quick(len(value)):
            text = quick.pattern.sub(rewrite.for_text(), value.decode("ascii"), count=int(once))
            return text.encode("utf-8", "surrogateescape")
        return _replaced(self._pattern.search, value, rewrite, once)


class _Quick:
    """A pattern of Python's `re` that stands in for RE2's over short strings."""

    def __init__(self, pattern: re.Pattern[str], parts: Group) -> None:
        self.pattern, self._parts = pattern, parts
        self._longest, self._too_long = 0, 1 << 62

    def is_quick(self, size: int) -> bool:
        """Whether each string of `size` characters is matched within `QUICK_STEPS`."""
        if size <= self._longest:
            return True
        if size >= self._too_long:
            return False
        if self._parts.work(size).steps * size > QUICK_STEPS:
            self._too_long = size
            return False
        self._longest = size
        return True


def _quick(pattern: bytes) -> _Quick | None:
    """The pattern for `re`, if that takes it and matches of it are never empty."""
    try:
        translated, parts = translate(pattern.decode())
    except (ValueError, re.error, UnimplementedError):
        return None
    return _Quick(translated, parts) if parts.least_width() else None


class BacktrackingPattern:
    """A pattern for Python's `re`. It works on text, in which a byte that is not UTF-8 is a lone surrogate."""

    def __init__(self, pattern: bytes) -> None:
        try:
            self._pattern, self._parts = translate(pattern.decode())
        except re.error as error:
            raise ValueError(str(error)) from None
        self._name = pattern
        self.groups = self._pattern.groups
        self._longest = {False: 0, True: 0}
        """The most characters over which the pattern is known to be quick, from one place and from all."""

    def fits(self, value: bytes) -> bool:
        return self._pattern.fullmatch(self._checked(value, False)) is not None

    def replaced(self, value: bytes, rewrite: Rewrite, once: bool) -> bytes:
        text = self._checked(value, True)

        def rewritten(match: re.Match[str]) -> str:
            return rewrite(match).decode("utf-8", "surrogateescape")

        return _replaced(self._pattern.search, text, rewritten, once).encode("utf-8", "surrogateescape")

    def _checked(self, value: bytes, starts: bool) -> str:
        """The text of `value`. `starts` says whether a match may start at each character of it."""
        text = value.decode("utf-8", "surrogateescape")
        size = len(text)
        if size > self._longest[starts]:
            work = self._parts.work(size)
            if work.ways > 1 and work.steps * (size if starts else 1) > MOST_STEPS:
                raise UnimplementedError(
                    f"Python's re might match the pattern {self._name.decode(errors='replace')!r} for very long over a string of "
                    f"{size:,} characters.",
                    hint="pip install 'actorflow[strings]' brings RE2, which takes any pattern in linear time.",
                )
            self._longest[starts] = size
        return text


def _replaced(
    search: Callable[[AnyStr, int], Any], value: AnyStr, rewrite: Callable[[Any], AnyStr], once: bool
) -> AnyStr:
    """As RE2's GlobalReplace and Replace do: a match of nothing does not follow another match."""
    pieces: list[AnyStr] = []
    at, end, copied = 0, -1, 0
    while at <= len(value) and (match := search(value, at)) is not None:
        begin, after = match.span()
        if begin == after == end:
            at = _behind_character(value, at)
            continue
        pieces += [value[copied:begin], rewrite(match)]
        at = end = copied = after
        if once:
            break
    pieces.append(value[copied:])
    return value[:0].join(pieces)


def _behind_character(value: bytes | str, at: int) -> int:
    """The place behind the character that begins at `at`; behind the byte where that begins none."""
    if isinstance(value, bytes):
        for size in range(1, 5):
            with suppress(UnicodeDecodeError):
                if value[at : at + size].decode():
                    return at + size
    return at + 1


@functools.lru_cache(maxsize=256)
def compiled(pattern: bytes) -> Pattern:
    """The pattern, for RE2 where that is installed.

    Raises:
        ValueError: RE2 takes no such pattern.
        UnimplementedError: RE2 takes it, and is not installed, and this does not take it without.
    """
    re2 = _library()
    try:
        return BacktrackingPattern(pattern) if re2 is None else Re2Pattern(re2, pattern)
    except ValueError as error:
        raise ValueError(f"Invalid pattern: {pattern.decode(errors='replace')}, error: {error}") from None


@functools.cache
def _library() -> Any:
    try:
        import re2
    except ImportError:
        return None
    return re2


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """A class of characters that is a whole pattern, or, with `runs`, that is repeated. `members` has a byte for each character
    of ASCII, 1 for a member."""

    members: bytes
    runs: bool


_CLASS = re.compile(
    rb"(\[\^?(?:\[:\^?[a-z]+:\]|\\[^pPQECxb0-9]|[^]\\[])+\]|\\[dswDSW\W]|[^][\\.^$|?*+(){}])(\+?)", re.DOTALL
)


@functools.lru_cache(maxsize=256)
def class_of(pattern: bytes) -> CharacterClass | None:
    """The class of which `pattern` consists, if it is no more than a class, a character or a run of these.

    Example:
        >>> from actorflow.kernels.strings.regex import class_of
        >>> class_of(b"[ab]+").members.count(1), class_of(b"[ab]+").runs
        (2, True)
    """
    match = _CLASS.fullmatch(pattern)
    if match is None or not pattern.isascii():
        return None
    try:
        character = compiled(match[1])
    except (ValueError, UnimplementedError):
        return None
    return CharacterClass(bytes(character.fits(bytes([code])) for code in range(128)), bool(match[2]))


_LITERAL = re.compile(rb"[\x20-\x7e]+")


def is_literal(pattern: bytes) -> bool:
    """Whether a pattern matches itself alone: it has only characters of ASCII without a special meaning."""
    return _LITERAL.fullmatch(pattern) is not None and not set(rb"\.^$|?*+()[]{}") & set(pattern)


def rewriter(rewrite: bytes, pattern: Pattern) -> Rewrite:
    r"""The function that makes of a match the text of a rewrite with `\0` to `\9`. Raises ValueError for a number of no group
    of `pattern`."""
    parts: list[bytes | int] = []
    for piece in re.findall(rb"\\.?|[^\\]+", rewrite, re.DOTALL):
        if piece[:1] != b"\\":
            parts.append(piece)
        elif piece == b"\\\\":
            parts.append(b"\\")
        elif piece[1:].isdigit() and int(piece[1:]) <= pattern.groups:
            parts.append(int(piece[1:]))
        else:
            raise ValueError(f"The rewrite {rewrite!r} has {piece!r}, but the pattern has {pattern.groups} groups.")
    return Rewrite(tuple(parts))


def _as_bytes(text: bytes | str | None) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text or b""
