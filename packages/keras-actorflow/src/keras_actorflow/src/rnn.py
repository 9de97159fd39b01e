"""Recurrent layers: a step for each moment, in Python where values are there at once, as a loop of the graph in a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras.src import tree

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor, has_value

UNROLLED = 16
"""Up to so many moments a trace holds a copy of the step for each, instead of a loop."""


def rnn(
    step_function: Callable[[Any, Any], Any],
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, Any]:
    """The last output, all outputs and the last states of a step that goes through a sequence."""

    def turned(x: Any) -> Any:
        return af.transpose(x, [1, 0, *range(2, len(x.shape))])

    inputs = tree.map_structure(convert_to_tensor, inputs)
    if not time_major:
        inputs = tree.map_structure(turned, inputs)
    if mask is not None:
        mask = convert_to_tensor(mask, "bool")
        if len(mask.shape) == 2 and not time_major:
            mask = turned(mask)
    flat = tree.flatten(inputs)
    steps = int(flat[0].shape[0])
    states = tree.map_structure(convert_to_tensor, initial_states)
    constants = list(constants or ())
    many = not unroll and steps > UNROLLED and not has_value(flat[0])
    run = _looped if many else _unrolled

    def at(number: Any) -> tuple[Any, Any]:
        now = tree.map_structure(lambda x: x[number] if isinstance(number, int) else af.gather(x, number), inputs)
        moment = None if mask is None else (mask[number] if isinstance(number, int) else af.gather(mask, number))
        return now, moment

    def step(number: Any, states: Any, before: Any) -> tuple[Any, Any]:
        now, moment = at(number)
        output, after = step_function(now, tuple(tree.flatten(states)) + tuple(constants))
        after = tree.pack_sequence_as(states, tree.flatten(after)[: len(tree.flatten(states))])
        if moment is None:
            return output, after
        held = tree.map_structure(af.zeros_like, output) if before is None or zero_output_for_mask else before
        output = tree.map_structure(lambda new, old: _chosen(moment, new, old), output, held)
        return output, tree.map_structure(lambda new, old: _chosen(moment, new, old), after, states)

    numbers = list(range(steps - 1, -1, -1)) if go_backwards else list(range(steps))
    outputs, last, states = run(step, states, numbers, return_all_outputs)
    if not time_major:
        outputs = tree.map_structure(turned, outputs)
    return last, outputs, states


def _chosen(moment: Any, new: Any, old: Any) -> Any:
    sizes = [moment.shape[0]] + [1] * (len(new.shape) - 1)
    return af.where_v2(af.reshape(moment, sizes), new, old)


def _unrolled(step: Callable[..., Any], states: Any, numbers: list[int], all_outputs: bool) -> tuple[Any, Any, Any]:
    outputs: list[Any] = []
    for number in numbers:
        output, states = step(number, states, outputs[-1] if outputs else None)
        outputs.append(output)
    kept = outputs if all_outputs else outputs[-1:]
    return tree.map_structure(lambda *parts: af.stack(list(parts)), *kept), outputs[-1], states


def _looped(step: Callable[..., Any], states: Any, numbers: list[int], all_outputs: bool) -> tuple[Any, Any, Any]:
    """A loop of the graph. The first step stands before it: its output tells the types and shapes."""
    order = af.constant(numbers, af.int32)
    first, states = step(numbers[0], states, None)
    flat = tree.flatten(first)
    held = tree.flatten(states)
    arrays = [
        af.TensorArray(x.dtype, size=len(numbers), element_shape=x.shape).write(0, x) for x in (flat if all_outputs else [])
    ]

    def going(count: Any, *rest: Any) -> Any:
        return count < len(numbers)

    def body(count: Any, *rest: Any) -> list[Any]:
        before = tree.pack_sequence_as(first, list(rest[: len(flat)]))
        now = tree.pack_sequence_as(states, list(rest[len(flat) : len(flat) + len(held)]))
        output, after = step(af.gather(order, count), now, before)
        written = [
            array.write(count, x) for array, x in zip(rest[len(flat) + len(held) :], tree.flatten(output), strict=False)
        ]
        return [count + 1, *tree.flatten(output), *tree.flatten(after), *written]

    _, *rest = af.while_loop(going, body, [af.constant(1), *flat, *held, *arrays])
    last = tree.pack_sequence_as(first, rest[: len(flat)])
    states = tree.pack_sequence_as(states, rest[len(flat) : len(flat) + len(held)])
    stacked = [array.stack() for array in rest[len(flat) + len(held) :]]
    if all_outputs:
        for tensor, x in zip(stacked, flat, strict=True):
            tensor.set_shape([len(numbers), *tuple(x.shape)])
        return tree.pack_sequence_as(first, stacked), last, states
    return tree.map_structure(lambda x: af.expand_dims(x, 0), last), last, states


def cudnn_ok(*args: Any, **kwargs: Any) -> bool:
    """Whether a kernel for a whole recurrent layer is there: it is not."""
    return False


def lstm(*args: Any, **kwargs: Any) -> Any:
    """Raises NotImplementedError, upon which Keras uses `rnn`."""
    raise NotImplementedError


gru = bidirectional_gru = bidirectional_lstm = lstm
