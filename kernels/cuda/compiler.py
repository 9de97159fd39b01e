"""Groups of elementwise nodes as one kernel of a GPU: what the runtime asks for them
(`actorflow.engine.runtime.codegen.jit.LaunchCompiler`).

The loops are those of the CPU, but for functions such as the exponential, which are CUDA's here. A group has the
bits that its nodes' own kernels give on the GPU: each operation rounds by itself. From the CPU's they may differ where such
functions do, by a few units in the last place.
"""

from __future__ import annotations

from typing import Any

from actorflow.engine.runtime.codegen.jit import ReplacedCalls
from actorflow.engine.runtime.codegen.jit_recipe import Recipe

from .choices import GPU
from .source import elementwise


class CudaCompiler:
    """Makes kernels of recipes. `jit=False` of a session turns it off, as it does the CPU's compiled loops."""

    name = "jit"
    device_type = GPU
    least = 65
    """Elements: what has fewer may be in host memory, and be computed there."""

    def available(self) -> bool:
        return True  # a GPU's array module has a compiler

    def pays(self, recipe: Recipe, elements: int, replaced: ReplacedCalls) -> bool:
        return replaced.prepared + replaced.functions > 1  # a launch for each takes longer than its elements

    def computes(self, function: str, dtype: str) -> bool:
        return True

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
