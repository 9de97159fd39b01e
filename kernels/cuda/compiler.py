"""Groups of elementwise nodes as one kernel of a GPU: what the runtime asks for them
(`actorflow.runtime.codegen.codegen.jit.LaunchCompiler`).

The rules are those of the CPU's compiled loops, but for functions such as the exponential, which are CUDA's here. A group has the
bits that its nodes' own kernels give on the GPU: each operation rounds by itself. From the CPU's they may differ where such
functions do, by a few units in the last place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorflow.runtime.codegen.jit_recipe import Recipe, Value

from ..jit.rules import RULES as OF_LOOPS
from ..jit.rules import Rule, Ruled, Rules
from .choices import GPU
from .source import elementwise

_FLOATS = frozenset(("f4", "f8"))


def _function(name: str) -> Rule:
    return lambda given, attrs: given[0].block.unary(name, given[0])


def _sigmoid(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    (x,) = given
    return 1 / (x.block.unary("exp", x.block.unary("neg", x)) + 1)


def _elu(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    (x,) = given
    return x.block.select(x.block.binary("lt", x, 0), x.block.unary("expm1", x), x)


RULES: Rules = {
    **OF_LOOPS,
    **{op: (_FLOATS, _function(op.lower())) for op in ("Exp", "Expm1", "Log", "Log1p", "Tanh")},
    "Sigmoid": (_FLOATS, _sigmoid),
    "Elu": (_FLOATS, _elu),
}


class CudaCompiler(Ruled):
    """Makes kernels of recipes. `jit=False` of a session turns it off, as it does the CPU's compiled loops."""

    name = "jit"
    device_type = GPU
    least = 65
    """Elements: what has fewer may be in host memory, and be computed there."""

    def __init__(self) -> None:
        super().__init__(RULES)

    def available(self) -> bool:
        return True  # a GPU's array module has a compiler

    def launched(self, recipe: Recipe) -> Launched:
        return Launched(recipe)


class Launched:
    """A recipe as one kernel, for whatever shapes."""

    __slots__ = ("_name", "recipe")

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._name = f"fused_{len(recipe.body)}"

    def __call__(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        """Launches it on arrays that broadcast to the shape of all results. Results are fresh arrays of that shape."""
        results: tuple[Any, ...] = elementwise(xp, self.recipe, self._name)(*operands)
        return results
