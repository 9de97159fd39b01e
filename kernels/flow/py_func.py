"""Kernels that call functions of Python: what goes in, what comes out, and what their errors stand for."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.base.process import machine
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import StepHandle
from actorflow.errors import (
    InvalidArgumentError,
    OpError,
)
from actorflow.graph.convert import host_array
from actorflow.graph.ops.flow.py_func import FunctionRecord, PythonFunction, function_of, raised


@kernel("PyFunc", "PyFuncStateless", device="CPU", threaded=True)
async def py_func(xp: Any, inputs: Any, *, token: str, Tout: tuple[DType, ...], step: StepHandle) -> Any:
    function = function_of(token)
    return _results(function, await _called(function, inputs, step), Tout)


@kernel("EagerPyFunc", device="CPU", threaded=True)
async def eager_py_func(xp: Any, inputs: Any, *, token: str, Tout: tuple[DType, ...], step: StepHandle) -> Any:
    function = function_of(token)
    values, record = await _called(function, inputs, step)
    results = _results(function, values, Tout)
    return (*(results if len(Tout) > 1 else [results] if Tout else []), record) if Tout else record


@kernel("EagerPyFuncGrad", device="CPU", threaded=True)
async def eager_py_func_grad(
    xp: Any, record: FunctionRecord, seeds: Any, *, places: Any, shapes: Any, Tout: tuple[DType, ...], step: StepHandle
) -> Any:
    gradients = PythonFunction(partial(record.gradients, places), f"{record.name} (its gradient)")
    return _results(gradients, await _called(gradients, [seeds], step), Tout)


async def _called(function: PythonFunction, inputs: Sequence[Any], step: StepHandle) -> Any:
    arguments = [_given(value) for value in inputs]
    what = (
        f"awaits the function {function.name}"
        if function.is_async
        else f"calls the function {function.name} on a thread"
    )
    try:
        with step.waits_for(what):
            if function.is_async or getattr(step, "at_once", False):
                result = function.call(*arguments)
            else:
                result, error = await machine.on_own_thread(_outcome, function, arguments)
                if error is not None:
                    raise error
            if inspect.isawaitable(result):
                with step.waits():
                    result = await result
    except OpError:
        raise
    except Exception as error:
        raise raised(function, error) from error
    return result


def _outcome(function: PythonFunction, arguments: Sequence[Any]) -> tuple[Any, Exception | None]:
    """The result and the error of the function: a StopIteration can't leave a thread otherwise."""
    try:
        return function.call(*arguments), None
    except Exception as error:
        return None, error


def _given(value: Any) -> Any:
    """A value as a function of Python gets it: others may hold the same array, so it can't be written to."""
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 0:
        return value[()]
    view = value.view()
    view.flags.writeable = False
    return view


def _results(function: PythonFunction, result: Any, types: tuple[DType, ...]) -> Any:
    values: Sequence[Any] = (
        [] if result is None and not types else result if isinstance(result, (list, tuple)) else [result]
    )
    if len(values) != len(types):
        raise InvalidArgumentError(
            f"The function {function.name} returned {_values(len(values))}, but Tout states {_values(len(types))}."
        )
    results = tuple([_result(function, i, value, dtype) for i, (value, dtype) in enumerate(zip(values, types))])
    return None if not results else results[0] if len(results) == 1 else results


def _values(count: int) -> str:
    return f"{count} value{'' if count == 1 else 's'}"


def _result(function: PythonFunction, number: int, value: Any, dtype: DType) -> Any:
    """A copy: the function may change its array later, or have given one of its inputs."""
    who = f"Value {number} of the function {function.name}"
    try:
        source = value if dtype is dtypes.string else host_array(value)
        array = np.array(source, dtype=object if dtype is dtypes.string else None, order="C")
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise InvalidArgumentError(f"{who} is no tensor: {error}") from None
    if dtype is dtypes.string:
        array = _bytes(array, who)
    elif array.dtype != dtype.numpy_dtype:
        kinds = {"S": "string", "U": "string", "O": f"{type(value).__name__}, which is no tensor"}
        scalar = f"np.{dtype.name}" if hasattr(np, dtype.name) else f"af.{dtype.name}.numpy_dtype"
        raise InvalidArgumentError(
            f"{who} is of type {kinds.get(array.dtype.kind, array.dtype)}, but Tout states {dtype}.",
            hint=f"Return np.asarray(value, {scalar}).",
        )
    return array if array.ndim else array[()]


def _bytes(array: Any, who: str) -> Any:
    """The same with each text as bytes."""
    for i, item in enumerate(array.flat):
        if isinstance(item, str):
            array.flat[i] = item.encode()
        elif not isinstance(item, bytes):
            raise InvalidArgumentError(f"{who} holds a {type(item).__name__}, but Tout states string.")
    return array
