"""The checks that a row of the table gets. `evaluate` is the only place that knows who runs a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
import pytest
from interpreter import Interpreter, arguments
from ops.table import Case, Literal, Reject

from actorflow import errors, shapes
from actorflow.dtypes import DType, as_dtype
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor
from actorflow.ops.source import constant, placeholder
from actorflow.registry import kernel

# How the inputs enter the graph: placeholders of their shapes (fixed ones as constants), of their ranks, of no shape.
Knowledge: TypeAlias = OneOf["shape", "rank", "nothing"]
KNOWLEDGE: tuple[Knowledge, ...] = ("shape", "rank", "nothing")
TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 2e-5,
    "float64": 1e-10,
    "complex64": 2e-5,
    "complex128": 1e-10,
}
STEP = 1e-5  # of central differences at float64; their error is about STEP**2, and 1e-11 / STEP by rounding


def run(graph: Graph, fetches: Sequence[Tensor | Operation], feeds: Mapping[Tensor, Any]) -> list[Any]:
    """The values of `fetches`. Who runs the graph is decided here and nowhere else."""
    return Interpreter(graph).run(fetches, feeds)


def gradients(ys: Sequence[Tensor], xs: Sequence[Tensor], grad_ys: Sequence[Tensor]) -> list[Tensor | None]:
    return module_of_gradients().gradients(list(ys), list(xs), grad_ys=list(grad_ys))  # type: ignore[no-any-return]


def module_of_gradients() -> ModuleType:
    return pytest.importorskip("actorflow.autodiff.gradients")  # type: ignore[no-any-return]


class Built:
    """A row's op in a graph of its own, with the arrays to feed."""

    def __init__(
        self, build: Callable[..., Any], arrays: Sequence[Any], known: Knowledge, fixed: Sequence[bool]
    ) -> None:
        self.graph = Graph()
        self.feeds: dict[Tensor, Any] = {}
        self.inputs: list[Tensor] = []
        with self.graph.as_default():
            for array, is_fixed in zip(arrays, fixed, strict=True):
                self.inputs.append(self._input(array, known, is_fixed))
            result = build(*self.inputs)
        self.outputs: list[Tensor] = list(result) if isinstance(result, (list, tuple)) else [result]

    def _input(self, array: Any, known: Knowledge, is_fixed: bool) -> Tensor:
        if is_fixed and known == "shape":
            return constant(array)
        shape = {"shape": np.shape(array), "rank": (None,) * np.ndim(array), "nothing": None}[known]
        tensor = placeholder(as_dtype(np.asarray(array).dtype), shape)
        self.feeds[tensor] = array
        return tensor

    def run(self) -> list[Any]:
        return run(self.graph, self.outputs, self.feeds)


def evaluate(build: Callable[..., Any], arrays: Sequence[Any], known: Knowledge = "shape") -> list[Any]:
    """The values of what `build` makes of tensors that hold `arrays`."""
    return Built(build, arrays, known, [False] * len(arrays)).run()


def _relaid(array: Any, known: Knowledge) -> Any:
    """An equal array laid out otherwise: with negative strides, in Fortran's order, or as it is."""
    if np.ndim(array) == 0 or known == "shape":
        return array
    if known == "rank":
        return np.array(array, order="F", copy=True)
    flipped = (slice(None, None, -1),) * np.ndim(array)
    return np.ascontiguousarray(array[flipped])[flipped]


def compare(what: str, actual: Any, expected: Any, dtype: DType, loose: float = 1.0) -> None:
    """`actual` has exactly this type and, within the type's tolerance, the expected shape and values."""
    kind = dtype.as_numpy_dtype
    if not (dtype.kind == "S" and isinstance(actual, bytes)):
        assert isinstance(actual, (np.ndarray, np.generic)), f"{what}: a {type(actual).__name__} is no array"
        assert actual.dtype == kind, f"{what}: the value is {actual.dtype}, declared is {dtype}"
    expected = np.asarray(expected)
    assert np.shape(actual) == expected.shape, f"{what}: the shape is {np.shape(actual)}, expected is {expected.shape}"
    if dtype.kind in "iu" and expected.dtype.kind in "Oiu":
        modulus = 2 ** (8 * dtype.size)
        wrapped = np.asarray([int(v) % modulus for v in expected.flat], np.uint64)
        expected = wrapped.astype(kind).reshape(expected.shape)
    if dtype.kind in "fc":
        wide = np.complex128 if dtype.is_complex else np.float64
        tolerance = TOLERANCE[dtype.name] * loose
        np.testing.assert_allclose(
            np.asarray(actual).astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance, err_msg=what
        )
    else:
        np.testing.assert_array_equal(actual, expected, err_msg=what)


def _widened(array: Any) -> Any:
    dtype = as_dtype(np.asarray(array).dtype)
    if dtype.is_floating or dtype.is_complex:
        return np.asarray(array).astype(np.complex128 if dtype.is_complex else np.float64)
    return np.array(array)


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def check_values(case: Case, dtype: DType, seed: int) -> None:
    """Values, types and inferred shapes, with inputs known more and less and laid out in memory in several ways."""
    for what, arrays, drawn in case.examples(dtype, seed):
        expected: tuple[Any, ...] | None = None
        if case.reference is not None:
            expected = _tuple(case.reference(*([np.array(a) for a in arrays] if case.exact else map(_widened, arrays))))
        for known in KNOWLEDGE:
            given = [_relaid(a, known) for a in arrays]
            built = Built(case.build, given, known, [not d for d in drawn])
            values = built.run()
            message = f"{what}, known: {known} (ACTORFLOW_TEST_SEED={seed})"
            assert expected is None or len(expected) == len(values), message
            for index, (tensor, value) in enumerate(zip(built.outputs, values, strict=True)):
                _check_inferred(message, tensor, value, known == "shape" and case.static)
                if expected is not None:
                    compare(message, value, expected[index], tensor.dtype, case.loose)


def _check_inferred(message: str, tensor: Tensor, value: Any, fully: bool) -> None:
    inferred, actual = tensor.static_shape, np.shape(value)
    assert shapes.compatible(inferred, actual), f"{message}: inferred {shapes.show(inferred)}, the value has {actual}"
    assert not fully or inferred == actual, f"{message}: the shape is inferred as {shapes.show(inferred)} only"
    assert isinstance(value, bytes) or value.dtype == tensor.dtype.as_numpy_dtype, (
        f"{message}: inferred {tensor.dtype}, the value is {value.dtype}"
    )


def check_kernels(case: Case, dtype: DType, seed: int) -> None:
    """Kernels leave their inputs alone, give fresh memory unless they are views, take scalars, and fill `out`."""
    for what, arrays, drawn in case.examples(dtype, seed):
        built = Built(case.build, arrays, "shape", [not d for d in drawn])
        tensors = [t for operation in built.graph.get_operations() for t in operation.outputs]
        values = dict(zip(tensors, run(built.graph, tensors, built.feeds), strict=True))
        for operation in built.graph.get_operations():
            entry = kernel.lookup(operation.type, "CPU", [t.dtype for t in operation.outputs])
            if operation.definition.stateful or entry.takes_context or operation.type == "Const":
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
        buffer = np.full(np.shape(expected), 77, tensor.dtype.as_numpy_dtype)
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
            for tensor, value, expected in zip(built.outputs, built.run(), outputs, strict=True):
                message = f"{case.id}{literal.inputs}"
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
        found = module_of_gradients().gradients(built.outputs, built.inputs)
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
    kind = dtype.as_numpy_dtype
    return [v if isinstance(v, (np.ndarray, np.generic)) else np.asarray(v, kind) for v in literal.inputs]


def check_reject(case: Case, reject: Reject) -> None:
    """What TensorFlow refuses, with the class of error that it gives: as the graph is built, or in the run."""
    arrays = _given(case, reject)
    build = reject.build or case.build
    fixed = [isinstance(v, np.ndarray) for v in reject.inputs]
    for error in reject.errors:
        if not issubclass(error, errors.OpError):
            with pytest.raises(error, match=reject.match or None):
                Built(build, arrays, "shape", fixed)
            continue
        built = Built(build, arrays, "nothing", fixed)
        # The runtime makes an InvalidArgumentError of a kernel's ValueError.
        allowed = (error, ValueError) if error is errors.InvalidArgumentError else error
        with pytest.raises(allowed, match=reject.match or None):
            built.run()


def check_round_trip(case: Case) -> None:
    """The graph in msgpack and back is the same graph, with the same results."""
    pytest.importorskip("actorflow.graph.codec")
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


# ---- gradients


def check_gradients(case: Case, dtype: DType, seed: int) -> None:
    """First and second derivatives against central differences along a random direction.

    The scalar Re<w, op(x)> has the gradient g(x, w); its derivative along a direction u is Re<g, u>. The same for the
    scalar Re<v, g(x, w)>, whose gradients also with respect to w are taken.
    """
    for what, arrays, drawn in case.examples(dtype, seed):
        rng = np.random.default_rng([seed, len(what)])
        message = f"{what} (ACTORFLOW_TEST_SEED={seed})"
        built = Built(case.build, arrays, "shape", [not d for d in drawn])
        chosen = [i for i, d in enumerate(drawn) if d and built.inputs[i].dtype is dtype]
        xs = [built.inputs[i] for i in chosen]
        with built.graph.as_default():
            ys = [y for y in built.outputs if y.dtype.is_floating or y.dtype.is_complex]
            if case.gradient == 0:
                found = module_of_gradients().gradients(ys, xs) if ys else []
                assert all(g is None for g in found), f"{message}: a gradient where there is none"
                continue
            feeds = dict(built.feeds)
            ws = _random_placeholders(ys, rng, feeds, run(built.graph, ys, feeds))
            first = gradients(ys, xs, ws)
            _check_direction(f"{message}: first derivative", built.graph, ys, ws, xs, first, feeds, rng)
            gs = [g for g in first if g is not None]
            if case.gradient == 2 and gs:
                vs = _random_placeholders(gs, rng, feeds, run(built.graph, gs, feeds))
                second = gradients(gs, xs + ws, vs)
                _check_direction(f"{message}: second derivative", built.graph, gs, vs, xs + ws, second, feeds, rng)


def _random_placeholders(
    like: Sequence[Tensor], rng: np.random.Generator, feeds: dict[Tensor, Any], values: Sequence[Any]
) -> list[Tensor]:
    made = []
    for tensor, value in zip(like, values, strict=True):
        made.append(placeholder(tensor.dtype, np.shape(value)))
        feeds[made[-1]] = _direction(value, rng)
    return made


def _direction(value: Any, rng: np.random.Generator) -> Any:
    direction = rng.standard_normal(np.shape(value))
    if np.asarray(value).dtype.kind == "c":
        direction = direction + 1j * rng.standard_normal(np.shape(value))
    return np.asarray(direction, np.asarray(value).dtype)


def _check_direction(
    message: str,
    graph: Graph,
    ys: Sequence[Tensor],
    ws: Sequence[Tensor],
    xs: Sequence[Tensor],
    found: Sequence[Tensor | None],
    feeds: Mapping[Tensor, Any],
    rng: np.random.Generator,
) -> None:
    directions = [_direction(feeds[x], rng) for x in xs]

    def projected(sign: int) -> float:
        moved = {**feeds, **{x: feeds[x] + sign * STEP * u for x, u in zip(xs, directions, strict=True)}}
        # The weights may be moved too (they are inputs of a gradient); the projection keeps those given.
        return sum(_inner(feeds[w], y) for w, y in zip(ws, run(graph, ys, moved), strict=True))

    numeric = (projected(1) - projected(-1)) / (2 * STEP)
    present = [(g, x, u) for g, x, u in zip(found, xs, directions, strict=True) if g is not None]
    values = run(graph, [g for g, _, _ in present], feeds)
    for (gradient, x, _), value in zip(present, values, strict=True):
        assert np.shape(value) == np.shape(feeds[x]), (
            f"{message}: {np.shape(value)} for an input of {np.shape(feeds[x])}"
        )
        assert gradient.dtype is x.dtype, f"{message}: a gradient of type {gradient.dtype} for {x.dtype}"
    analytic = sum(_inner(value, u) for value, (_, _, u) in zip(values, present, strict=True))
    np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-5, err_msg=message)


def _inner(left: Any, right: Any) -> float:
    return float(np.real(np.vdot(left, right)))
