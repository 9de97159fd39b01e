"""The sources of datasets: the constructors of `Dataset`, and the classes of TensorFlow for records."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from actorflow.base.dtypes import DTypeLike, int64, string
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.graph.ops.flow.py_func import PythonFunction
from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from actorflow.models.data.node import DatasetNode, parameter, spec_of
from actorflow.models.data.spec import SparseTensorSpec, Spec, declared, dense_leaves, parse

if TYPE_CHECKING:
    from actorflow.models.data.dataset import Dataset

_BATCHES_AHEAD = 8


class Sources:
    """The constructors of `Dataset`."""

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element: `tensors`, a tensor or a structure of them.

        Example:
            >>> [x async for x in af.data.Dataset.from_tensors(([1, 2], "a"))]
            [([1 2], b'a')]

        Args:
            tensors: values or tensors; tuples and dicts are structures, lists are tensors.
            name: accepted for compatibility, without effect.
        """
        values, spec = _given(tensors)
        return _made("tensors", spec, tensors=values)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The rows of `tensors`: one element for each index of their first dimension.

        Example:
            >>> rows = af.data.Dataset.from_tensor_slices({"x": [1, 2], "y": ["a", "b"]})
            >>> [row async for row in rows]
            [{'x': 1, 'y': b'a'}, {'x': 2, 'y': b'b'}]

        Args:
            tensors: values or tensors of equal first sizes.
            name: accepted for compatibility, without effect.

        Raises:
            ValueError: a tensor is a scalar, or their first sizes differ.
        """
        values, spec = _given(tensors)
        if spec.sparse:
            return _sparse_slices(values, spec)
        sizes: set[int | None] = set()
        for leaf in dense_leaves(spec, "Slices"):
            if leaf.static_shape == ():
                raise ValueError("Unbatching a tensor is only supported for rank >= 1: a scalar has no slices.")
            sizes.add(None if leaf.static_shape is None else leaf.static_shape[0])
        if len(sizes - {None}) > 1:
            dimensions = sorted(size for size in sizes if size is not None)
            raise ValueError(f"Dimensions {dimensions} are not compatible: slices need tensors of one first size.")
        row = spec.map(
            lambda leaf: TensorSpec(None if leaf.static_shape is None else leaf.static_shape[1:], leaf.dtype)
        )
        return _made("slices", row, tensors=values)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """The rows of a sparse tensor, each a sparse tensor (`tf.data.Dataset.from_sparse_tensor_slices`).

        Example:
            >>> rows = af.data.Dataset.from_sparse_tensor_slices(af.SparseTensor([[0, 1], [2, 0]], [5, 7], [3, 2]))
            >>> [row.values.numpy().tolist() async for row in rows]
            [[5], [], [7]]

        Args:
            sparse_tensor: a SparseTensor or SparseTensorValue of rank 1 or more, its indices in order.

        Raises:
            TypeError: it is no sparse tensor.
        """
        if not isinstance(sparse_tensor, (SparseTensor, SparseTensorValue)):
            raise TypeError(
                f"`sparse_tensor` must be a `tf.SparseTensor` object, but it is a {type(sparse_tensor).__name__}."
            )
        return Sources.from_tensor_slices(sparse_tensor)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements that an ordinary generator gives, or an asynchronous generator, which holds no thread while it waits.

        An ordinary generator runs on a thread, some elements ahead of those who pull. It is called again for each iterator.

        Example:
            >>> async def lines():
            ...     for line in ("one", "two"):  # such as `async for message in subscription`
            ...         yield line
            >>> [x async for x in af.data.Dataset.from_generator(lines, af.string, [])]
            [b'one', b'two']

        Args:
            generator: a function that gives an iterable, an iterator or an asynchronous iterator.
            output_types: the element types, in the structure of the elements.
            output_shapes: their shapes, in the same structure; unknown unless given.
            args: what the function is called with: tensors or values, which it gets as arrays.
            output_signature: a structure of `TensorSpec`, in the place of types and shapes.
            name: accepted for compatibility, without effect.

        Raises:
            TypeError: `generator` is no function, or neither types nor a signature are given.

        In a run it raises InvalidArgumentError for an element of other types or shapes, after which the next one comes.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable: a function that gives an iterator.")
        if output_signature is not None:
            if output_types is not None or output_shapes is not None:
                raise TypeError("`output_signature` can not be used together with `output_types` or `output_shapes`.")
            spec = Spec(output_signature)
        elif output_types is None:
            raise TypeError("To create a dataset from a generator, state `output_signature` or `output_types`.")
        else:
            spec = declared(output_types, output_shapes)
        arguments = tuple([parameter(value) for value in args or ()])
        return _made("generator", spec, tensors=arguments, function=PythonFunction.known(generator))

    @staticmethod
    def range(*args: Any, output_type: DTypeLike = int64, name: str | None = None) -> Dataset:
        """Numbers as Python's `range` gives them: up to `stop`, from `start`, by `step`.

        Example:
            >>> [x async for x in af.data.Dataset.range(1, 10, 3)]
            [1, 4, 7]

        Args:
            args: stop; or start and stop; or start, stop and step: integers or scalar tensors.
            output_type: the element type.
            name: accepted for compatibility, without effect.

        Raises:
            ValueError: there are none or more than three numbers.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"A range has one to three numbers, but {len(args)} were given.")
        start, stop, step = ((0, *args, 1) if len(args) == 1 else (*args, 1))[:3]
        numbers = tuple([parameter(number, int64) for number in (start, stop, step)])
        return _made("range", Spec(TensorSpec((), output_type)), tensors=numbers)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of several datasets side by side, until the shortest of them ends.

        Example:
            >>> numbers, letters = af.data.Dataset.range(3), af.data.Dataset.from_tensor_slices(["a", "b"])
            >>> [pair async for pair in af.data.Dataset.zip((numbers, letters))]
            [(0, b'a'), (1, b'b')]

        Args:
            args: a structure of datasets, or several datasets.
            datasets: the structure, by its name.
            name: accepted for compatibility, without effect.

        Raises:
            TypeError: there are none, or something else is in the structure.
        """
        from actorflow.models.data.dataset import Dataset

        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
        parts, rebuild = parse(structure)
        for part in parts:
            if not isinstance(part, Dataset):
                raise TypeError(
                    f"`zip` joins datasets, but {part!r:.60} is a {type(part).__name__}; lists are not structures."
                )
        spec = Spec(rebuild([part.node.spec.structure for part in parts]))
        return _made("zip", spec, inputs=tuple([part.node for part in parts]))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """The names of the files that match patterns, as scalar strings. They are looked for when the iterator is made.

        Example:
            >>> for name in ("b.txt", "a.txt", "a.csv"):
            ...     open(name, "w").close()
            >>> [x async for x in af.data.Dataset.list_files("*.txt", shuffle=False)]
            [b'./a.txt', b'./b.txt']

        Args:
            file_pattern: a pattern such as `"/data/*.tfrecord"`, or several.
            shuffle: whether to give them in random order, which is so unless it is False; else they are sorted.
            seed: the seed of that order.
            name: accepted for compatibility, without effect.

        Raises in a run:
            InvalidArgumentError: there is no such file.
        """
        from actorflow.models.data.stages.shuffling import ALL

        names = _made("files", Spec(TensorSpec((), string)), tensors=(parameter(file_pattern, string),))
        return names if shuffle is False else names.shuffle(ALL, seed)


def _made(kind: str, spec: Spec, **keywords: Any) -> Dataset:
    from actorflow.models.data.dataset import Dataset

    return Dataset(DatasetNode(kind, spec, **keywords))


def from_batches(
    generator: Callable[[], Any], specs: Any, *, ahead: int = _BATCHES_AHEAD, exact: bool = False
) -> Dataset:
    """The elements of an ordinary generator that gives large elements, of which a thread keeps a few ahead.

    Args:
        generator: a function that gives an iterator.
        specs: a structure of `TensorSpec`.
        ahead: how many elements the thread keeps.
        exact: whether the elements are dicts of arrays of just these types and shapes, which no one writes later: they are
            neither checked nor copied.
    """
    options: dict[str, Any] = {"ahead": ahead} | ({"exact": True} if exact else {})
    return _made("generator", Spec(specs), function=PythonFunction.known(generator), options=options)


def _sparse_slices(values: tuple[Any, ...], spec: Spec) -> Dataset:
    """The rows of tensors of which some are sparse."""
    leaves = list(spec.leaves)
    rows: list[Any] = []
    for place, leaf in enumerate(leaves):
        if place in spec.sparse:
            shape = leaves[place + 2].static_shape
            rank = None if shape is None or shape[0] is None else shape[0] - 1
            rows += SparseTensorSpec(None if rank is None else [None] * rank, leaves[place + 1].dtype).parts
        elif len(rows) == place:
            rows.append(TensorSpec(None if leaf.static_shape is None else leaf.static_shape[1:], leaf.dtype))
    return _made("sparse_slices", Spec(spec.rebuild(rows)), tensors=values, options={"sparse": list(spec.sparse)})


def _given(structure: Any) -> tuple[tuple[Any, ...], Spec]:
    """The leaves of a structure as parameters, and what they look like."""
    parts, rebuild = parse(structure)
    if not parts:
        raise ValueError("A dataset's elements have at least one component.")
    values = tuple([parameter(part) for part in parts])
    return values, Spec(rebuild([spec_of(value) for value in values]))


def is_coroutine_function(function: Any) -> bool:
    """Whether a call of it is to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
