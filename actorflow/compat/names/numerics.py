"""Names of TensorFlow 1.15's `tf.linalg` and of networks over volumes, over public ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.public import public


@public("tf.linalg")
def logm(input: Any, name: str | None = None) -> Any:
    """The principal logarithm of complex matrices that have a basis of eigenvectors (`tf.linalg.logm`); it has no gradient.

    Raises InvalidArgumentError in the run for a matrix that is no product of its eigenvectors and eigenvalues.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.abs(tf.linalg.logm(tf.constant([[1.0, 0.0], [0.0, 2.718281828]], tf.complex64)))
        [[0. 0.]
         [0. 1.]]
    """
    matrix = af.convert_to_tensor(input)

    def logarithm(value: Any) -> Any:
        values, vectors = np.linalg.eig(value.astype(np.complex128))
        answer = (vectors * np.log(values)[..., None, :]) @ np.linalg.inv(vectors)
        return answer.astype(value.dtype)

    result = af.py_func(logarithm, [matrix], matrix.dtype, stateful=False, name=name)
    result.set_shape(matrix.shape)
    return result


@public("tf.linalg")
def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Any:
    """The solution of equations with a matrix of three diagonals (`tf.linalg.tridiagonal_solve`), by the whole matrix.

    Args:
        diagonals: [..., 3, m]: above (its last is not read), on and below (its first is not read) the diagonal; a list of
            three as `sequence`; or matrices as `matrix`.
        rhs: [..., m] or [..., m, n].
        diagonals_format: `compact`, `sequence` or `matrix`.
        transpose_rhs: whether `rhs` and the solution are transposed.
        conjugate_rhs: whether `rhs` is conjugated.
        name: a scope.
        partial_pivoting: changes nothing: rows are always exchanged where that is more exact.

    Raises:
        ValueError: another format.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.linalg.tridiagonal_solve([[1.0, 0.0], [2.0, 3.0], [0.0, 4.0]], [3.0, 7.0])
        [1. 1.]
    """
    if diagonals_format not in ("compact", "sequence", "matrix"):
        raise ValueError(f"diagonals_format is 'compact', 'sequence' or 'matrix', not {diagonals_format!r}.")
    with af.name_scope(name, "tridiagonal_solve", [rhs]):
        right = af.convert_to_tensor(rhs)
        if diagonals_format == "matrix":
            matrix = af.convert_to_tensor(diagonals)
            matrix = af.matrix_band_part(matrix, 1, 1)
        else:
            compact = diagonals_format == "compact"
            rows = af.unstack(af.convert_to_tensor(diagonals), 3, -2) if compact else diagonals
            upper, middle, lower = (af.convert_to_tensor(row) for row in rows)
            size = af.shape(middle)[-1]

            def beside(line: Any) -> Any:
                """A diagonal that is shorter by an element, at its place above the main diagonal."""
                square = af.matrix_diag(line)
                edges = [[0, 0]] * (len(square.shape) - 2)
                return af.pad(square, [*edges, [0, 1], [1, 0]])

            above = beside(upper[..., : size - 1])
            matrix = (
                af.matrix_diag(middle)
                + above
                + af.matrix_transpose(beside(lower[..., af.shape(lower)[-1] - size + 1 :]))
            )
        if conjugate_rhs:
            right = af.conj(right)
        vector = len(right.shape) == len(matrix.shape) - 1
        if transpose_rhs and not vector:
            right = af.matrix_transpose(right)
        solution = af.matrix_solve(matrix, right[..., None] if vector else right)
        if vector:
            return solution[..., 0]
        return af.matrix_transpose(solution) if transpose_rhs else solution


@public("tf")
def extract_volume_patches(
    input: Any, ksizes: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None
) -> Any:
    """Patches of volumes, their values in the last dimension (`tf.extract_volume_patches`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.extract_volume_patches(tf.ones([1, 2, 2, 2, 1]), [1, 2, 2, 2, 1], [1, 1, 1, 1, 1], "VALID").shape.as_list()
        [1, 1, 1, 1, 8]

    Args:
        input: `[batch, planes, rows, columns, channels]`, of a floating type.
        ksizes, strides: `[1, planes, rows, columns, 1]`: of a patch, and from patch to patch.
        padding: `VALID` or `SAME`.
    """
    volume = af.convert_to_tensor(input)
    channels = int(volume.shape[-1])
    sizes = [int(size) for size in ksizes[1:4]]
    count = int(np.prod(sizes)) * channels
    picks = np.eye(count).reshape(*sizes, channels, count)
    return af.nn.conv3d(volume, af.constant(picks, volume.dtype), list(strides), padding, name=name)


@public("tf.nn")
def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """The gradient of `conv3d` for its filter (`tf.nn.conv3d_backprop_filter`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> volume, slope = tf.ones([1, 3, 3, 3, 1]), tf.ones([1, 2, 2, 2, 1])
        >>> tf.nn.conv3d_backprop_filter(volume, [2, 2, 2, 1, 1], slope, [1, 1, 1, 1, 1], "VALID").shape.as_list()
        [2, 2, 2, 1, 1]

    Args:
        input: the volumes.
        filter_sizes: the shape of the filter.
        out_backprop: the gradient of the output.
        strides, dilations: of the convolution.
        padding: `VALID` or `SAME`.
        data_format: `NDHWC` or `NCDHW`.
    """
    import actorflow.compat.v1 as tf

    return tf.nn.conv3d_backprop_filter_v2(
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@public("tf.nn")
def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The transpose of a convolution over 1, 2 or 3 dimensions (`tf.nn.conv_transpose`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.nn.conv_transpose(tf.ones([1, 2, 1]), tf.ones([2, 1, 1]), [1, 4, 1], 2).shape.as_list()
        [1, 4, 1]

    Args:
        input: `[batch, ..., channels]`.
        filters: `[..., outputs, channels]`.
        output_shape: the shape of the result.
        strides: the steps.
        padding: `VALID` or `SAME`.
        data_format: such as `NHWC`; that with the channels last unless given.
        dilations: the gaps within the filter.

    Raises:
        ValueError: the output has not 3, 4 or 5 dimensions.
    """
    sizes = af.convert_to_tensor(output_shape).shape[0]
    ranks: dict[Any, Any] = {
        3: (af.nn.conv1d_transpose, "NWC"),
        4: (af.nn.conv2d_transpose, "NHWC"),
        5: (af.nn.conv3d_transpose, "NDHWC"),
    }
    if sizes not in ranks:
        raise ValueError(f"output_shape has 3, 4 or 5 numbers, not {sizes}.")
    function, layout = ranks[int(sizes)]
    layout = data_format or layout
    if isinstance(strides, (list, tuple)) and len(strides) == int(sizes) - 2:
        strides = [1, 1, *strides] if layout.startswith("NC") else [1, *strides, 1]
    return function(input, filters, output_shape, strides, padding, data_format=layout, dilations=dilations, name=name)


@public("tf.quantization")
def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
) -> Any:
    """Numbers rounded to those that integers of a few bits stand for (`tf.quantization.quantize_and_dequantize`).

    The gradient is that of the identity.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.quantization.quantize_and_dequantize([0.6, 0.1], -1.0, 1.0, num_bits=3, range_given=True)
        [0.6667 0.    ]

    Args:
        input: numbers.
        input_min, input_max: the range, if it is given.
        signed_input: whether the integers have a sign.
        num_bits: the bits of the integers.
        range_given: whether the range is given; else it is that of the numbers.
        round_mode: `HALF_TO_EVEN` or `HALF_UP`.
        name: a scope.
        narrow_range: whether the least integer is left out.

    Raises:
        ValueError: another way of rounding.
    """
    if round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise ValueError(f"round_mode is 'HALF_TO_EVEN' or 'HALF_UP', not {round_mode!r}.")
    with af.name_scope(name, "quantize_and_dequantize", [input]):
        x = af.convert_to_tensor(input)
        low = af.cast(input_min, x.dtype) if range_given else af.reduce_min(x)
        high = af.cast(input_max, x.dtype) if range_given else af.reduce_max(x)
        most = float(2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1)
        least = -most - (0 if narrow_range else 1) if signed_input else (1.0 if narrow_range else 0.0)
        huge = x.dtype.max
        by_low = af.where(low * least > 0, least / low, af.fill(af.shape(low), huge))
        by_high = af.where(high * most > 0, most / high, af.fill(af.shape(high), huge))
        scale = af.minimum(by_low, by_high)
        steps = af.clip_by_value(x, least / scale, most / scale) * scale
        rounded = (af.round(steps) if round_mode == "HALF_TO_EVEN" else af.floor(steps + 0.5)) / scale
        return x + af.stop_gradient(rounded - x)
