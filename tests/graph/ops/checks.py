"""The checks that a row of the table gets, except that of its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph.ops.harness import KNOWLEDGE, Built, Knowledge, Runner, compare, run
from graph.ops.table import Case, Literal, Reject
from interpreter import arguments

from actorflow import errors
from actorflow.base import shapes
from actorflow.base.dtypes import DType, as_dtype
from actorflow.base.registry import kernel
from actorflow.graph.autodiff.gradients import gradients
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor


def _relaid(array: Any, known: Knowledge) -> Any:
    """An equal array laid out otherwise: with negative strides, in Fortran's order, or as it is."""
    if np.ndim(array) == 0 or known == "shape":
        return array
    if known == "rank":
        return np.array(array, order="F", copy=True)
    flipped = (slice(None, None, -1),) * np.ndim(array)
    return np.ascontiguousarray(array[flipped])[flipped]


def _widened(array: Any) -> Any:
    dtype = as_dtype(np.asarray(array).dtype)
    if dtype.is_floating or dtype.is_complex:
        return np.asarray(array).astype(np.complex128 if dtype.is_complex else np.float64)
    return np.array(array)


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def check_values(case: Case, dtype: DType, seed: int) -> None:
    """Values, types and inferred shapes, with inputs known more and less and laid out in memory in several ways."""
    for number, (what, arrays, drawn) in enumerate(case.examples(dtype, seed)):
        expected: tuple[Any, ...] | None = None
        if case.reference is not None:
            expected = _tuple(case.reference(*([np.array(a) for a in arrays] if case.exact else map(_widened, arrays))))
        for mode, known in enumerate(KNOWLEDGE):
            given = [_relaid(a, known) for a in arrays]
            built = Built(case.build, given, known, [not d for d in drawn])
            # By turns, because a session takes five times as long, most of it to plan.
            by: Runner = "session" if (number + 3 * mode) % 7 == 0 else "interpreter"
            message = f"{what}, known: {known}, by {by} (ACTORFLOW_TEST_SEED={seed})"
            values = built.run(by)
            assert all(a.tobytes() == np.asarray(b).tobytes() for a, b in zip(arrays, given)), (
                f"{message} changes a feed"
            )
            assert expected is None or len(expected) == len(values), message
            for index, (tensor, value) in enumerate(zip(built.outputs, values, strict=True)):
                _check_inferred(message, tensor, value, known == "shape" and case.static)
                if expected is not None:
                    compare(message, value, expected[index], tensor.dtype, case.loose)


def _check_inferred(message: str, tensor: Tensor, value: Any, fully: bool) -> None:
    inferred, actual = tensor.static_shape, np.shape(value)
    assert shapes.compatible(inferred, actual), f"{message}: inferred {shapes.show(inferred)}, the value has {actual}"
    assert not fully or inferred == actual, f"{message}: the shape is inferred as {shapes.show(inferred)} only"
    assert isinstance(value, bytes) or value.dtype == tensor.dtype.numpy_dtype, (
        f"{message}: inferred {tensor.dtype}, the value is {value.dtype}"
    )


def check_kernels(case: Case, dtype: DType, seed: int) -> None:
    """Kernels leave their inputs alone, give fresh memory unless they are views, take scalars, and fill `out`."""
    for what, arrays, drawn in case.examples(dtype, seed):
        built = Built(case.build, arrays, "shape", [not d for d in drawn])
        tensors = [t for operation in built.graph.get_operations() for t in operation.outputs]
        # By the interpreter, which keeps each node and its value as they are.
        values = dict(zip(tensors, run(built.graph, tensors, built.feeds, by="interpreter"), strict=True))
        for operation in built.graph.get_operations():
            entry = kernel.lookup(operation.type, "CPU", [t.dtype for t in operation.outputs])
            if operation.definition.stateful or entry.takes_context or entry.is_async or operation.type == "Const":
                continue
            message = f"{what}, kernel of {operation.type} (ACTORFLOW_TEST_SEED={seed})"
            with np.errstate(all="ignore"):
                _check_kernel(message, operation, entry, [values[t] for t in operation.inputs])


def _check_kernel(message: str, operation: Operation, entry: kernel.KernelDef, inputs: list[Any]) -> None:
    frozen, copies = [np.array(v) for v in inputs], [np.array(v) for v in inputs]
    for array in frozen:
        array.flags.writeable = False
    # A byte string of rank 0 stays an array of objects.
    scalars = [a[()] if a.ndim == 0 and not a.dtype.hasobject else a for a in frozen]
    keywords = {name: operation.attrs[name] for name in entry.attrs}
    results: list[tuple[Any, ...]] = []
    for given in (frozen, scalars):
        result = entry.function(np, *arguments(operation.definition, given), **keywords)
        results.append(result if len(operation.outputs) > 1 else (result,))
        for before, after in zip(copies, frozen, strict=True):
            # By their bytes, because a NaN differs from itself.
            assert before.tobytes() == after.tobytes(), f"{message} changes its input"
        for tensor, value in zip(operation.outputs, results[-1], strict=True):
            compare(message, value, results[0][tensor.value_index], tensor.dtype)
            if not operation.definition.view and isinstance(value, np.ndarray) and value.ndim:
                shared = any(np.may_share_memory(value, array) for array in frozen)
                assert not shared, f"{message} gives a view of its input, but the op is not declared as `view`"
    if entry.takes_out:
        expected, tensor = results[0][0], operation.outputs[0]
        buffer = np.full(np.shape(expected), 77, tensor.dtype.numpy_dtype)
        filled = entry.function(np, *arguments(operation.definition, frozen), out=buffer, **keywords)
        compare(f"{message} with out", filled, expected, tensor.dtype)
        compare(f"{message} with out: the buffer", buffer, expected, tensor.dtype)
        assert filled is buffer or np.shares_memory(filled, buffer) or not buffer.size, f"{message} does not return out"


def check_literals(case: Case) -> None:
    """TensorFlow's own answers."""
    for literal in (case.literal, *case.special):
        arrays = _given(case, literal)
        for known in KNOWLEDGE:
            built = Built(case.build, arrays, known, [isinstance(v, np.ndarray) for v in literal.inputs])
            outputs = literal.output if isinstance(literal.output, tuple) else (literal.output,)
            values = built.run("session" if known == "shape" else "interpreter")
            for tensor, value, expected in zip(built.outputs, values, outputs, strict=True):
                message = f"{case.id}{literal.inputs}, known: {known}"
                if isinstance(expected, np.ndarray):
                    assert tensor.dtype is as_dtype(expected.dtype), f"{message}: {tensor.dtype}"
                if tensor.dtype.kind == "S":
                    expected = np.asarray(expected, object)
                compare(message, value, expected, tensor.dtype, case.loose)


def check_slopes(case: Case) -> None:
    """TensorFlow's own gradients."""
    for literal in case.slopes:
        arrays = _given(case, literal)
        built = Built(case.build, arrays, "shape", [isinstance(v, np.ndarray) for v in literal.inputs])
        found = gradients(built.outputs, built.inputs)
        expected = literal.output if isinstance(literal.output, tuple) else (literal.output,)
        values = iter(run(built.graph, [g for g in found if g is not None], built.feeds))
        for gradient, wanted in zip(found, expected, strict=True):
            message = f"{case.id}: gradient at {literal.inputs}"
            assert (gradient is None) == (wanted is None), f"{message} is {gradient}"
            if gradient is not None:
                compare(message, next(values), wanted, gradient.dtype, case.loose)


def _given(case: Case, literal: Literal | Reject) -> list[Any]:
    """The arrays of a hand-written input."""
    names = case.dtypes.split()
    dtype = as_dtype(literal.dtype or ("float32" if "float32" in names else names[0]))
    kind = dtype.numpy_dtype
    return [v if isinstance(v, (np.ndarray, np.generic)) else np.asarray(v, kind) for v in literal.inputs]


def check_reject(case: Case, reject: Reject) -> None:
    """The refusals of TensorFlow, with the class of error that it gives: as the graph is built, or in the run."""
    arrays = _given(case, reject)
    build = reject.build or case.build
    fixed = [isinstance(v, np.ndarray) for v in reject.inputs]
    for error in reject.errors:
        if not issubclass(error, errors.OpError):
            with pytest.raises(error, match=reject.match or None):
                Built(build, arrays, "shape", fixed)
            continue
        built = Built(build, arrays, "nothing", fixed)
        with pytest.raises(error, match=reject.match or None):
            built.run()


def check_round_trip(case: Case) -> None:
    """The graph in msgpack and back is the same graph, with the same results."""
    what, arrays, drawn = next(case.examples(case.types()[0], 0))
    built = Built(case.build, arrays, "shape", [not d for d in drawn])
    copy = Graph.from_bytes(built.graph.to_bytes())
    assert str(copy) == str(built.graph), what
    for name, node in built.graph.nodes.items():
        twin = copy.nodes[name]
        assert (twin.dtypes, twin.shapes, twin.attrs.keys()) == (node.dtypes, node.shapes, node.attrs.keys()), what
    feeds = {copy.get_tensor_by_name(t.name): v for t, v in built.feeds.items()}
    values = run(copy, [copy.get_tensor_by_name(t.name) for t in built.outputs], feeds)
    if case.reference is not None:
        for first, second in zip(built.run(), values, strict=True):
            np.testing.assert_array_equal(first, second, err_msg=what)
