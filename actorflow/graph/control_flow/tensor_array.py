"""`TensorArray`: an array of tensors for loops (`tf.TensorArray`).

Here an array is a value. `write` gives another array that shares the other elements. `flow` is the tensor that carries the
array: it goes through loops, branches and gradients as any tensor does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base.dtypes import DType, DTypeLike, as_dtype
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, ShapeLike, as_shape, compatible, merge, show
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.shape import expand_dims, shape
from actorflow.graph.ops.flow import lists
from actorflow.graph.ops.flow.control import identity, no_op
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af")
class TensorArray:
    """An array of tensors of one type, each of which is written once.

    Example:
        >>> array = af.TensorArray(af.float32, size=3)
        >>> def body(i, array):
        ...     return i + 1, array.write(i, af.cast(i, af.float32) ** 2)
        >>> _, array = af.while_loop(lambda i, _: i < 3, body, [af.constant(0), array])
        >>> await session.run(array.stack())
        [0. 1. 4.]

    Args:
        dtype: the element type.
        size: the number of elements, an int32 scalar; 0 unless given.
        dynamic_size: whether writes behind the end make the array longer.
        clear_after_read, tensor_array_name, colocate_with_first_write_call: accepted for compatibility, without effect.
        handle: has to be None, unless a `flow` is given: a TensorArray is known by its flow.
        flow: the tensor that carries an existing array, to go on with it; `size` is then not given.
        infer_shape: whether all elements have one shape, that of the first write.
        element_shape: that shape, if it is known; an element that was not written is then zeros.

    Raises:
        ValueError: `handle` is given without `flow`, or both `flow` and `size` are.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if flow is None and handle is not None:
            raise ValueError("A TensorArray is known by its flow; there are no handles.")
        if flow is not None and size is not None:
            raise ValueError("A TensorArray of a flow that there is has a size already; `size` can't be given too.")
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._infer = infer_shape
        self._shape: Shape = as_shape(element_shape)
        self._adds = False  # whether writes add to what is there, and there may be several to one place
        self._flow = lists.reserve(0 if size is None else size, name=name or "TensorArray") if flow is None else flow

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def flow(self) -> Tensor:
        """The tensor that carries the array."""
        return self._flow

    @property
    def handle(self) -> Tensor:
        """The same as `flow`."""
        return self._flow

    @property
    def dynamic_size(self) -> bool:
        return self._dynamic

    @property
    def element_shape(self) -> Shape:
        return self._shape

    def identity(self) -> TensorArray:
        """The array, with the control dependencies in force here.

        Example:
            >>> array = af.TensorArray(af.float32, size=2).unstack([1.0, 2.0])
            >>> array.identity().stack()
            [1. 2.]
        """
        return self._with(identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """An array of zeros of this one's length and shapes, in which writes add to what is there (`TensorArray.grad`).

        `gradients` needs none: it goes through arrays as through other tensors. As all arrays here it is a value, so two
        calls give two arrays, whatever their `source`.

        Example:
            >>> array = af.TensorArray(af.float32, size=2).unstack([1.0, 2.0])
            >>> slopes = array.grad("loss").write(0, 5.0).write(0, 6.0)
            >>> slopes.stack()
            [11.  0.]

        Args:
            source: what the gradients are of; part of the node's name.
            flow: the flow of this array at the time in question; the latest one unless given.

        Returns:
            The array, each element of which may be written any number of times.
        """
        before = self._flow if flow is None else flow
        gradient = self._with(lists.list_zeros_like(before, name=name or f"TensorArrayGrad_{source}"))
        gradient._adds = True
        return gradient

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """The element at `index`.

        Example:
            >>> af.TensorArray(af.float32, size=2).unstack([1.0, 2.0]).read(1)
            2.0
        """
        return lists.get_item(
            self._flow, index, element_dtype=self._dtype, element_shape=self._shape, name=name or "TensorArrayRead"
        )

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with `value` at `index`. Raises ValueError where its shape is not the elements'."""
        tensor = self._element(value, 0)
        if self._adds:
            return self.scatter(expand_dims(index, 0), expand_dims(tensor, 0), name)
        flow = lists.set_item(
            self._flow, index, tensor, once=True, grows=self._dynamic, name=name or "TensorArrayWrite"
        )
        return self._with(flow, tensor.static_shape)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as the rows of one tensor."""
        return lists.stack_list(self._flow, element_dtype=self._dtype, element_shape=self._shape, name=name)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The elements at `indices` as the rows of one tensor.

        Example:
            >>> af.TensorArray(af.float32, size=3).unstack([1.0, 2.0, 3.0]).gather([2, 0])
            [3. 1.]
        """
        return lists.gather_list(self._flow, indices, element_dtype=self._dtype, element_shape=self._shape, name=name)

    def concat(self, name: str | None = None) -> Tensor:
        """The rows of all elements, one element after the other.

        Example:
            >>> array = af.TensorArray(af.float32, size=2, infer_shape=False).write(0, [1.0]).write(1, [2.0, 3.0])
            >>> array.concat()
            [1. 2. 3.]
        """
        return lists.concat_list(self._flow, element_dtype=self._dtype, element_shape=self._shape, name=name)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array of the rows of `value`.

        Example:
            >>> af.TensorArray(af.float32, size=2).unstack([[1.0, 2.0], [3.0, 4.0]]).read(0)
            [1. 2.]
        """
        tensor = self._element(value, 1)
        return self._scattered(range_(_rows(tensor)), tensor, True, name)

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with the rows of `value` at `indices`.

        Example:
            >>> af.TensorArray(af.float32, size=3).scatter([2, 0, 1], [1.0, 2.0, 3.0]).stack()
            [2. 3. 1.]
        """
        return self._scattered(indices, self._element(value, 1), self._dynamic, name)

    def _scattered(self, indices: TensorLike, rows: Tensor, grows: bool, name: str | None) -> TensorArray:
        flow = lists.scatter_list(
            self._flow, indices, rows, once=not self._adds, adds=self._adds, grows=grows, name=name
        )
        shape = rows.static_shape
        return self._with(flow, None if shape is None else shape[1:])

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """The array of pieces of `value`, with `lengths` as the rows of each.

        Example:
            >>> array = af.TensorArray(af.float32, size=2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2])
            >>> array.read(1)
            [2. 3.]
        """
        tensor = convert_to_tensor(value, self._dtype)
        flow = lists.split_list(tensor, cast(convert_to_tensor(lengths), "int64"), name=name)
        if self._adds:
            flow = lists.add_lists(self._flow, flow)
        rows = tensor.static_shape
        return self._with(flow, None if rows is None else (None, *rows[1:]))

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, int32.

        Example:
            >>> af.TensorArray(af.float32, size=3).size()
            3
        """
        return lists.length(self._flow, name=name)

    def close(self, name: str | None = None) -> Operation:
        """Does nothing: an array goes when no one uses it.

        Example:
            >>> await session.run(af.TensorArray(af.float32, size=3).close())
        """
        return no_op(name=name)

    def _element(self, value: TensorLike, skipped: int) -> Tensor:
        """`value` as a tensor whose shape, less the first `skipped` sizes, is that of the elements."""
        tensor = convert_to_tensor(value, self._dtype)
        shape = tensor.static_shape
        mine = None if shape is None else shape[skipped:]
        if shape is not None and len(shape) < skipped:
            raise ValueError(describe(f"{tensor.name} is a scalar, and has no rows.", where=user_line()))
        if self._infer and not compatible(self._shape, mine):
            raise ValueError(
                describe(
                    f"The elements of the TensorArray have shape {show(self._shape)}, but {show(mine)} is written.",
                    where=user_line(),
                    hint="With infer_shape=False elements may have different shapes.",
                )
            )
        return tensor

    def _with(self, flow: Tensor, shape: Shape = None) -> TensorArray:
        element_shape = merge(self._shape, shape) if self._infer else self._shape
        array = TensorArray(
            self._dtype, dynamic_size=self._dynamic, flow=flow, infer_shape=self._infer, element_shape=element_shape
        )
        array._adds = self._adds
        return array

    def _nest_parts(self) -> tuple[Sequence[Tensor], Callable[[Sequence[Tensor]], TensorArray]]:
        """See `actorflow.nest`."""
        return [self._flow], lambda parts: self._with(parts[0])

    def __repr__(self) -> str:
        return f"<actorflow.TensorArray of {self._dtype} {show(self._shape)} in {self._flow.name}>"


def _rows(tensor: Tensor) -> Any:
    static_shape = tensor.static_shape
    return shape(tensor)[0] if static_shape is None or static_shape[0] is None else static_shape[0]
