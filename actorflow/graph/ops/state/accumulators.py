"""Conditional accumulators: gradients of many steps, summed until enough have come (`tf.ConditionalAccumulator`).

Workers of synchronous training apply their gradients; who updates the variables takes the mean, and waits for it. A
gradient that was computed before the last taking is stale and dropped: see `local_step`. Sums of floating-point numbers
depend on their order; gradients that come with the number of their worker are added in the order of these numbers.
"""

from __future__ import annotations

from actorflow.base.dtypes import NUMERIC, DType, DTypeLike, as_dtype, int32, int64, resource
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike, as_shape, merge
from actorflow.graph import scopes
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.declare import RefLike, op
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.shape_rules import no_output, scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_HANDLE = {"handle": resource}
_REDUCTIONS = ("MEAN", "SUM")


def _accumulator(c: Inference) -> Shape:
    if c.attrs["dtype"] not in NUMERIC:
        raise TypeError(f"An accumulator adds numbers, not {c.attrs['dtype']}.")
    if c.attrs["reduction_type"] not in _REDUCTIONS:
        raise ValueError(f"reduction_type is MEAN or SUM, not {c.attrs['reduction_type']!r}.")
    return ()


@op("ConditionalAccumulator", shape=_accumulator, result=resource, gradient=None, stateful=True, work=0)
def conditional_accumulator(
    *,
    dtype: DTypeLike,
    shape: ShapeLike,
    container: str = "",
    shared_name: str = "",
    reduction_type: str = "MEAN",
    name: str | None = None,
) -> Tensor:
    """A reference to an accumulator of gradients of `dtype` and `shape`, in `container` under `shared_name` (else the
    node's name)."""


@op("SparseConditionalAccumulator", shape=_accumulator, result=resource, gradient=None, stateful=True, work=0)
def sparse_conditional_accumulator(
    *,
    dtype: DTypeLike,
    shape: ShapeLike,
    container: str = "",
    shared_name: str = "",
    reduction_type: str = "MEAN",
    name: str | None = None,
) -> Tensor:
    """`ConditionalAccumulator` of rows."""


@op(
    "AccumulatorApplyGradient",
    shape=no_output,
    dtypes=NUMERIC,
    types={**_HANDLE, "local_step": int64},
    result=None,
    gradient=None,
    stateful=True,
)
def accumulator_apply_gradient(
    handle: RefLike,
    local_step: TensorLike,
    gradient: TensorLike,
    *,
    worker: int = -1,
    most: int = 1,
    name: str | None = None,
) -> Operation:
    """Adds a gradient, unless `local_step` is before the accumulator's global step. The gradients of workers from 0 on are
    added in their order, up to `most` of each until they are taken; others (`worker` is -1) as they come.

    Raises InvalidArgumentError in the run where its shape is not the accumulator's."""


@op(
    "SparseAccumulatorApplyGradient",
    shape=no_output,
    dtypes=NUMERIC,
    types={**_HANDLE, "local_step": int64, "gradient_indices": int64, "gradient_shape": int64},
    result=None,
    gradient=None,
    stateful=True,
)
def sparse_accumulator_apply_gradient(
    handle: RefLike,
    local_step: TensorLike,
    gradient_indices: TensorLike,
    gradient_values: TensorLike,
    gradient_shape: TensorLike,
    *,
    has_known_shape: bool,
    worker: int = -1,
    most: int = 1,
    name: str | None = None,
) -> Operation:
    """`AccumulatorApplyGradient` of the rows `gradient_values[i]` at `gradient_indices[i]`."""


@op("AccumulatorNumAccumulated", shape=scalar, types=_HANDLE, result=int32, gradient=None, stateful=True, work=0)
def accumulator_num_accumulated(handle: RefLike, *, name: str | None = None) -> Tensor:
    """How many gradients have been added since the last taking."""


@op("AccumulatorNumDropped", shape=scalar, types=_HANDLE, result=int64, gradient=None, stateful=True, work=0)
def accumulator_num_dropped(handle: RefLike, *, name: str | None = None) -> Tensor:
    """How many gradients came too late, or one too many of their worker."""


@op("AccumulatorClose", shape=no_output, types=_HANDLE, result=None, gradient=None, stateful=True, work=0)
def accumulator_close(handle: RefLike, *, name: str | None = None) -> Operation:
    """Ends with CancelledError what waits at the accumulator, and what comes to wait until its global step is set again."""


@op(
    "AccumulatorLaterStep",
    shape=scalar,
    types={**_HANDLE, "after": int64},
    result=int64,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def accumulator_later_step(handle: RefLike, after: TensorLike, *, name: str | None = None) -> Tensor:
    """Waits until the accumulator's global step is later than `after`; gives that step."""


@op(
    "AccumulatorSetGlobalStep",
    shape=no_output,
    types={**_HANDLE, "new_global_step": int64},
    result=None,
    gradient=None,
    stateful=True,
    work=0,
)
def accumulator_set_global_step(handle: RefLike, new_global_step: TensorLike, *, name: str | None = None) -> Operation:
    """Sets the global step, which each taking counts up: gradients of earlier steps are dropped."""


def _step(number: TensorLike, graph: Graph) -> Tensor:
    """The number of a step, of whatever type of integers, as the ops take it."""
    from actorflow.graph.ops.math.cast import cast

    return cast(convert_to_tensor(number, preferred_dtype=int64, graph=graph), int64)


def _taken(c: Inference) -> Shape:
    shape: Shape = c.attrs["shape"]
    return shape


@op(
    "AccumulatorTakeGradient",
    shape=_taken,
    types={**_HANDLE, "num_required": int32},
    result="dtype",
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def accumulator_take_gradient(
    handle: RefLike, num_required: TensorLike, *, dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None
) -> Tensor:
    """Waits until `num_required` gradients (or more) have been added; gives their mean or sum, and starts again.

    Raises InvalidArgumentError in the run unless `num_required` is positive."""


def _taken_rows(c: Inference) -> list[Shape]:
    shape: Shape = c.attrs["shape"]
    values: Shape = None if not shape else (None, *shape[1:])
    return [(None,), values, (None if shape is None else len(shape),)]


@op(
    "SparseAccumulatorTakeGradient",
    shape=_taken_rows,
    types={**_HANDLE, "num_required": int32},
    result=(int64, "dtype", int64),
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def sparse_accumulator_take_gradient(
    handle: RefLike, num_required: TensorLike, *, dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """`AccumulatorTakeGradient` of rows: their indices, in order, the rows, and the shape of the whole."""


@public("tf")
class ConditionalAccumulatorBase:
    """The common part of both kinds of accumulators (`tf.ConditionalAccumulatorBase`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> isinstance(tf.ConditionalAccumulator(tf.float32), tf.ConditionalAccumulatorBase)
        True

    Args:
        dtype: the type of gradients.
        shape: the shape of gradients.
        accumulator_ref: the reference, of the type `resource`.
    """

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = as_shape(shape)
        self._ref = accumulator_ref

    @property
    def accumulator_ref(self) -> Tensor:
        """The reference, of the type `resource`."""
        return self._ref

    @property
    def name(self) -> str:
        return self._ref.op.name

    @property
    def dtype(self) -> DType:
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients are in it, an int32 scalar.

        Example:
            >>> sums = af.ConditionalAccumulator(af.float32, [])
            >>> await session.run(sums.apply_grad(1.0))
            >>> await session.run(sums.num_accumulated())
            1
        """
        return accumulator_num_accumulated(self._ref, name=name or f"{self.name}_num_accumulated")

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> Operation:
        """Sets the step before which gradients are stale. It opens an accumulator that was closed.

        Example:
            >>> sums = af.ConditionalAccumulator(af.float32, [])
            >>> await session.run(sums.set_global_step(5))
            >>> await session.run(sums.apply_grad(1.0, local_step=4))  # it comes too late
            >>> await session.run(sums.num_accumulated())
            0
        """
        return accumulator_set_global_step(self._ref, _step(new_global_step, self._ref.graph), name=name)

    def num_dropped(self, name: str | None = None) -> Tensor:
        """How many gradients were stale, or one too many of their worker, since the accumulator was made: an int64 scalar."""
        return accumulator_num_dropped(self._ref, name=name)

    def later_step(self, after: TensorLike, name: str | None = None) -> Tensor:
        """The global step, an int64 scalar, as soon as it is later than `after`: the run waits for that."""
        return accumulator_later_step(self._ref, after, name=name)

    def close(self, name: str | None = None) -> Operation:
        """Cancels what waits here, in whatever session, and what comes to wait until `set_global_step` is run.

        Example:
            >>> sums = af.ConditionalAccumulator(af.float32, [])
            >>> await session.run(sums.close())
        """
        return accumulator_close(self._ref, name=name)


@public("af")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums gradients until they are taken (`tf.ConditionalAccumulator`).

    Example:
        >>> sums = af.ConditionalAccumulator(af.float32, [])
        >>> gradient = af.placeholder(af.float32, [])
        >>> push = sums.apply_grad(gradient, local_step=0)
        >>> for value in [1.0, 4.0]:
        ...     await session.run(push, {gradient: value})
        >>> await session.run(sums.take_grad(2))
        2.5
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        """
        Args:
            dtype: the gradients' element type, a type of numbers.
            shape: of the gradients, as far as it is known.
            shared_name: accumulators of one name in one container are the same.
            reduction_type: MEAN or SUM of what was applied.

        Raises ValueError for another reduction.
        """
        graph = get_default_graph()
        handle = conditional_accumulator(
            dtype=dtype,
            shape=shape,
            container=scopes.of(graph).container,
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, handle)

    def apply_grad(
        self,
        grad: TensorLike,
        local_step: TensorLike = 0,
        name: str | None = None,
        *,
        worker: int | None = None,
        most: int = 1,
    ) -> Operation:
        """Adds a gradient.

        Args:
            grad: the gradient, of the accumulator's type and shape.
            local_step: the step in which it was computed, an integer scalar; it is dropped in silence where that is
                before the accumulator's.
            worker: the number of the worker that gives it, from 0 on. The gradient is added after those of the workers
                before, so that the sum is the same bit by bit in whatever order gradients come. None adds it when it comes.
            most: how many gradients of one worker are kept; more are dropped until the sum is taken.

        Raises:
            ValueError: its shape is known to be another; InvalidArgumentError where the run finds out.
        """
        gradient = convert_to_tensor(grad, self._dtype, graph=self._ref.graph)
        merge(self._shape, gradient.static_shape)
        return accumulator_apply_gradient(
            self._ref,
            _step(local_step, self._ref.graph),
            gradient,
            worker=-1 if worker is None else worker,
            most=most,
            name=name,
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Tensor:
        """The mean (or sum) of the gradients, when `num_required` have been applied: the run waits for them. Then the
        accumulator is empty, and its global step one further."""
        return accumulator_take_gradient(self._ref, num_required, dtype=self._dtype, shape=self._shape, name=name)


@public("af", "tf.sparse")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums gradients that are rows, index by index, until they are taken (`tf.SparseConditionalAccumulator`).

    The mean of a row is over those gradients that have it.

    Example:
        >>> sums = af.SparseConditionalAccumulator(af.float32, [None, 1], reduction_type="SUM")
        >>> push = sums.apply_grad(grad_indices=[3, 5], grad_values=[[1.0], [2.0]])
        >>> for _ in range(2):
        ...     await session.run(push)
        >>> taken = await session.run(sums.take_indexed_slices_grad(2))
        >>> taken.indices, taken.values
        ([3 5], [[2.]
                 [4.]])
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        """
        Args:
            dtype: the gradients' element type, a type of numbers.
            shape: of the whole gradient, as far as it is known.
            shared_name: accumulators of one name in one container are the same.
            reduction_type: MEAN or SUM of what was applied.

        Raises ValueError for another reduction.
        """
        graph = get_default_graph()
        handle = sparse_conditional_accumulator(
            dtype=dtype,
            shape=shape,
            container=scopes.of(graph).container,
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(
        self,
        grad: IndexedSlices,
        local_step: TensorLike = 0,
        name: str | None = None,
        *,
        worker: int | None = None,
        most: int = 1,
    ) -> Operation:
        """`apply_grad` of what an IndexedSlices holds.

        Example:
            >>> sums = af.SparseConditionalAccumulator(af.float32, [None, 1])
            >>> await session.run(sums.apply_indexed_slices_grad(af.IndexedSlices([[2.0]], af.constant([3], af.int64))))
            >>> await session.run(sums.num_accumulated())
            1

        Args:
            grad: the rows of a gradient, their indices and its shape.
            local_step: the step in which it was computed, as in `ConditionalAccumulator.apply_grad`.
            worker, most: the worker that gives it, and how many of its gradients are kept, as there.
        """
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name, worker=worker, most=most)

    def apply_grad(
        self,
        grad_indices: TensorLike,
        grad_values: TensorLike,
        grad_shape: TensorLike | None = None,
        local_step: TensorLike = 0,
        name: str | None = None,
        *,
        worker: int | None = None,
        most: int = 1,
    ) -> Operation:
        """Adds the rows `grad_values[i]` at `grad_indices[i]` of a gradient.

        Args:
            grad_indices: a vector of integers, the rows.
            grad_values: as many rows, of the accumulator's type.
            grad_shape: a vector, the shape of the whole gradient; None if unknown.
            local_step: the step in which it was computed, as in `ConditionalAccumulator.apply_grad`.
            worker, most: the worker that gives it, and how many of its gradients are kept, as there.

        Raises:
            InvalidArgumentError: they don't fit, or an index is outside, in the run.
        """
        from actorflow.graph.ops.math.cast import cast

        graph = self._ref.graph
        return sparse_accumulator_apply_gradient(
            self._ref,
            _step(local_step, graph),
            cast(convert_to_tensor(grad_indices, preferred_dtype=int64, graph=graph), int64),
            convert_to_tensor(grad_values, self._dtype, graph=graph),
            cast(
                convert_to_tensor([] if grad_shape is None else grad_shape, preferred_dtype=int64, graph=graph), int64
            ),
            has_known_shape=grad_shape is not None,
            worker=-1 if worker is None else worker,
            most=most,
            name=name,
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The indices, the rows' means (or sums) and the whole shape, when `num_required` gradients have been applied.

        Example:
            >>> sums = af.SparseConditionalAccumulator(af.float32, [None, 1])
            >>> await session.run(sums.apply_grad(grad_indices=[3, 5], grad_values=[[1.0], [2.0]]))
            >>> indices, values, shape = sums.take_grad(1)
            >>> await session.run([indices, values])
            [[3 5], [[1.]
                     [2.]]]
        """
        return sparse_accumulator_take_gradient(
            self._ref, num_required, dtype=self._dtype, shape=self._shape, name=name
        )

    def take_indexed_slices_grad(self, num_required: TensorLike, name: str | None = None) -> IndexedSlices:
        """`take_grad` as an IndexedSlices."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)
