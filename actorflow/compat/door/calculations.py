"""Functions of TensorFlow's inner modules that compute tensors, over public names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow.compat.v1 as v1
from actorflow.graph.losses import weighted
from actorflow.graph.ops.flow import control
from actorflow.graph.variables.updates import move
from actorflow.models.layers.arguments import layout_of, padding_of
from actorflow.models.metrics import streaming
from actorflow.models.metrics.thresholds import counts_at


def with_dependencies(dependencies: Sequence[Any], output_tensor: Any, name: str | None = None) -> Any:
    """`output_tensor` once all dependencies have run."""
    return control.with_dependencies(list(dependencies), output_tensor, name)


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Labels and predictions, without a last dimension of size 1 that either has more than is expected."""
    labels, predictions = v1.convert_to_tensor(labels), v1.convert_to_tensor(predictions)
    ranks = predictions.shape.ndims, labels.shape.ndims
    if None not in ranks:
        difference = ranks[0] - ranks[1]
        if difference == expected_rank_diff + 1 and predictions.shape.as_list()[-1] in (1, None):
            predictions = v1.squeeze(predictions, [-1])
        elif difference == expected_rank_diff - 1 and labels.shape.as_list()[-1] in (1, None):
            labels = v1.squeeze(labels, [-1])
    return labels, predictions


def squeezed_for_metric(predictions: Any, labels: Any, weights: Any) -> Any:
    """Predictions, labels and weights of one rank."""
    return streaming.same_rank(predictions, labels, weights)


def metric_variable(shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None) -> Any:
    """A variable of a metric, in the collections of such."""
    return streaming.metric_variable(shape, dtype, name or "metric")


def shape_internal(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = v1.int32) -> Any:
    """The shape of a tensor. With `optimize` or without, a shape that is known becomes a constant when the graph is planned."""
    return v1.shape(input, name=name, out_type=out_type)


def size_internal(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = v1.int32) -> Any:
    """The number of elements of a tensor, as `shape_internal`."""
    return v1.size(input, name=name, out_type=out_type)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Any:
    """The number of dimensions of a tensor, as `shape_internal`."""
    return v1.rank(input, name=name)


def text_file_id_table_initializer(
    filename: Any,
    key_column_index: int = v1.lookup.TextFileIndex.WHOLE_LINE,
    value_column_index: int = v1.lookup.TextFileIndex.LINE_NUMBER,
    vocab_size: int | None = None,
    delimiter: str = "\t",
    name: str = "text_file_id_table_init",
    key_dtype: Any = v1.string,
) -> Any:
    """The initializer of a table from the lines of a file to their numbers."""
    columns = (key_dtype, key_column_index, v1.int64, value_column_index)
    return v1.lookup.TextFileInitializer(filename, *columns, vocab_size=vocab_size, delimiter=delimiter, name=name)


def text_file_string_table_initializer(
    filename: Any,
    key_column_index: int = v1.lookup.TextFileIndex.LINE_NUMBER,
    value_column_index: int = v1.lookup.TextFileIndex.WHOLE_LINE,
    vocab_size: int | None = None,
    delimiter: str = "\t",
    name: str = "text_file_string_table_init",
) -> Any:
    """The initializer of a table from the numbers of the lines of a file to the lines."""
    columns = (v1.int64, key_column_index, v1.string, value_column_index)
    return v1.lookup.TextFileInitializer(filename, *columns, vocab_size=vocab_size, delimiter=delimiter, name=name)


def aggregate_variable(variable: Any, collections: Any) -> Any:
    """The variable's value, listed in the collections: there is one replica."""
    value = v1.convert_to_tensor(variable)
    if collections:
        v1.add_to_collections(collections, value)
    return value


_COUNTS = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}


def counts_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, includes: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The counts of right and wrong answers at thresholds, and their updates. Raises ValueError for an unknown count."""
    names = tuple(_COUNTS) if includes is None else includes
    for name in names:
        if name not in _COUNTS:
            raise ValueError(f"Invalid key: {name}.")
    kinds = [_COUNTS[name] for name in names]
    added = counts_at(labels, predictions, list(thresholds), weights, kinds)
    pairs = [streaming.streamed({kind: added[kind]}, v1.identity) for kind in kinds]
    return {name: pair[0] for name, pair in zip(names, pairs)}, {name: pair[1] for name, pair in zip(names, pairs)}


def safe_div(numerator: Any, denominator: Any, name: str | None = None) -> Any:
    """The quotient, or 0 where the denominator is not positive."""
    quotient = v1.truediv(numerator, denominator)
    return v1.where(v1.greater(denominator, 0), quotient, v1.zeros_like(quotient), name=name)


def broadcast_weights(weights: Any, values: Any) -> Any:
    """The weights in the shape of the values."""
    values = v1.convert_to_tensor(values)
    weights = v1.cast(weights, values.dtype)
    with v1.control_dependencies([assert_broadcastable(weights, values)]):
        return streaming.spread(weights, values, values.dtype)


def assert_broadcastable(weights: Any, values: Any) -> Any:
    """An operation that fails where weights do not fit values. Raises ValueError where known shapes do not."""
    check = weighted.assert_broadcastable(weights, values)
    return v1.no_op() if check is None else check


def bucketize(input: Any, boundaries: Sequence[float], name: str | None = None) -> Any:
    """The number of boundaries that are not above each element."""
    values = v1.cast(v1.convert_to_tensor(input), v1.float32)
    edges = v1.constant(list(boundaries), v1.float32)
    return v1.reduce_sum(v1.cast(values[..., None] >= edges, v1.int32), -1, name=name)


def noise_shape(x: Any, shape: Any) -> Any:
    """The shape of the noise of a dropout."""
    return v1.shape(x) if shape is None else shape


def transpose_batch_time(x: Any) -> Any:
    """`x` with its first two dimensions exchanged."""
    x = v1.convert_to_tensor(x)
    if x.shape.ndims is not None and x.shape.ndims < 2:
        raise ValueError(f"A tensor of rank 2 or more is needed, not of shape {x.shape}.")
    return v1.transpose(x, v1.concat([[1, 0], v1.range(2, v1.rank(x))], 0))


def batch_size(flat_input: Sequence[Any]) -> Any:
    """The size of the batch of inputs [time, batch, ...], as a number if known."""
    for value in flat_input:
        if value.shape.ndims and value.shape.ndims > 1 and (size := value.shape.as_list()[1]) is not None:
            return size
    return v1.shape(flat_input[0])[1]


def reverse_in_time(input_seq: Sequence[Any], lengths: Any) -> list[Any]:
    """A list of inputs in the reverse order of time, each row of the batch within its length."""
    if lengths is None:
        return list(reversed(input_seq))
    return v1.unstack(v1.reverse_sequence(v1.stack(list(input_seq)), lengths, seq_axis=0, batch_axis=1))


# ---- averages, optimizers, variables


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Moves `variable` towards `value` by `1 - decay`; with `zero_debias` corrects for a start at zero (Kingma and Ba 2014)."""
    with v1.name_scope(name, "AssignMovingAvg", [variable, value, decay]):
        rest = v1.cast(1.0 - v1.cast(decay, v1.float32), variable.dtype.base_dtype)
        if not zero_debias:
            return move(variable, value, lambda mean: v1.assign_sub(variable, (variable - mean) * rest))
        with v1.variable_scope(variable.op.name, values=[variable, value], reuse=v1.AUTO_REUSE):
            zeros = v1.zeros_initializer()
            biased = v1.get_variable(
                "biased", shape=variable.shape, dtype=variable.dtype.base_dtype, initializer=zeros, trainable=False
            )
            step = v1.get_variable(
                "local_step", shape=[], dtype=variable.dtype.base_dtype, initializer=zeros, trainable=False
            )

        def write(mean: Any) -> Any:
            moved = v1.assign_sub(biased, (biased - mean) * rest)
            count = v1.assign_add(step, 1.0)
            return v1.assign(variable, moved / (1.0 - v1.pow(1.0 - rest, count)))

        return move(variable, value, write)


def weighted_moving_average(
    value: Any, decay: Any, weight: Any, truediv: bool = True, collections: Any = None, name: str | None = None
) -> Any:
    """The average of values by weights, each step counting `decay` times the step after it."""
    with v1.variable_scope(name, "WeightedMovingAvg", [value, weight, decay]):
        names = {
            "initializer": v1.zeros_initializer(),
            "trainable": False,
            "collections": collections,
            "dtype": value.dtype,
        }
        total = v1.get_variable("value_x_weight", shape=value.shape, **names)
        count = v1.get_variable("weight", shape=weight.shape, **names)
        top = assign_moving_average(total, value * weight, decay, zero_debias=False)
        bottom = assign_moving_average(count, weight, decay, zero_debias=False)
        return v1.truediv(top, bottom) if truediv else v1.div(top, bottom)


def deduplicate_indexed_slices(values: Any, indices: Any) -> tuple[Any, Any]:
    """The sums of the values of equal indices, and the indices without repetition."""
    unique, positions = v1.unique(indices)
    return v1.unsorted_segment_sum(values, positions, v1.shape(unique)[0]), unique


def create_variable(next_creator: Any = None, **named: Any) -> Any:
    """A variable; TensorFlow's end of a chain of creators."""
    return v1.Variable(**{name: value for name, value in named.items() if name != "use_resource"})


def hessian_vector_product(ys: Any, xs: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """The second derivatives of `ys` by `xs`, times the vectors `v`."""
    slopes = v1.gradients(ys, xs)
    products = [v1.multiply(slope, v1.stop_gradient(each)) for slope, each in zip(slopes, v) if slope is not None]
    return list(v1.gradients(products, xs))


# ---- updates in place


def inplace_update(x: Any, i: Any, v: Any) -> Any:
    """`x` with the rows `i` replaced by `v`. The tensor itself stays as it is."""
    return v1.tensor_scatter_update(x, v1.reshape(i, [-1, 1]), v1.reshape(v, v1.concat([[-1], v1.shape(x)[1:]], 0)))


def inplace_add(x: Any, i: Any, v: Any) -> Any:
    """`x` with `v` added to the rows `i`."""
    return v1.tensor_scatter_add(x, v1.reshape(i, [-1, 1]), v1.reshape(v, v1.concat([[-1], v1.shape(x)[1:]], 0)))


def inplace_sub(x: Any, i: Any, v: Any) -> Any:
    """`x` with `v` taken from the rows `i`."""
    return inplace_add(x, i, v1.negative(v))


def empty(shape: Any, dtype: Any, init: bool = False) -> Any:
    """A tensor of zeros: memory that nothing has written is not given to programs."""
    return v1.zeros(shape, dtype)


def is_sparse(x: Any) -> bool:
    """Whether `x` is a `SparseTensor`, or a `SparseTensorValue`."""
    return isinstance(x, (v1.SparseTensor, v1.SparseTensorValue))


def initializers_of(resource_list: Sequence[Any], name: str = "init") -> Any:
    """An operation that initializes the variables of a list. Tables and queues are made ready when they are first used."""
    operations = [getattr(each, "initializer", each) for each in resource_list]
    return v1.group(*[each for each in operations if isinstance(each, (v1.Operation, v1.Tensor))], name=name)


def increment_global_step(increment: int, graph: Any = None) -> Any:
    """The global step, with `increment` added to it; the step is made where the graph has none."""
    return v1.assign_add(v1.train.get_or_create_global_step(graph), increment)


# ---- windows of convolutions (`tensorflow.python.layers.utils`)


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """An int, or `n` ints, as a tuple of `n`. Raises ValueError for anything else."""
    values = (value,) * n if isinstance(value, int) else value
    if not isinstance(values, Sequence) or len(values) != n or not all(isinstance(each, int) for each in values):
        raise ValueError(f"{name} is one integer or {n} of them, not {value!r}.")
    return tuple(values)


def normalize_data_format(value: str) -> str:
    """The layout in small letters. Raises ValueError for another."""
    return layout_of(value, "layers.utils")


def normalize_padding(value: str) -> str:
    """The padding in small letters. Raises ValueError for another."""
    return padding_of(value, "layers.utils")


def convert_data_format(data_format: str, ndim: int) -> str:
    """The layout as ops name it, such as "NHWC" for "channels_last" of four dimensions. Raises ValueError for another."""
    if ndim not in (3, 4, 5):
        raise ValueError(f"The inputs of a convolution have 3, 4 or 5 dimensions, not {ndim}.")
    space = "DHW"[5 - ndim :]
    return f"N{space}C" if layout_of(data_format, "layers.utils") == "channels_last" else f"NC{space}"


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """The number of places of a filter along a dimension; None for an unknown length."""
    if input_length is None:
        return None
    window = filter_size + (filter_size - 1) * (dilation - 1)
    extra = {"same": 0, "valid": 1 - window, "full": window - 1}[padding]
    return (input_length + extra + stride - 1) // stride


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """A length from which a convolution makes `output_length`; None for an unknown length."""
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(input_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The length that a transposed convolution makes; None for an unknown length."""
    if input_length is None:
        return None
    extra = {"same": 0, "valid": max(filter_size - stride, 0), "full": -(stride + filter_size - 2)}[padding]
    return input_length * stride + extra
