"""Recurrent layers: a step for each moment. A trace holds a copy of the step for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras.src import tree

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor


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

    moments = [af.unstack(x) for x in flat]
    masks = None if mask is None else af.unstack(mask)

    def at(number: int) -> tuple[Any, Any]:
        return tree.pack_sequence_as(inputs, [parts[number] for parts in moments]), None if masks is None else masks[
            number
        ]

    def step(number: Any, states: Any, before: Any) -> tuple[Any, Any]:
        now, moment = at(number)
        output, after = step_function(now, (*states, *constants))
        after = tree.pack_sequence_as(states, tree.flatten(after)[: len(tree.flatten(states))])
        if moment is None:
            return output, after
        held = tree.map_structure(af.zeros_like, output) if before is None or zero_output_for_mask else before
        output = tree.map_structure(lambda new, old: _chosen(moment, new, old), output, held)
        return output, tree.map_structure(lambda new, old: _chosen(moment, new, old), after, states)

    numbers = list(range(steps - 1, -1, -1)) if go_backwards else list(range(steps))
    outputs, last, states = _unrolled(step, states, numbers, return_all_outputs)
    if not time_major:
        outputs = tree.map_structure(turned, outputs)
    return last, outputs, states


def _chosen(moment: Any, new: Any, old: Any) -> Any:
    shape = [-1] + [1] * (len(new.shape) - 1)
    return af.where_v2(af.reshape(moment, shape), new, old)


def _unrolled(step: Callable[..., Any], states: Any, numbers: list[int], all_outputs: bool) -> tuple[Any, Any, Any]:
    outputs: list[Any] = []
    for number in numbers:
        output, states = step(number, states, outputs[-1] if outputs else None)
        outputs.append(output)
    kept = outputs if all_outputs else outputs[-1:]
    return tree.map_structure(lambda *parts: af.stack(list(parts)), *kept), outputs[-1], states


def cudnn_ok(*args: Any, **kwargs: Any) -> bool:
    """Whether a kernel for a whole recurrent layer is there: it is not."""
    return False


def lstm(*args: Any, **kwargs: Any) -> Any:
    """Raises NotImplementedError, upon which Keras uses `rnn`."""
    raise NotImplementedError


gru = bidirectional_gru = bidirectional_lstm = lstm
