"""Kernels of variables. No two of them run at the same time for one variable, so a read-modify-write is atomic."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import HANDS_ON, RECORDED, Direct, Gpu
from actorflow.base.shapes import Shape
from actorflow.engine.runtime.context import KernelContext
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.errors import InvalidArgumentError


@kernel("VariableV2", gpu=Gpu(anywhere=True, recorded=True))
def variable(
    xp: Any, *, shape: Shape, dtype: DType, container: str, shared_name: str, ctx: KernelContext
) -> VariableState:
    return ctx.place.resource or _found(shape, dtype, container, shared_name, ctx)


def _found(shape: Shape, dtype: DType, container: str, shared_name: str, ctx: KernelContext) -> VariableState:
    """The variable by its name. From then on the context of its node knows the place: a step of a small net reads dozens."""
    name = shared_name or ctx.node.name
    make = getattr(ctx.device, "variable", VariableState)
    state = ctx.resources.lookup_or_create(
        container, name, VariableState, lambda: make(name, dtype, shape, ctx.device.allocator)
    )
    if not container:
        ctx.place = ctx.resources.place(VariableState, name)
    return state


@kernel("ReadVariableOp", gpu=Gpu(anywhere=True, recorded=True), direct=Direct(operator.methodcaller("read")))
def read(xp: Any, ref: VariableState) -> Any:
    return ref.read()


@kernel("IsVariableInitialized", gpu=HANDS_ON)
def is_initialized(xp: Any, ref: VariableState) -> Any:
    return np.bool_(ref.initialized)


def _require_variable(ref: Any) -> None:
    """Raises InvalidArgumentError for a value, as in a graph whose variables were made constants."""
    if not isinstance(ref, VariableState):
        raise InvalidArgumentError(
            "The first input of the assignment is a value, and not a variable: a constant can't be assigned.",
            hint="A frozen graph has constants for its variables: leave out the nodes that update them.",
        )


@kernel("AssignVariableOp", gpu=RECORDED)
def assign(xp: Any, ref: VariableState, value: Any) -> None:
    _require_variable(ref)
    ref.assign(value)


@kernel("Assign", gpu=RECORDED)
def assign_and_read(xp: Any, ref: VariableState, value: Any, *, validate_shape: bool) -> Any:
    _require_variable(ref)
    if not validate_shape:
        ref.shape = None  # from now on it takes any
    ref.assign(value)
    return ref.read()


def _update(ref: VariableState, function: Any, value: Any) -> None:
    _require_variable(ref)
    ref.check_shape(value.shape)
    buffer = ref.writable()
    function(buffer, value, out=buffer)


@kernel("AssignAddVariableOp", gpu=RECORDED)
def assign_add(xp: Any, ref: VariableState, value: Any) -> None:
    _update(ref, xp.add, value)


@kernel("AssignAdd", gpu=RECORDED)
def assign_add_and_read(xp: Any, ref: VariableState, value: Any) -> Any:
    _update(ref, xp.add, value)
    return ref.read()


@kernel("AssignSubVariableOp", gpu=RECORDED)
def assign_sub(xp: Any, ref: VariableState, value: Any) -> None:
    _update(ref, xp.subtract, value)


@kernel("AssignSub", gpu=RECORDED)
def assign_sub_and_read(xp: Any, ref: VariableState, value: Any) -> Any:
    _update(ref, xp.subtract, value)
    return ref.read()


@kernel("AssignMulVariableOp", gpu=RECORDED)
def assign_mul(xp: Any, ref: VariableState, value: Any) -> None:
    _update(ref, xp.multiply, value)


@kernel("AssignMul", gpu=RECORDED)
def assign_mul_and_read(xp: Any, ref: VariableState, value: Any) -> Any:
    _update(ref, xp.multiply, value)
    return ref.read()
