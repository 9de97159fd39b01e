"""`PartitionedVariable`: a variable that is kept in slices, which may live on several devices (`tf.PartitionedVariable`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base.dtypes import DType, DTypeLike, as_dtype
from actorflow.base.shapes import Shape, TensorShape, show
from actorflow.graph.convert import register_tensor_conversion_function
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.join import concat, split
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.overloads import Overloads
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.graph.variables.variable import Variable
from actorflow.public import public


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """An initializer's knowledge of the slice that it makes: the shape of the whole variable, and where the slice begins."""

    full_shape: list[int]
    var_offset: list[int]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The dimension in which a slice of this shape is smaller than the whole; None without such a dimension.

        Raises ValueError where the ranks differ, it sticks out, or it is smaller in several dimensions."""
        if len(shape) != len(self.full_shape):
            raise ValueError(f"Expected equal rank, but received shape={list(shape)} and full_shape={self.full_shape}.")
        if any(o + s > f for o, s, f in zip(self.var_offset, shape, self.full_shape)):
            raise ValueError(f"shape={list(shape)} at {self.var_offset} exceeds full_shape={self.full_shape}.")
        cut = [d for d, (size, most) in enumerate(zip(shape, self.full_shape)) if size != most]
        if len(cut) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape={list(shape)} and full_shape={self.full_shape}."
            )
        return cut[0] if cut else None

    def single_offset(self, shape: Sequence[int]) -> int:
        """The offset of a slice of this shape in the one dimension in which it is smaller."""
        dimension = self.single_slice_dim(shape)
        return 0 if dimension is None else self.var_offset[dimension]


@dataclass(frozen=True, slots=True)
class SaveSliceInfo:
    """Under which name a checkpoint keeps a slice, and which part of that it is (`tf.Variable.SaveSliceInfo`)."""

    full_name: str
    full_shape: tuple[int, ...]
    var_offset: tuple[int, ...]
    var_shape: tuple[int, ...]

    @property
    def spec(self) -> str:
        """As text: "10 3 0,5:0,3" are the first 5 rows of 10."""
        part = ":".join(f"{offset},{size}" for offset, size in zip(self.var_offset, self.var_shape))
        return f"{' '.join(map(str, self.full_shape))} {part}"


@public("af")
class PartitionedVariable(Overloads):
    """The slices of a variable, in their order, and what stands for all of it. `get_variable(partitioner=...)` makes it.

    If an op wants a tensor, its slices' values are put together; `nn.embedding_lookup` takes rows from the slices on
    their devices. Optimizers change the slices, which are variables. Iterating gives them.

    Example:
        >>> table = af.get_variable("table", [5, 2], partitioner=af.fixed_size_partitioner(2))
        >>> [part.shape.as_list() for part in table]
        [[3, 2], [2, 2]]
        >>> ids = af.placeholder(af.int32, [None])
        >>> af.nn.embedding_lookup(table, ids, partition_strategy="div").shape
        TensorShape([None, 2])
    """

    __array_priority__ = 100
    _kind = "variable"

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        dtype: DTypeLike,
        variable_list: Sequence[Variable],
        partitions: Sequence[int],
    ) -> None:
        """
        Args:
            name: the name of the whole.
            shape: the shape of the whole, fully known.
            dtype: the type of the values.
            variable_list: the slices in their order, each of which knows its place (see `SaveSliceInfo`).
            partitions: the number of slices along each dimension.

        Raises:
            ValueError: the arguments do not match each other.
        """
        if len(shape) != len(partitions):
            raise ValueError(
                f"There are {len(shape)} dimensions, but {len(partitions)} numbers of slices: {partitions}."
            )
        for variable in variable_list:
            if variable._save_slice_info is None:
                raise ValueError(f"{variable.name} does not know which slice it is: it has no save_slice_info.")
        self._name = name
        self._shape = tuple(shape)
        self._dtype = as_dtype(dtype)
        self._variables = list(variable_list)
        self._partitions = list(partitions)
        self._whole: Tensor | None = None

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def _get_variable_list(self) -> list[Variable]:
        return list(self._variables)

    def _get_partitions(self) -> list[int]:
        return list(self._partitions)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def static_shape(self) -> Shape:
        """The shape of the whole as a plain tuple."""
        return self._shape

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self._shape)

    def get_shape(self) -> TensorShape:
        """The static shape of the whole, as `shape` gives it.

        Example:
            >>> with af.Graph().as_default():
            ...     af.get_variable("table", [5, 2], partitioner=af.fixed_size_partitioner(2)).get_shape()
            TensorShape([5, 2])
        """
        return self.shape

    @property
    def graph(self) -> Graph:
        return self._variables[0].graph

    @property
    def axis(self) -> int:
        """The dimension along which it is cut; 0 for a variable in one piece."""
        return next((d for d, count in enumerate(self._partitions) if count > 1), 0)

    def as_tensor(self) -> Tensor:
        """The slices' values as one tensor, read outside of all control dependencies.

        Example:
            >>> part = af.fixed_size_partitioner(2)
            >>> table = af.get_variable("table", [3, 1], initializer=af.ones_initializer(), partitioner=part)
            >>> await session.run(af.global_variables_initializer())
            >>> await session.run(table.as_tensor())
            [[1.]
             [1.]
             [1.]]
        """
        graph = self.graph
        with graph.as_default(), graph.control_dependencies(None):
            with graph.name_scope(None), graph.name_scope(f"{self._name}/ConcatPartitions/"):
                whole = self._variables[0].value() if len(self) == 1 else concat(list(self._variables), self.axis)
            with graph.name_scope(None):
                return identity(whole, name=self._name)

    def _as_graph_element(self) -> Tensor:
        """The result of fetching it: made once, so that fetching adds nothing to the graph."""
        if self._whole is None:
            self._whole = self.as_tensor()
        return self._whole

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """`Variable.assign` of each slice.

        Args:
            value: the new value of the whole.
            use_locking: accepted for compatibility, without effect: each slice is updated atomically.
            name: the name of the operations.
            read_value: whether to return the new values as tensors, instead of operations.

        Returns:
            A list of the slices' results, in their order.
        """
        return self._each(Variable.assign, value, name, read_value)

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """`Variable.assign_add` of each slice.

        Args:
            delta: what to add, in the shape of the whole.
            use_locking: accepted for compatibility, without effect: each slice is updated atomically.
            name: the name of the operations.
            read_value: whether to return the new values as tensors, instead of operations.

        Returns:
            A list of the slices' results, in their order.
        """
        return self._each(Variable.assign_add, delta, name, read_value)

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """`Variable.assign_sub` of each slice.

        Args:
            delta: what to subtract, in the shape of the whole.
            use_locking: accepted for compatibility, without effect: each slice is updated atomically.
            name: the name of the operations.
            read_value: whether to return the new values as tensors, instead of operations.

        Returns:
            A list of the slices' results, in their order.
        """
        return self._each(Variable.assign_sub, delta, name, read_value)

    def _each(self, assign: Callable[..., Any], value: TensorLike, name: str | None, read_value: bool) -> list[Any]:
        sizes = [(v.static_shape or ())[self.axis] for v in self._variables]
        with self.graph.as_default():
            parts = split(value, sizes, self.axis)
            return [assign(v, part, name=name, read_value=read_value) for v, part in zip(self._variables, parts)]

    def __repr__(self) -> str:
        return (
            f"<actorflow.PartitionedVariable {self.name!r} shape={show(self._shape)} dtype={self.dtype} "
            f"slices={self._partitions}>"
        )


def slices_of(shape: Sequence[int], counts: Any, name: str) -> list[tuple[PartitionInfo, list[int]]]:
    """The place and shape of each slice of a variable of this shape, by the numbers that a partitioner gave.

    The first slices are larger by 1 in an uneven division, as in `nn.embedding_lookup` with the strategy "div".

    Raises:
        ValueError: these are no such numbers.
    """
    if not isinstance(counts, Sequence) or len(counts) != len(shape):
        raise ValueError(
            f"Partitioner returned a partition list that does not match the variable's rank, for {name}: {counts!r:.60} vs "
            f"{show(tuple(shape))}"
        )
    if any(count < 1 for count in counts):
        raise ValueError(f"Partitioner returned zero partitions for some axes, for {name}: {list(counts)}")
    cut = [d for d, count in enumerate(counts) if count > 1]
    if len(cut) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {list(shape)}, partitions: {list(counts)}"
        )
    axis = cut[0] if cut else 0
    each, more = divmod(shape[axis], counts[axis])
    if not each and counts[axis] > 1:
        raise ValueError(
            f"The dimension {axis} of {name} has {shape[axis]} elements, too few for {counts[axis]} slices."
        )
    slices = []
    begin = 0
    for number in range(counts[axis]):
        size = each + (number < more)
        place = PartitionInfo(list(shape), [begin if d == axis else 0 for d in range(len(shape))])
        slices.append((place, [size if d == axis else most for d, most in enumerate(shape)]))
        begin += size
    return slices


def _read(variable: PartitionedVariable, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    return variable.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _read)
