"""`Iterator`: the one-shot, initializable, reinitializable and feedable iterators of graphs (`tf.data.Iterator`)."""

from __future__ import annotations

from collections.abc import Iterator as Nodes
from typing import Any

import msgpack

from actorflow.base import nest
from actorflow.base.dtypes import string
from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph import scopes
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.flow.py_func import PythonFunction, keep, kept
from actorflow.graph.ops.io import iterators as ops
from actorflow.graph.tensor import Operation, Tensor
from actorflow.models.data.functions.function import DatasetFunction
from actorflow.models.data.iteration import Iterable
from actorflow.models.data.node import DatasetNode, encode, unbound, value_of
from actorflow.models.data.spec import Spec, declared, shapes_of, tensor_leaves, types_of
from actorflow.public import public


@public("af.data")
class Iterator:
    """An iterator in a graph (`tf.data.Iterator`): each run of what `get_next` gives takes one element.

    It is state of its device, of a task too (`af.device`). An element that is not there yet is waited for without a thread. Its
    state is in the checkpoints of its session. At the end a run raises OutOfRangeError, and so do all later runs.

    Example:
        >>> numbers = af.data.Dataset.range(2)
        >>> iterator = numbers.make_initializable_iterator()
        >>> x = iterator.get_next()
        >>> await session.run(iterator.initializer)
        >>> await session.run(x), await session.run(x)
        (0, 1)
        >>> await session.run(x)
        Traceback (most recent call last):
            ...
        actorflow.errors.OutOfRangeError: End of sequence.
    """

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> None:
        """Made by the methods of a Dataset and of this class.

        Args:
            iterator_resource: the iterator's handle.
            initializer: the operation that begins it.
            output_types: the element types, a structure; or the whole description of the elements.
            output_shapes: the shapes, in the same structure; unknown unless given.
            output_classes: `Tensor` or `SparseTensor`, in the same structure; `Tensor` unless given.
        """
        spec = output_types if isinstance(output_types, Spec) else declared(output_types, output_shapes, output_classes)
        self._handle, self._initializer, self._spec = iterator_resource, initializer, spec

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
    ) -> Iterator:
        """An iterator without a dataset: `make_initializer` gives it datasets, in turns.

        Example:
            >>> iterator = af.data.Iterator.from_structure(af.int64, [])
            >>> train, test = (iterator.make_initializer(af.data.Dataset.range(n, n + 9)) for n in (0, 100))
            >>> x = iterator.get_next()
            >>> await session.run(train)
            >>> await session.run(x)
            0
            >>> await session.run(test)
            >>> await session.run(x)
            100

        Args:
            output_types: the element types, a structure.
            output_shapes: the shapes, in the same structure; unknown unless given.
            shared_name: sessions that share a container find the same iterator under this name.
            output_classes: `Tensor` or `SparseTensor`, in the same structure; `Tensor` unless given.
        """
        spec = declared(output_types, output_shapes, output_classes)
        return Iterator(_handle(spec, shared_name), None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator that a fed string names: what `string_handle()` of another iterator gave in this session.

        Example:
            >>> numbers = af.data.Dataset.range(5).make_one_shot_iterator()
            >>> which = af.placeholder(af.string, [])
            >>> x = af.data.Iterator.from_string_handle(which, af.int64, []).get_next()
            >>> await session.run(x, {which: await session.run(numbers.string_handle())})
            0

        Args:
            string_handle: a scalar string.
            output_types: the element types, a structure.
            output_shapes: the shapes, in the same structure; unknown unless given.
            output_classes: `Tensor` or `SparseTensor`, in the same structure; `Tensor` unless given.
        """
        spec = declared(output_types, output_shapes, output_classes)
        handle_string = convert_to_tensor(string_handle, string)
        handle = ops.iterator_from_string_handle(handle_string, output_types=_types(spec), output_shapes=_shapes(spec))
        return Iterator(handle, None, spec)

    @property
    def initializer(self) -> Operation:
        """The operation that begins it, or begins it again. Raises ValueError for an iterator without an initializer."""
        if self._initializer is None:
            raise ValueError(
                "Iterator does not have an initializer: a one-shot iterator needs none; see make_initializer."
            )
        return self._initializer

    def make_initializer(self, dataset: Iterable, name: str | None = None) -> Operation:
        """An operation that begins this iterator with a dataset.

        Example:
            >>> iterator = af.data.Iterator.from_structure(af.int64, [])
            >>> begin = iterator.make_initializer(af.data.Dataset.range(7, 9))
            >>> await session.run(begin)
            >>> await session.run(iterator.get_next())
            7

        Args:
            dataset: a dataset whose elements have the iterator's types and shapes.
            name: the name of the operation.

        Raises:
            TypeError: the dataset's elements have other types or shapes.
            ValueError: they have another structure.
        """
        node, spec = dataset.node, self._spec
        expected, types = types_of(spec), types_of(node.spec)
        if expected != types:
            message = f"Expected output types {expected!r} but got dataset with output types {types!r}."
            nest.assert_same_structure(expected, types)  # raises ValueError where more than the types differs
            raise TypeError(message)
        from actorflow.base.shapes import compatible

        for leaf, other in zip(spec.leaves, node.spec.leaves):
            if not compatible(leaf.static_shape, other.static_shape):
                raise TypeError(
                    f"Expected output shapes compatible with {shapes_of(spec)!r} but got dataset with output shapes "
                    f"{shapes_of(node.spec)!r}."
                )
        return _initializer(self._handle, node, name)

    def get_next(self, name: str | None = None) -> Any:
        """The next element: tensors in the dataset's structure. Two calls take two elements in one run.

        Example:
            >>> x, y = af.data.Dataset.from_tensors((1, "a")).make_one_shot_iterator().get_next()
            >>> await session.run([x, y])
            [1, b'a']

        Args:
            name: the name of the node.

        Raises in a run:
            OutOfRangeError: there are no more elements.
            FailedPreconditionError: the initializer has not run.
        """
        outputs = ops.iterator_get_next(
            self._handle, output_types=_types(self._spec), output_shapes=_shapes(self._spec), name=name
        )
        return self._spec.rebuild(list(outputs) if isinstance(outputs, tuple) else [outputs])

    def string_handle(self, name: str | None = None) -> Tensor:
        """A scalar string that names this iterator, for `from_string_handle`.

        Example:
            >>> numbers = af.data.Dataset.range(5).make_one_shot_iterator()
            >>> len(await session.run(numbers.string_handle())) > 0
            True

        Args:
            name: the name of the node.
        """
        return ops.iterator_to_string_handle(self._handle, name=name)

    @property
    def element_spec(self) -> Any:
        """The type and shape of each component."""
        return self._spec.structure

    @property
    def output_types(self) -> Any:
        """The element types, in the structure of the elements."""
        return types_of(self._spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes, in the structure of the elements."""
        return shapes_of(self._spec)

    @property
    def output_classes(self) -> Any:
        """`Tensor` for each component."""
        return self._spec.rebuild([Tensor for _ in self._spec.leaves])


@public("tf.data")
def make_one_shot_iterator(dataset: Iterable) -> Iterator:
    """`dataset.make_one_shot_iterator()` (`tf.compat.v1.data.make_one_shot_iterator`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> x = tf.data.make_one_shot_iterator(af.data.Dataset.range(2)).get_next()
        >>> await session.run(x), await session.run(x)
        (0, 1)
    """
    return one_shot(dataset.node)


@public("tf.data")
def make_initializable_iterator(dataset: Iterable, shared_name: str | None = None) -> Iterator:
    """`dataset.make_initializable_iterator(shared_name)` (`tf.compat.v1.data.make_initializable_iterator`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> iterator = tf.data.make_initializable_iterator(af.data.Dataset.range(2))
        >>> await session.run(iterator.initializer)
        >>> await session.run(iterator.get_next())
        0
    """
    return initializable(dataset.node, shared_name)


@public("tf.data")
def get_output_types(dataset_or_iterator: Any) -> Any:
    """The element types of a dataset or an iterator, in the structure of its elements.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.data.get_output_types(af.data.Dataset.range(3))
        actorflow.int64
    """
    return dataset_or_iterator.output_types


@public("tf.data")
def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of a dataset or an iterator, in the structure of its elements.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.data.get_output_shapes(af.data.Dataset.range(6).batch(2, drop_remainder=True))
        TensorShape([Dimension(2)])
    """
    return dataset_or_iterator.output_shapes


@public("tf.data")
def get_output_classes(dataset_or_iterator: Any) -> Any:
    """`Tensor` for each component of a dataset or an iterator.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.data.get_output_classes(af.data.Dataset.range(3)) is af.Tensor
        True
    """
    return dataset_or_iterator.output_classes


def initializable(node: DatasetNode, shared_name: str | None) -> Iterator:
    """See `Dataset.make_initializable_iterator`."""
    tensor_leaves(node.spec)
    handle = _handle(node.spec, shared_name)
    return Iterator(handle, _initializer(handle, node, None), node.spec)


def one_shot(node: DatasetNode) -> Iterator:
    """See `Dataset.make_one_shot_iterator`."""
    spec = node.spec
    tensor_leaves(spec)
    for tensor in unbound(node):
        _check_constant(tensor)
    components, description = _described(node)
    handle = ops.one_shot_iterator(
        components,
        description=description,
        output_types=_types(spec),
        output_shapes=_shapes(spec),
        container=scopes.of(get_default_graph()).container,
    )
    return Iterator(handle, None, spec)


def single_element(node: DatasetNode, found: list[Any] | None) -> Any:
    """See `Dataset.get_single_element`; `found` are the elements, or None for elements that are not known."""
    if found is not None:
        ops.check_single(len(found))
        return found[0]
    spec = node.spec
    tensor_leaves(spec)
    components, description = _described(node)
    outputs = ops.dataset_to_single_element(
        components, description=description, output_types=_types(spec), output_shapes=_shapes(spec)
    )
    return spec.rebuild(list(outputs) if isinstance(outputs, tuple) else [outputs])


def _handle(spec: Spec, shared_name: str | None) -> Tensor:
    return ops.iterator_v2(
        output_types=_types(spec),
        output_shapes=_shapes(spec),
        container=scopes.of(get_default_graph()).container,
        shared_name=shared_name or "",
    )


def _initializer(handle: Tensor, node: DatasetNode, name: str | None) -> Operation:
    components, description = _described(node)
    attrs = {"description": description}  # tables are among the components: `make_iterator` takes values only
    return get_default_graph().create_op("MakeIterator", [handle, *components], attrs, name)


def _types(spec: Spec) -> tuple[Any, ...]:
    return tuple([leaf.dtype for leaf in tensor_leaves(spec)])


def _shapes(spec: Spec) -> tuple[Any, ...]:
    return tuple([leaf.static_shape for leaf in tensor_leaves(spec)])


def _described(node: DatasetNode) -> tuple[list[Tensor], bytes]:
    """The tensors of a description, those with values as constants; and the description."""
    graph = get_default_graph()
    for function in _python_functions(node):
        keep(graph, function)
    tensors: dict[Any, int] = {}
    description = msgpack.packb(encode(node, tensors), use_bin_type=True, unicode_errors="surrogateescape")
    return [convert_to_tensor(value_of(key)) for key in tensors], description


def _python_functions(node: DatasetNode) -> Nodes[PythonFunction]:
    """The functions of Python of a description, which live in this process."""
    if isinstance(node.function, PythonFunction):
        yield node.function
    elif isinstance(node.function, DatasetFunction):
        yield from kept(node.function.graph)
        for leaf in node.function.leaves:
            if isinstance(leaf, DatasetNode):
                yield from _python_functions(leaf)
    for below in node.inputs:
        yield from _python_functions(below)


def _check_constant(tensor: Tensor) -> None:
    """Raises ValueError where a tensor needs a feed or a variable."""
    stack, seen = [tensor.op], {tensor.op.name}
    while stack:
        operation = stack.pop()
        if operation.type.startswith("Placeholder"):
            raise ValueError(
                describe(
                    f"Cannot capture a placeholder (name:{operation.name}, type:{operation.type}) by value: a one-shot "
                    "iterator is not initialized in a run.",
                    where=user_line(),
                    hint="Use Dataset.make_initializable_iterator(), and feed its initializer.",
                )
            )
        if any(output.dtype.is_ref for output in operation.outputs):
            raise ValueError(
                describe(
                    "Failed to create a one-shot iterator for a dataset: `Dataset.make_one_shot_iterator()` does not support "
                    f"datasets that capture stateful objects, such as {operation.name}, a {operation.type}.",
                    where=user_line(),
                    hint="Use Dataset.make_initializable_iterator(), and run its initializer.",
                )
            )
        for source in operation.inputs:
            if source.op.name not in seen:
                seen.add(source.op.name)
                stack.append(source.op)
