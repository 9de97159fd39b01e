"""Changes functions of modules that are imported already, by exchanging their code. So a mutant needs no new interpreter."""

from __future__ import annotations

import gc
import inspect
from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any


class NotLive(Exception):
    """The change is not one of functions alone: it needs a new interpreter."""


def functions_by_file(files: Iterable[str]) -> dict[str, list[FunctionType]]:
    """The functions that exist now, by the files (as code objects name them) that define them."""
    wanted = frozenset(files)
    found: dict[str, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()  # what is frozen is not listed
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename in wanted:
            found[one.__code__.co_filename].append(one)
    gc.freeze()
    return found


def exchange(functions: Iterable[FunctionType], file: str, old: str, new: str) -> None:
    """Gives functions of `file` the code that they have in the source `new`, instead of `old`.

    Raises:
        NotLive: more than functions has changed, or a function has other free variables.
    """
    before, after = _codes(compile(old, file, "exec")), _codes(compile(new, file, "exec"))
    if _outside(before) != _outside(after):
        raise NotLive("code of a module or class has changed")
    places = {(code.co_qualname, code.co_firstlineno): place for place, code in _numbered(before)}
    codes = dict(_numbered(after))
    try:
        for function in functions:
            place = places.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if place is not None:
                function.__code__ = codes[place]
    except (KeyError, ValueError) as error:
        raise NotLive(str(error)) from None


def _codes(code: CodeType) -> list[CodeType]:
    """A code object and all in it."""
    return [code] + [inner for const in code.co_consts if isinstance(const, CodeType) for inner in _codes(const)]


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def _numbered(codes: list[CodeType]) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """Functions by their names, and their places among those of one name."""
    count: dict[str, int] = defaultdict(int)
    for code in codes:
        if _is_function(code):
            yield (code.co_qualname, count[code.co_qualname]), code
            count[code.co_qualname] += 1


def _outside(codes: list[CodeType]) -> list[tuple[Any, ...]]:
    """The effects of modules and classes, whatever is in their functions."""
    return [
        (
            code.co_qualname,
            code.co_code,
            code.co_names,
            [type(const) if isinstance(const, CodeType) else (type(const), repr(const)) for const in code.co_consts],
        )
        for code in codes
        if not _is_function(code)
    ]
