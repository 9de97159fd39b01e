"""RNN, GRU and LSTM in ONNX's order of gates, on `af.nn.dynamic_rnn`.

The part of the gates that depends on the inputs alone is one product over all steps, before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import known, number, shaped, size_of, vector
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import dtype_of

Function = Callable[[Any], Any]

_FUNCTIONS: dict[str, tuple[tuple[float, ...], Callable[..., Any]]] = {
    "tanh": ((), af.tanh),
    "sigmoid": ((), af.sigmoid),
    "relu": ((), af.nn.relu),
    "softsign": ((), af.nn.softsign),
    "softplus": ((), af.nn.softplus),
    "affine": ((1.0, 0.0), lambda x, a, b: x * number(a, x) + number(b, x)),
    "scaledtanh": ((1.0, 1.0), lambda x, a, b: af.tanh(x * number(b, x)) * number(a, x)),
    "hardsigmoid": (
        (0.2, 0.5),
        lambda x, a, b: af.clip_by_value(x * number(a, x) + number(b, x), number(0, x), number(1, x)),
    ),
    "leakyrelu": ((0.01,), lambda x, a: af.nn.leaky_relu(x, alpha=a)),
    "elu": ((1.0,), lambda x, a: af.where_v2(x > number(0, x), x, number(a, x) * af.expm1(x))),
    "thresholdedrelu": ((1.0,), lambda x, a: af.where_v2(x > number(a, x), x, number(0, x))),
}
"""The activations: their parameters unless a file gives others, and their functions."""


def _activations(node: OnnxNode, defaults: Sequence[str], directions: int) -> list[Function]:
    """The functions of all directions, one behind the other."""
    names = node.attr("activations") or list(defaults) * directions
    lists: list[Iterator[float]] = [iter(node.attr(name) or []) for name in ("activation_alpha", "activation_beta")]
    clip = node.attr("clip")
    return [_activation(node, name.lower(), lists, clip) for name in names]


def _activation(node: OnnxNode, name: str, lists: Sequence[Iterator[float]], clip: float | None) -> Function:
    if name not in _FUNCTIONS:
        raise InvalidArgumentError(f"{node} has the activation {name!r}; known are: {', '.join(sorted(_FUNCTIONS))}.")
    defaults, function = _FUNCTIONS[name]
    values = [next(parameter, default) for parameter, default in zip(lists, defaults)]

    def applied(x: Any) -> Any:
        if clip is not None:
            x = af.clip_by_value(x, number(-clip, x), number(clip, x))
        return function(x, *values)

    return applied


_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


class _Cell:
    """A cell over inputs that were multiplied already. `step` gives the next states, of which the first is the output."""

    def __init__(self, units: int, states: int, step: Callable[..., Sequence[Any]]) -> None:
        self.output_size = units
        self.state_size = (units,) * states if states > 1 else units
        self._states = states
        self._step = step

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        states = tuple(self._step(inputs, *(state if self._states > 1 else (state,))))
        return states[0], states if self._states > 1 else states[0]

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        raise NotImplementedError("The first state is always given.")


def _run(
    node: OnnxNode,
    x: Any,
    weights: Any,
    states: Sequence[Any],
    lengths: Any,
    steps: Callable[[int], Callable[..., Sequence[Any]]],
    bias: Callable[[int], Any],
) -> Any:
    """The outputs of all directions.

    Args:
        node: the node.
        x: the inputs, as the file has them.
        weights: of the inputs, of `[directions, gates · units, size]`.
        states: the first states, of `[directions, batch, units]`; None for zeros.
        lengths: how many steps of each entry of the batch count; None for all.
        steps: for each direction what makes a step.
        bias: for each direction what is added to the inputs' part of the gates.
    """
    swapped = bool(node.attr("layout", 0))
    x = af.transpose(x, [1, 0, 2]) if swapped else x
    (units,) = known(vector([node.attr("hidden_size") or size_of(node.inputs[2], 2)]), "hidden_size")
    directions, direction = _directions(node)
    batch, length = size_of(x, 1), size_of(x, 0)
    if lengths is not None:
        lengths = af.cast(lengths, af.int32)
    outputs, lasts = [], []
    for at in range(directions):
        backward = at == 1 or direction == "reverse"
        source = _turned(x, lengths) if backward else x
        flat = af.matmul(shaped(source, [-1, size_of(x, 2)]), weights[at], transpose_b=True)
        gates = shaped(flat + bias(at), [length, batch, _GATES[node.op] * units])
        first = [
            af.zeros(vector([batch, units]), dtype_of(x)) if state is None else (state[:, at] if swapped else state[at])
            for state in states
        ]
        cell = _Cell(units, len(first), steps(at))
        sequence, last = af.nn.dynamic_rnn(
            cell,
            gates,
            sequence_length=lengths,
            initial_state=tuple(map(af.convert_to_tensor, first)) if len(first) > 1 else af.convert_to_tensor(first[0]),
            time_major=True,
        )
        outputs.append(_turned(sequence, lengths) if backward else sequence)
        lasts.append(last if len(first) > 1 else (last,))
    y = af.stack(outputs, 1)
    rest = [af.stack(list(parts), 1 if swapped else 0) for parts in zip(*lasts)]
    return (af.transpose(y, [2, 0, 1, 3]) if swapped else y, *rest)


def _directions(node: OnnxNode) -> tuple[int, str]:
    direction = node.attr("direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional"):
        raise InvalidArgumentError(f"direction of {node} is {direction!r}.")
    return (2 if direction == "bidirectional" else 1), direction


def _turned(x: Any, lengths: Any) -> Any:
    """The steps from the last to the first; those behind the end of an entry stay."""
    if lengths is None:
        return af.reverse(x, [0])
    return af.reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)


def _biases(bias: Any, at: int, count: int) -> Any:
    """Those of the inputs' weights and of the states' weights, of one direction; None without biases."""
    return (None, None) if bias is None else tuple(af.split(bias[at], 2))


@onnx_op("RNN")
def rnn(
    node: OnnxNode, x: Any, weights: Any, recurrent: Any, bias: Any = None, lengths: Any = None, state: Any = None
) -> Any:
    functions = _activations(node, ["Tanh"], _directions(node)[0])

    def steps(at: int) -> Callable[..., Sequence[Any]]:
        own = recurrent[at]
        return lambda gates, h: [functions[at](gates + af.matmul(h, own, transpose_b=True))]

    def added(at: int) -> Any:
        left, two = _biases(bias, at, 1)
        return number(0, x) if left is None else left + two

    return _run(node, x, weights, [state], lengths, steps, added)


@onnx_op("LSTM")
def lstm(
    node: OnnxNode,
    x: Any,
    weights: Any,
    recurrent: Any,
    bias: Any = None,
    lengths: Any = None,
    state: Any = None,
    memory: Any = None,
    peepholes: Any = None,
) -> Any:
    """Gates in the order input, output, forget, cell. Peepholes look at the cell in the order input, output, forget."""
    functions = _activations(node, ["Sigmoid", "Tanh", "Tanh"], _directions(node)[0])

    def steps(at: int) -> Callable[..., Sequence[Any]]:
        own = recurrent[at]
        f, g, h_of = functions[3 * at : 3 * at + 3]
        looks = None if peepholes is None else af.split(peepholes[at], 3)

        def step(gates: Any, h: Any, c: Any) -> Sequence[Any]:
            i, o, forget, candidate = af.split(gates + af.matmul(h, own, transpose_b=True), 4, axis=1)
            if looks is not None:
                i, forget = i + looks[0] * c, forget + looks[2] * c
            i = f(i)
            kept = number(1, i) - i if node.attr("input_forget", 0) else f(forget)
            later = kept * c + i * g(candidate)
            o = f(o if looks is None else o + looks[1] * later)
            return [o * h_of(later), later]

        return step

    def added(at: int) -> Any:
        left, two = _biases(bias, at, 4)
        return number(0, x) if left is None else left + two

    return _run(node, x, weights, [state, memory], lengths, steps, added)


@onnx_op("GRU")
def gru(
    node: OnnxNode, x: Any, weights: Any, recurrent: Any, bias: Any = None, lengths: Any = None, state: Any = None
) -> Any:
    """Gates in the order update, reset, candidate. With `linear_before_reset` the state is multiplied before it is reset."""
    functions = _activations(node, ["Sigmoid", "Tanh"], _directions(node)[0])
    (units,) = known(vector([node.attr("hidden_size") or size_of(recurrent, 2)]), "The size of the state")
    linear = bool(node.attr("linear_before_reset", 0))

    def steps(at: int) -> Callable[..., Sequence[Any]]:
        own = recurrent[at]
        f, g = functions[2 * at : 2 * at + 2]
        _, later = _biases(bias, at, 3)
        inner = number(0, x) if later is None else later[2 * units :]

        def step(gates: Any, h: Any) -> Sequence[Any]:
            of_inputs, candidate = gates[:, : 2 * units], gates[:, 2 * units :]
            if linear:
                turned = af.matmul(h, own, transpose_b=True)
                z, r = af.split(f(of_inputs + turned[:, : 2 * units]), 2, axis=1)
                candidate = candidate + r * (turned[:, 2 * units :] + inner)
            else:
                turned = af.matmul(h, own[: 2 * units], transpose_b=True)
                z, r = af.split(f(of_inputs + turned), 2, axis=1)
                candidate = candidate + af.matmul(r * h, own[2 * units :], transpose_b=True) + inner
            return [(number(1, z) - z) * g(candidate) + z * h]

        return step

    def added(at: int) -> Any:
        left, two = _biases(bias, at, 3)
        return number(0, x) if left is None else left + af.pad(two[: 2 * units], [[0, units]])

    return _run(node, x, weights, [state], lengths, steps, added)
