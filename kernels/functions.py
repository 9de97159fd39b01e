"""What is said where a part of a function's body is asked for outside of a call."""

from __future__ import annotations

from typing import Any

from actorflow.errors import InvalidArgumentError
from actorflow.registry.kernel import kernel


@kernel("_Arg", "_Return", "Call")
def inside(xp: Any, *values: Any, function: str) -> Any:
    raise InvalidArgumentError(
        f"This is part of the body of the function {function}, which has values in its calls only.",
        hint="Fetch what a call of the function gives.",
    )
