"""Functions of TensorFlow's `linear_operator_util`, which libraries with linear operators of their own call."""

from __future__ import annotations

from typing import Any

import actorflow.compat.v1 as v1
from actorflow.graph.linear_operators.shapes import in_one_batch


def is_ref(x: Any) -> bool:
    """Whether `x` may have another value later: a variable, or a `tf.Module` with a dtype and a shape."""
    is_module = isinstance(x, v1.Module) and hasattr(x, "dtype") and hasattr(x, "shape")
    return isinstance(x, v1.Variable) or is_module


def assert_not_ref_type(x: Any, arg_name: str) -> None:
    """Raises TypeError for what `is_ref`."""
    if is_ref(x):
        raise TypeError(f"Argument {arg_name} cannot be reference type. Found: {type(x)}")


def convert_nonref_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Any:
    """A tensor of `value`, or `value` itself if it is None or `is_ref`.

    Raises TypeError if `value` `is_ref` and has another dtype than `dtype`.
    """
    if value is None:
        return None
    if not is_ref(value):
        return v1.convert_to_tensor(value, dtype=dtype, preferred_dtype=dtype_hint, name=name)
    if dtype is not None and v1.as_dtype(dtype).base_dtype != v1.as_dtype(value.dtype).base_dtype:
        names = [v1.as_dtype(each).base_dtype.name for each in (dtype, value.dtype)]
        raise TypeError(f'Mutable type must be of dtype "{names[0]}" but is "{names[1]}".')
    return value


def shape_tensor(shape: Any, name: str | None = None) -> Any:
    """A tensor of sizes, of int32 if `shape` is an empty list or tuple."""
    is_empty = isinstance(shape, (list, tuple)) and not shape
    return v1.convert_to_tensor(shape, dtype=v1.int32 if is_empty else None, name=name)


# ---- checks


def assert_no_entries_with_modulus_zero(x: Any, message: str | None = None, name: str = "assert_nonzero") -> Any:
    """An operation that fails if an entry of `x` is zero."""
    with v1.name_scope(name):
        sizes = v1.abs(v1.convert_to_tensor(x))
        return v1.assert_less(v1.zeros([], sizes.dtype), sizes, message=message)


def assert_zero_imag_part(x: Any, message: str | None = None, name: str = "assert_real") -> Any:
    """An operation that fails if an entry of `x` is not real."""
    with v1.name_scope(name):
        entries = v1.convert_to_tensor(x)
        if not entries.dtype.is_complex:
            return v1.no_op()
        parts = v1.imag(entries)
        return v1.assert_equal(v1.zeros([], parts.dtype), parts, message=message)


def assert_compatible_matrix_dimensions(operator: Any, x: Any) -> Any:
    """An operation that fails if `x` has not as many rows as the operator has columns."""
    message = "Dimensions are not compatible.  shape[-2] of argument to be the same as this operator"
    return v1.assert_equal(v1.shape(x)[-2], operator.domain_dimension_tensor(), message=message)


def assert_is_batch_matrix(tensor: Any) -> None:
    """Raises ValueError if a tensor is known to be no matrix."""
    if tensor.shape.ndims is not None and tensor.shape.ndims < 2:
        raise ValueError(f"Expected [batch] matrix to have at least two dimensions.  Found: {tensor}")


def use_operator_or_provided_hint_unless_contradicting(
    operator: Any, hint_attr_name: str, provided_hint_value: bool | None, message: str
) -> bool | None:
    """The operator's hint, or the caller's if the operator has none. Raises ValueError if they contradict each other."""
    own = getattr(operator, hint_attr_name)
    if own is not None and provided_hint_value is not None and own != provided_hint_value:
        raise ValueError(message)
    return provided_hint_value if own is None else own


# ---- matrices of several batches


def broadcast_matrix_batch_dims(batch_matrices: Any, name: str | None = None) -> list[Any]:
    """The matrices with the leading axes that all of them can have."""
    matrices = [v1.convert_to_tensor(matrix) for matrix in batch_matrices]
    for matrix in matrices:
        assert_is_batch_matrix(matrix)
    return in_one_batch(*matrices)


def cholesky_solve_with_broadcast(chol: Any, rhs: Any, name: str | None = None) -> Any:
    """`tf.cholesky_solve` of matrices whose leading axes differ."""
    left, right = broadcast_matrix_batch_dims([chol, rhs])
    return v1.cholesky_solve(left, right, name=name)


def matrix_solve_with_broadcast(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """`tf.matrix_solve` of matrices whose leading axes differ."""
    left, right = broadcast_matrix_batch_dims([matrix, rhs])
    return v1.matrix_solve(left, right, adjoint=adjoint, name=name)


def matrix_triangular_solve_with_broadcast(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """`tf.matrix_triangular_solve` of matrices whose leading axes differ."""
    left, right = broadcast_matrix_batch_dims([matrix, rhs])
    return v1.matrix_triangular_solve(left, right, lower=lower, adjoint=adjoint, name=name)
