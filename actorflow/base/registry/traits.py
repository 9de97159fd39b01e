"""Traits that stand at a kernel: `Gpu`, the rights of a device with memory of its own, and `Loop`, the kernel element by element.

A kernel for every device serves such a device too, on two conditions. It computes with `xp` alone, by functions that numpy and
CuPy share, and it never looks at a value that the device is to compute. Its trait says that it does. A kernel without a trait
is the CPU's, and soft placement puts its nodes there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from actorflow.base.dtypes import DType


@dataclass(frozen=True, slots=True)
class Gpu:
    """The demands of a kernel on a device with memory of its own, and its permissions.

    `host` are the positions of inputs that the kernel looks at before it launches anything, such as the shape that a tensor
    gets. These inputs are taken from host memory, and negative positions count from the last input. `anywhere` says that the
    kernel hands its inputs on, or looks at their shapes, and takes them wherever they are. `follows` says that the host
    computes it where all inputs are small and in host memory, as shapes and rates are. `recorded` says that its launches may be
    recorded and replayed. Such a kernel launches the same for inputs of the same types and shapes, looks at nothing else, and
    makes no array of values of the host. `apart` says that it has one output at most and calls a library that can't be
    recorded; its launches may be repeated.
    """

    host: tuple[int, ...] = ()
    anywhere: bool = False
    follows: bool = False
    recorded: bool = False
    apart: bool = False

    def host_inputs(self, count: int) -> frozenset[int]:
        """The positions of the host inputs of a node with `count` inputs."""
        return frozenset(p % count for p in self.host if count)

    @property
    def may_be_recorded(self) -> bool:
        """Whether its launches may be replayed."""
        return self.recorded or self.apart


LAUNCHED = Gpu()
"""The kernel only launches work."""
HANDS_ON = Gpu(anywhere=True)
ELEMENTWISE = Gpu(follows=True, recorded=True)
RECORDED = Gpu(recorded=True)
APART = Gpu(apart=True)


@dataclass(frozen=True, slots=True)
class Loop:
    """The computation of an elementwise kernel for one element, from which compilers make loops over several ops.

    The loop gives the kernel's bits: it does the same operations in the same order.

    Args:
        lower: `lower(attrs, *values)` writes it: `attrs` are the node's, each value is an
            `actorflow.engine.runtime.codegen.jit_recipe.RecipeValue` of an input, and the result is one of the output, or None
            where these attributes or types have no loop.
        types: the element types of the first input that it takes.
        calls: the functions that it calls, such as "exp". A compiler without all of these leaves the op to its kernel.
        broadcasts: whether inputs are broadcast. If not, all that are no scalars have the output's shape.
    """

    lower: Callable[..., Any]
    types: frozenset[DType]
    calls: tuple[str, ...] = ()
    broadcasts: bool = True


@dataclass(frozen=True, slots=True)
class Direct:
    """Functions that a tape may call in the place of a kernel on numpy's arrays, with the inputs by position and without `xp`.

    The results are the kernel's, bit for bit.

    Args:
        fresh: `fresh(*inputs)` makes the memory of the result itself; the kernel is called if this is None.
        into: `into(*inputs, out)` fills a buffer; the kernel is called if this is None.
        reads: the positions of the inputs that the functions take; all of them, in order, if this is None.
        passes_on: the result is the first input: nothing is called.
    """

    fresh: Callable[..., Any] | None = None
    into: Callable[..., Any] | None = None
    reads: tuple[int, ...] | None = None
    passes_on: bool = False


PASSES_ON = Direct(passes_on=True)
