"""The tokens that travel along an edge: a value, or DEAD for what an untaken branch would have given (paper section 4.4)."""

from __future__ import annotations

from typing import Any, Final


class _Dead:
    """The one dead token."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "DEAD"

    def __reduce__(self) -> Any:
        return "DEAD"


DEAD: Final = _Dead()


class _Empty:
    """The content of a channel that nothing has filled yet."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "EMPTY"


EMPTY: Final = _Empty()
