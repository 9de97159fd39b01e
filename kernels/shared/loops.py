"""Loops of elementwise kernels in short form: one operation, or one call of a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.base.dtypes import FLOATING, DType
from actorflow.base.registry.traits import Loop
from actorflow.engine.runtime.codegen.jit_recipe import RecipeValue


def of(function: str, types: frozenset[DType]) -> Loop:
    """One operation of `UNARY` or `BINARY` on inputs of these types."""

    def lower(attrs: Mapping[str, Any], x: RecipeValue, *others: RecipeValue) -> RecipeValue:
        return x.apply(function, *others)

    return Loop(lower, types)


def calls(function: str) -> Loop:
    """One call of a function of floats, such as "exp"."""
    return Loop(lambda attrs, x: x.apply(function), FLOATING, calls=(function,))
