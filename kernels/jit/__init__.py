"""Loops that are made from a user's graph: elementwise members of regions, and optimizers' updates, compiled for this
machine (extra `jit`).

An elementwise kernel has its loop as a trait (`actorflow.base.registry.traits.Loop`). The runtime finds `LlvmCompiler` by its
entry point and asks it for the loops of regions (`actorflow.engine.runtime.codegen.jit`). The updates stand beside numpy's as
kernels of a library (`actorflow.base.registry.library`). Kernels that do not depend on a graph are in C (`..native`).

arrays.py     what generated code sees of numpy's array objects
blocks.py     how a recipe that calls numpy's functions becomes several loops over a block that stays in the cache
compiler.py   recipes to machine code, which the whole process shares
emit.py       from a recipe to the text of a module of LLVM
ufuncs.py     where the machine code of numpy's universal functions lies
updates.py    optimizers' dense updates as one loop each
"""

from . import updates
from .compiler import LlvmCompiler

__all__ = ["LlvmCompiler", "updates"]
