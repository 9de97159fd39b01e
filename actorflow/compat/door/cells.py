"""Helpers of recurrent cells that old programs take from TensorFlow's inner modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow.compat.v1 as v1


class LayerRNNCell(v1.nn.rnn_cell.RNNCell):
    """A cell with the arguments of a layer (`rnn_cell_impl.LayerRNNCell`)."""

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, _reuse: Any = None, **named: Any
    ) -> None:
        """
        Args:
            trainable, name, dtype: see `tf.nn.rnn_cell.RNNCell`.
            named: further arguments of a layer, without effect.
        """
        super().__init__(trainable=trainable, name=name, dtype=dtype, _reuse=_reuse)


def linear(
    args: Any, output_size: int, bias: bool, bias_initializer: Any = None, kernel_initializer: Any = None
) -> Any:
    """The sum of `args` times matrices, with a bias: one matrix for all, in the variables `kernel` and `bias`."""
    inputs = [v1.convert_to_tensor(each) for each in v1.nest.flatten(args)]
    if not inputs:
        raise ValueError("args holds no tensor.")
    depths: list[Any] = [each.shape.as_list()[-1] for each in inputs]
    if None in depths:
        raise ValueError(f"The last sizes of args have to be known, but are {depths}.")
    scope = v1.get_variable_scope()
    with v1.variable_scope(scope):
        weights = v1.get_variable("kernel", [sum(depths), output_size], inputs[0].dtype, initializer=kernel_initializer)
        joined = inputs[0] if len(inputs) == 1 else v1.concat(inputs, 1)
        product = v1.matmul(joined, weights)
        if not bias:
            return product
        initializer = v1.constant_initializer(0.0) if bias_initializer is None else bias_initializer
        return v1.nn.bias_add(product, v1.get_variable("bias", [output_size], inputs[0].dtype, initializer=initializer))


class Linear:
    """A linear map of one tensor or several, which keeps its variables (`core_rnn_cell._Linear`)."""

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        """
        Args:
            args: the tensors, of which the last sizes are known.
            output_size: the size of the result's last dimension.
            build_bias: whether to add a bias.
            bias_initializer: zeros unless given.
            kernel_initializer: that of the variable scope unless given.
        """
        inputs = v1.nest.flatten(args)
        self._is_sequence = v1.nest.is_nested(args)
        depth = sum(each.shape.as_list()[1] for each in inputs)
        dtype = inputs[0].dtype
        self._weights = v1.get_variable("kernel", [depth, output_size], dtype, initializer=kernel_initializer)
        initializer = v1.constant_initializer(0.0, dtype) if bias_initializer is None else bias_initializer
        self._bias = v1.get_variable("bias", [output_size], dtype, initializer=initializer) if build_bias else None

    def __call__(self, args: Any) -> Any:
        inputs = v1.nest.flatten(args)
        product = v1.matmul(inputs[0] if len(inputs) == 1 else v1.concat(inputs, 1), self._weights)
        return product if self._bias is None else v1.nn.bias_add(product, self._bias)


def concat_shapes(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """The shape of `prefix` and then `suffix`: a list if it is known or `static`, else a tensor."""
    parts: list[Any] = []
    for each in (prefix, suffix):
        value = v1.get_static_value(each) if isinstance(each, v1.Tensor) else each
        if value is None:
            if static:
                return v1.TensorShape(None)
            return v1.concat([v1.reshape(v1.convert_to_tensor(part, v1.int32), [-1]) for part in (prefix, suffix)], 0)
        sizes = value.as_list() if isinstance(value, v1.TensorShape) else value
        parts += [sizes] if isinstance(sizes, int) or getattr(sizes, "ndim", 1) == 0 else list(sizes)
    return parts


def zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """A state of zeros in the structure of `state_size`."""
    return v1.nest.map_structure(lambda size: v1.zeros(concat_shapes(batch_size, size), dtype), state_size)


def like_rnncell(cell: Any) -> bool:
    """Whether an object has what a cell has."""
    return all(hasattr(cell, name) for name in ("output_size", "state_size")) and callable(cell)


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Raises TypeError for an object that is no cell."""
    if not like_rnncell(cell):
        raise TypeError(
            f"The argument {cell_name!r} ({cell}) is not an RNNCell: it needs output_size, state_size and a call."
        )


def summary_names(values: Sequence[Any]) -> list[str]:
    """The names of tensors as summaries write them."""
    return [str(value.op.name) for value in values]
