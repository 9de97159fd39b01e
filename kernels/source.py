"""Kernels of sources: constants and placeholders."""

from __future__ import annotations

from typing import Any

from actorflow.errors import InvalidArgumentError
from actorflow.registry.kernel import kernel
from actorflow.shapes import show


@kernel("Const")
def const(xp: Any, *, value: Any) -> Any:
    return xp.asarray(value)


@kernel("Placeholder")
def placeholder(xp: Any, *, dtype: Any, shape: Any) -> Any:
    raise InvalidArgumentError(
        f"The placeholder needs a value of type {dtype} and shape {show(shape)}, but the run does not feed it.",
        hint="Add it to the feeds: session.run(fetches, {placeholder: value}).",
    )
