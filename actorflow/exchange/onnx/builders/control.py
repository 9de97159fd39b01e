"""Branches and loops: If, Loop, Scan on `cond` and `while_loop`.

The types and shapes that a loop keeps are found by building its body once in a graph of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.base.shapes import Shape
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import counted_axis, moved, size_of
from actorflow.exchange.onnx.importer import Probe, stand_in
from actorflow.exchange.onnx.nodes import IMPURE, OnnxNode, onnx_op
from actorflow.exchange.onnx.types import ValueType, value_type
from actorflow.exchange.onnx.values import Listed, Optional_, dtype_of, flatten, rebuilt, shape_of, static

IMPURE |= {"If", "Loop", "Scan", "SequenceMap"}  # their bodies see values beside their inputs


@onnx_op("If")
def branch(node: OnnxNode, condition: Any) -> Any:
    """Both branches are of the graph, or, if the condition is known, only the chosen branch."""
    sides = {True: node.required("then_branch"), False: node.required("else_branch")}
    chosen = static(condition)
    if chosen is not None:
        return tuple(node.scope.subgraph(sides[bool(chosen.reshape(-1)[0])], []))
    kinds = [_kind(info) for info in sides[True].output]
    forms: list[Any] = []

    def build(side: bool) -> Any:
        def build_side() -> list[Any]:
            values = node.scope.subgraph(sides[side], [])
            forms[:] = [_fuller(form, value) for form, value in zip(forms, values)] if forms else values
            return [af.identity(t) for value, kind in zip(values, kinds) for t in flatten(value, kind)]

        return build_side

    results = af.cond(af.reshape(condition, []), build(True), build(False))
    return tuple(_grouped(results if isinstance(results, (list, tuple)) else [results], forms, kinds))


def _kind(info: Any) -> ValueType:
    return value_type(info.type, info.name)


def _fuller(left: Any, other: Any) -> Any:
    """The form with content, of the forms of a value in both branches."""
    if isinstance(left, Optional_) and left.value is None:
        return other
    if isinstance(left, Listed) and isinstance(other, Listed):
        same = left.shape if left.shape == other.shape else None
        return Listed(left.dtype or other.dtype, same)
    return left


def _grouped(tensors: Sequence[Any], forms: Sequence[Any], kinds: Sequence[ValueType]) -> list[Any]:
    groups, at = [], 0
    for form, kind in zip(forms, kinds):
        count = 2 if isinstance(form, Optional_) else 1
        groups.append(rebuilt(form, tensors[at : at + count], kind))
        at += count
    return groups


Body = Callable[[Any, list[Any]], tuple[Any, list[Any], list[Any]]]
"""From the iteration and the values that go round: whether it goes on, the next values, what the iteration adds to outputs."""


def repeated(
    node: OnnxNode, limit: Any, first: Any, carried: list[Any], body: Body, probe: Body, kinds: Sequence[ValueType] = ()
) -> tuple[list[Any], list[Any]]:
    """A loop of at most `limit` iterations, None for as many as the condition wants.

    Args:
        node: the node.
        limit: a scalar of int64.
        first: the condition before the first iteration.
        carried: the values that go round.
        body: builds an iteration.
        probe: builds it in the graph that is entered, in which nothing else is.
        kinds: the types of `carried`, of which some may not be known.

    Returns:
        The values after the last iteration; and what the iterations added to each output, as rows.
    """
    kinds = [*kinds, *[ValueType()] * (len(carried) - len(kinds))]
    with af.Graph().as_default():
        inner = [_within(value, kind) for value, kind in zip(map(stand_in, carried), kinds)]
        _, after, added = probe(af.placeholder(af.int64, []), list(inner))
        forms = [_form(value, later, kind) for value, later, kind in zip(carried, after, kinds)]
        invariants = [_invariant(first_value, two) for first_value, two in zip(carried, after)]
        rows = [(dtype_of(value), shape_of(value)) for value in added]

    flat = [[af.convert_to_tensor(t) for t in flatten(v, _of_form(f, k))] for v, f, k in zip(carried, forms, kinds)]
    arrays = [af.TensorArray(kind, size=0, dynamic_size=True, element_shape=shape).flow for kind, shape in rows]

    def step(at: Any, _: Any, values: Any, flows: Any) -> Any:
        going, later, outputs = body(at, [rebuilt(f, v, k) for f, v, k in zip(forms, values, kinds)])
        wrapped = [_as_form(value, form) for value, form in zip(later, forms)]
        flows = [_written(flow, at, row, value) for flow, row, value in zip(flows, rows, outputs)]
        nested = [flatten(value, _of_form(f, k)) for value, f, k in zip(wrapped, forms, kinds)]
        return at + np.int64(1), af.reshape(going, []), nested, flows

    def goes_on(at: Any, going: Any, *_: Any) -> Any:
        return going if limit is None else af.logical_and(going, at < af.reshape(limit, []))

    shapes = [[af.TensorShape(s) for s in _shapes_of(i, f)] for i, f in zip(invariants, flat)]
    _, _, values, flows = af.while_loop(
        goes_on,
        step,
        [np.int64(0), af.reshape(af.convert_to_tensor(first), []), flat, arrays],
        shape_invariants=[af.TensorShape([]), af.TensorShape([]), shapes, [af.TensorShape([]) for _ in arrays]],
    )
    stacks = [af.TensorArray(k, flow=flow, element_shape=shape).stack() for flow, (k, shape) in zip(flows, rows)]
    return [rebuilt(f, v, k) for f, v, k in zip(forms, values, kinds)], stacks


def _written(flow: Any, at: Any, row: Any, value: Any) -> Any:
    kind, shape = row
    array = af.TensorArray(kind, flow=flow, dynamic_size=True, element_shape=shape)
    return array.write(af.cast(at, af.int32), value).flow


def _within(value: Any, kind: ValueType) -> Any:
    """A value as the body sees it: its shape may change from one iteration to the next."""
    if isinstance(value, Optional_) and value.value is None:
        return Optional_(value.present, Listed(kind.dtype, items=[]) if kind.inside == "sequence" else None)
    if isinstance(value, Listed):
        return Listed(value.dtype or kind.dtype, None, flow=value.flow)
    return af.convert_to_tensor(value) if isinstance(value, np.ndarray) else value


def _form(value: Any, later: Any, kind: ValueType) -> Any:
    """The form in which a value goes round."""
    if isinstance(value, Optional_):
        inner = value.value if value.value is not None else (later.value if isinstance(later, Optional_) else later)
        return Optional_(True, inner)
    if isinstance(value, Listed):
        dtype = value.dtype or kind.dtype or getattr(later, "dtype", None)
        return Listed(dtype, value.shape if isinstance(later, Listed) and later.shape == value.shape else None)
    return value


def _of_form(form: Any, kind: ValueType) -> ValueType:
    if isinstance(form, Optional_) and isinstance(form.value, Listed):
        return ValueType("optional", form.value.dtype, form.value.shape, "sequence")
    return kind


def _as_form(value: Any, form: Any) -> Any:
    if isinstance(form, Optional_) and not isinstance(value, Optional_):
        return Optional_(True, value)
    if isinstance(value, Optional_) and not isinstance(form, Optional_):
        return value.value
    return value


def _invariant(left: Any, two: Any) -> Shape:
    """The sizes that are the same in two iterations."""
    if isinstance(left, (Listed, Optional_)) or isinstance(two, (Listed, Optional_)):
        return ()
    first, second = shape_of(left), shape_of(two)
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple(a if a == b else None for a, b in zip(first, second))


def _shapes_of(invariant: Shape, tensors: Sequence[Any]) -> list[Shape]:
    """Of each tensor of a value: lists and flags are scalars."""
    if len(tensors) == 1:
        return [invariant]
    return [() if tensor.dtype.name in ("variant", "bool") else None for tensor in tensors]


@onnx_op("Loop")
def loop(node: OnnxNode, limit: Any = None, condition: Any = None, *initial: Any) -> Any:
    graph = node.required("body")
    count = len(initial)
    kinds = [_kind(info) for info in graph.input[2:]]
    if len(graph.input) != count + 2 or len(graph.output) < count + 1:
        raise InvalidArgumentError(
            f"The loop carries {count} values, but its body {graph.name!r} has {len(graph.input)} inputs and {len(graph.output)} "
            "outputs."
        )

    def within(scope: Any) -> Body:
        def body(at: Any, values: list[Any]) -> Any:
            going, *values_out = scope.subgraph(graph, [at, np.asarray(True), *values])
            return going, values_out[:count], values_out[count:]

        return body

    first = np.asarray(True) if condition is None else condition
    probe = _probing(node, within)
    last, stacks = repeated(node, limit, first, list(initial), within(node.scope), probe, kinds)
    return (*last, *stacks)


def _probing(node: OnnxNode, within: Callable[[Any], Body]) -> Body:
    def probe(at: Any, values: list[Any]) -> Any:
        return within(Probe(node.scope.file, node.scope))(at, values)

    return probe


@onnx_op("Scan")
def scan(node: OnnxNode, *inputs: Any) -> Any:
    """Version 8 has a dimension of the batch in front, and may give lengths."""
    graph, many = node.required("body"), node.required("num_scan_inputs")
    old = node.opset < 9
    if old:
        if inputs[0] is not None:
            raise InvalidArgumentError(
                f"{node} has lengths of its own for each entry of the batch, which is not supported."
            )
        inputs = inputs[1:]
    states, sequences = list(inputs[: len(inputs) - many]), list(inputs[len(inputs) - many :])
    outputs = len(graph.output) - len(states)
    if old:
        return _over_batch(node, graph, states, sequences, outputs)
    axes = node.attr("scan_input_axes", [0] * many)
    turned = node.attr("scan_input_directions", node.attr("directions", [0] * many))
    rows = [_time_first(x, axis, back) for x, axis, back in zip(sequences, axes, turned)]
    last, stacks = _scanned(node, graph, states, rows)
    out_axes = node.attr("scan_output_axes", [0] * outputs)
    back = node.attr("scan_output_directions", [0] * outputs)
    directed = [af.reverse(s, [0]) if b else s for s, b in zip(stacks, back)]
    return (*last, *(moved(s, 0, counted_axis(axis, s)) for s, axis in zip(directed, out_axes)))


def _time_first(x: Any, axis: int, back: int) -> Any:
    x = moved(x, counted_axis(axis, x), 0)
    return af.reverse(x, [0]) if back else x


def _scanned(node: OnnxNode, graph: Any, states: list[Any], rows: list[Any]) -> Any:
    tensors = [af.convert_to_tensor(row) for row in rows]
    length = size_of(tensors[0], 0)

    def over(scope: Any, here: list[Any]) -> Body:
        def body(at: Any, values: list[Any]) -> Any:
            values_out = scope.subgraph(graph, [*values, *(af.gather(row, at) for row in here)])
            return np.asarray(True), values_out[: len(states)], values_out[len(states) :]

        return body

    def probe(at: Any, values: list[Any]) -> Any:
        return over(Probe(node.scope.file, node.scope), [stand_in(t) for t in tensors])(at, values)

    limit = np.asarray(length, np.int64) if isinstance(length, int) else length
    return repeated(node, limit, np.asarray(True), states, over(node.scope, tensors), probe)


def _over_batch(node: OnnxNode, graph: Any, states: list[Any], sequences: list[Any], outputs: int) -> Any:
    batch = size_of(sequences[0], 0)
    if not isinstance(batch, int):
        raise InvalidArgumentError(f"The size of the batch of {node} has to be known.")
    back = node.attr("directions", [0] * len(sequences))
    results: list[list[Any]] = []
    for entry in range(batch):
        rows = [_time_first(af.gather(x, entry), 0, b) for x, b in zip(sequences, back)]
        last, stacks = _scanned(node, graph, [af.gather(s, entry) for s in states], rows)
        results.append([*last, *stacks])
    return tuple(af.stack(list(parts)) for parts in zip(*results))
