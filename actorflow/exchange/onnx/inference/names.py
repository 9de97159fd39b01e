"""The name that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: object, names: Iterable[str]) -> str:
    """A sentence for the end of an error, with the name that is most like `name`; empty where none is."""
    near = difflib.get_close_matches(str(name), list(names), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
