"""The needs of unrolling: sizes of inputs, the first state, lengths, and the choice of old values behind a row's end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import DType, DTypeLike, as_dtype
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import merge
from actorflow.errors import describe
from actorflow.graph.control_flow.tensor_array import TensorArray
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.shape import shape, transpose
from actorflow.graph.ops.flow.control import Assert, identity
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import equal, where
from actorflow.graph.tensor import Tensor, TensorLike


class Steps:
    """The inputs with time first, and what is known of their sizes."""

    def __init__(self, flat: Sequence[Tensor]) -> None:
        self.flat = list(flat)
        common: Any = (None, None)
        for tensor in self.flat:
            sizes = tensor.static_shape
            if sizes is None or len(sizes) < 3 or None in sizes[2:]:
                raise ValueError(
                    describe(
                        "Input size (depth of inputs) must be accessible via shape inference, and inputs have three "
                        f"dimensions at least, but {tensor.name} has shape {tensor.shape} with time first.",
                        where=user_line(),
                    )
                )
            try:
                common = merge(common, sizes[:2])
            except ValueError:
                raise ValueError(
                    describe(
                        f"The inputs have different numbers of steps or rows: {[str(t.shape) for t in self.flat]} with "
                        "time first.",
                        where=user_line(),
                    )
                ) from None
        for tensor in self.flat:
            tensor.set_shape((*common, *(tensor.static_shape or ())[2:]))
        self.static_count, self.static_batch = common
        self.count: Any = shape(self.flat[0])[0] if self.static_count is None else self.static_count
        self.batch, _ = batch_of(self.flat[0], 1)


def batch_of(tensor: Tensor, axis: int) -> tuple[Any, int | None]:
    sizes = tensor.static_shape
    size = sizes[axis] if sizes and len(sizes) > axis else None
    return (shape(tensor)[axis] if size is None else size), size


def time_first(value: Any, time_major: bool) -> Tensor:
    tensor = convert_to_tensor(value)
    sizes = tensor.static_shape
    if sizes is not None and len(sizes) < 3:
        raise ValueError(
            describe(
                f"Inputs have shape [batch, time, ...] and a depth, but {tensor.name} has shape {tensor.shape}.",
                where=user_line(),
            )
        )
    return tensor if time_major else swapped(tensor)


def swapped(tensor: Tensor) -> Tensor:
    """The tensor with its first two dimensions the other way round."""
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError(describe(f"The rank of {tensor.name} is not known.", where=user_line()))
    return transpose(tensor, [1, 0, *range(2, rank)])


def start(cell: Any, initial_state: Any, batch: Any, dtype: DTypeLike | None) -> tuple[Any, DType]:
    """The state before the first step, and the type of the outputs."""
    if initial_state is not None:
        leaves, rebuild = nest.parse(initial_state)
        state = rebuild([convert_to_tensor(leaf) for leaf in leaves])
        nest.assert_same_structure(cell.state_size, state, check_types=False)
    elif dtype is None:
        raise ValueError(
            describe("If no initial_state is provided, argument `dtype` must be specified.", where=user_line())
        )
    elif (make := getattr(cell, "zero_state", None)) is not None:
        state = make(batch, dtype)
    else:
        state = cell.get_initial_state(inputs=None, batch_size=batch, dtype=dtype)
    if dtype is not None:
        return state, as_dtype(dtype)
    kinds = {leaf.dtype for leaf in nest.flatten(state)}
    if len(kinds) != 1:
        raise ValueError(
            describe(
                f"The initial state has tensors of several types, {sorted(map(str, kinds))}; say which one the outputs have "
                "by `dtype`.",
                where=user_line(),
            )
        )
    return state, kinds.pop()


def checked_lengths(values: TensorLike, batch: Any) -> Tensor:
    """Lengths as an int32 vector, with a check of its size in the run if the size is not known here."""
    lengths = cast(convert_to_tensor(values), "int32")
    sizes = lengths.static_shape
    if sizes is not None and len(sizes) != 1:
        raise ValueError(
            describe(
                f"sequence_length must be a vector of length batch_size, but it has shape {lengths.shape}.",
                where=user_line(),
            )
        )
    if sizes is not None and sizes[0] is not None and isinstance(batch, int):
        if sizes[0] != batch:
            raise ValueError(
                describe(f"sequence_length has {sizes[0]} entries for a batch of {batch} rows.", where=user_line())
            )
        return identity(lengths, name="sequence_length")
    count = shape(lengths)[0]
    check = Assert(equal(count, batch), ["sequence_length has", count, "entries, but the batch has", batch, "rows."])
    with lengths.graph.control_dependencies([check]):
        return identity(lengths, name="sequence_length")


def chosen(ended: Tensor, old: Any, new: Any) -> Any:
    """The old values in the rows that have ended, the new values in others; scalars and arrays are new."""

    def choose(before: Any, now: Any) -> Any:
        if isinstance(now, TensorArray) or now.static_shape == ():
            return now
        return where(ended, before, now)

    olds = nest.flatten(old, expand_composites=False)
    leaves, rebuild = nest.parse(new, expand_composites=False)
    return rebuild([choose(before, now) for before, now in zip(olds, leaves)])
