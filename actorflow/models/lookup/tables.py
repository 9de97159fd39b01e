"""`StaticHashTable`, which is filled once, and `MutableHashTable`."""

from __future__ import annotations

from typing import Any, TypeVar

from actorflow.base.dtypes import DTypeLike, as_dtype
from actorflow.base.shapes import is_static
from actorflow.graph import scopes
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.lookup import tables as ops
from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.lookup.initializers import KeysToValues, TableInitializerBase
from actorflow.public import public

Keys = TypeVar("Keys", TensorLike, SparseTensor)


class LookupInterface(KeysToValues):
    """The base of all tables: the types of keys and values, `lookup` and `size`."""

    @property
    def name(self) -> str:
        """The name of the table's node, without its scope."""
        raise NotImplementedError

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are, an int64 scalar."""
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of `keys`."""
        raise NotImplementedError

    def __getitem__(self, keys: Any) -> Any:
        """`lookup`."""
        return self.lookup(keys)

    def _keys_of(self, keys: Any) -> Tensor:
        """Keys as a tensor. Raises TypeError for keys of another type."""
        tensor = keys.values if isinstance(keys, SparseTensor) else keys
        if isinstance(tensor, Tensor):
            if tensor.dtype.base_dtype is not self._key_dtype:
                raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype}, received: {tensor.dtype}.")
            return tensor
        return convert_to_tensor(tensor, self._key_dtype)


class _Stored(LookupInterface):
    """A table that a device holds."""

    def __init__(self, handle: Tensor, key_dtype: DTypeLike, value_dtype: DTypeLike, default: Tensor) -> None:
        super().__init__(key_dtype, value_dtype)
        self._handle, self._default = handle, default

    @property
    def resource_handle(self) -> Tensor:
        """The handle, which the ops take."""
        return self._handle

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not there."""
        return self._default

    @property
    def name(self) -> str:
        return self._handle.op.name.rpartition("/")[2]

    def size(self, name: str | None = None) -> Tensor:
        return ops.size(self._handle, name=name or f"{self.name}_Size")

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and their values, in the order in which the keys came."""
        keys, values = ops.export(
            self._handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype, name=name or f"{self.name}_Export"
        )
        shape = self._default.static_shape
        values.set_shape(None if shape is None else (None, *shape))
        return keys, values

    def _find(self, keys: Any, default: Tensor, name: str | None) -> Any:
        keys = SparseTensor.from_value(keys) if isinstance(keys, SparseTensorValue) else keys
        tensor = self._keys_of(keys)
        values = ops.find(self._handle, tensor, default, name=name or f"{self.name}_Lookup")
        shape, row = tensor.static_shape, self._default.static_shape
        if shape is not None and row is not None:
            values.set_shape((*shape, *row))
        return SparseTensor(keys.indices, values, keys.dense_shape) if isinstance(keys, SparseTensor) else values


@public("af.lookup", "af.lookup:HashTable")
class StaticHashTable(_Stored):
    """A table that is filled once, by its initializer, and does not change (`tf.lookup.StaticHashTable`).

    table = af.lookup.StaticHashTable(af.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), default_value=-1)
    values = table.lookup(af.constant(["b", "c"]))   # 2 and -1

    Example:
        >>> content = af.lookup.KeyValueTensorInitializer(["one", "two"], af.constant([1, 2], af.int64))
        >>> table = af.lookup.StaticHashTable(content, default_value=-1)
        >>> await session.run(table.initializer)
        >>> await session.run(table.lookup(["two", "three"]))
        [ 2 -1]
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: TensorLike,
        name: str | None = None,
        shared_name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """
        Args:
            initializer: where the content comes from; it says the types too.
            default_value: the value of keys that are not there, a scalar.
            shared_name: sessions that share a container (`af.container`) find the same table under this name.
            experimental_is_anonymous: accepted for compatibility: a table goes with its session or container.

        Raises:
            TypeError: the keys are neither integers nor strings.
            ValueError: the default is no scalar.
        """
        key, value = initializer.key_dtype, initializer.value_dtype
        graph = get_default_graph()
        with graph.control_dependencies(None):
            default = convert_to_tensor(default_value, value, name="Const")
            if default.static_shape not in (None, ()):
                raise ValueError(f"A default value is a scalar, but its shape is {default.static_shape}.")
            handle = ops.hash_table(
                key_dtype=key,
                value_dtype=value,
                container=scopes.of(graph).container,
                shared_name=shared_name or "",
                name=name or "hash_table",
            )
        super().__init__(handle, key, value, default)
        self._initializer = initializer.initialize(self)

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        return self._initializer

    @property
    def init(self) -> Operation:
        """An older name of `initializer`."""
        return self._initializer

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of `keys`, a tensor or a sparse tensor, in the same shape.

        Raises:
            TypeError: the keys are of another type.
            FailedPreconditionError: the table has no content yet, in the run.
        """
        return self._find(keys, self._default, name)


@public("af.lookup")
class MutableHashTable(_Stored):
    """A table that changes (`tf.lookup.experimental.MutableHashTable`).

    table = af.lookup.MutableHashTable(af.string, af.int64, default_value=-1)
    await session.run(table.insert(["a", "b"], [1, 2]))
    print(await session.run(table.lookup(["b", "c"])))   # 2 and -1

    Example:
        >>> table = af.lookup.MutableHashTable(af.string, af.int64, default_value=0)
        >>> await session.run(table.insert(["a", "b"], af.constant([1, 2], af.int64)))
        >>> await session.run(table.remove(["a"]))
        >>> await session.run(table.lookup(["a", "b"]))
        [0 2]
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str | None = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
        shared_name: str | None = None,
    ) -> None:
        """
        Args:
            key_dtype: integers or strings.
            value_dtype: the type of the values.
            default_value: the value of keys that are not there; its shape is that of each value.
            checkpoint: whether the content is in the checkpoints of the session.
            experimental_is_anonymous: accepted for compatibility: a table goes with its session or container.
            shared_name: sessions that share a container (`af.container`) find the same table under this name.

        Raises:
            TypeError: the keys are neither integers nor strings.
            ValueError: the shape of the default is not known.
        """
        graph = get_default_graph()
        with graph.control_dependencies(None):
            default = convert_to_tensor(default_value, as_dtype(value_dtype), name="Const")
            shape = default.static_shape
            if not is_static(shape):
                raise ValueError("The default value of a table has to have a known shape, which is that of each value.")
            handle = ops.mutable_hash_table(
                key_dtype=as_dtype(key_dtype),
                value_dtype=as_dtype(value_dtype),
                value_shape=shape,
                checkpoint=checkpoint,
                container=scopes.of(graph).container,
                shared_name=shared_name or "",
                name=name,
            )
        super().__init__(handle, key_dtype, value_dtype, default)

    def lookup(  # type: ignore[override]  # TensorFlow's order of arguments
        self, keys: Any, dynamic_default_values: TensorLike | None = None, name: str | None = None
    ) -> Any:
        """The values of keys.

        Args:
            keys: a tensor, or a sparse tensor.
            dynamic_default_values: stand for keys that are not there, in place of the table's default: one value, or a value
                for each key.

        Returns:
            A tensor of the keys' shape and then a value's.

        Raises:
            TypeError: the keys are of another type.
        """
        default = self._default
        if dynamic_default_values is not None:
            default = convert_to_tensor(dynamic_default_values, self._value_dtype)
        return self._find(keys, default, name)

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """An operation that puts values under keys; of equal keys the last counts.

        Args:
            keys: of any shape.
            values: of the same shape, and then that of a value.

        Raises:
            TypeError: keys or values are of another type.
        """
        tensor = convert_to_tensor(values, self._value_dtype)
        return ops.insert(self._handle, self._keys_of(keys), tensor, name=name or f"{self.name}_insert")

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """An operation that takes keys out; those that are not there are ignored. Raises TypeError for another type."""
        return ops.remove(self._handle, self._keys_of(keys), name=name or f"{self.name}_remove")


@public("af", "tf.initializers")
def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that fills all tables made so far in the default graph (`tf.tables_initializer`).

    Example:
        >>> table = af.lookup.index_table_from_tensor(["a", "b"])
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(["b", "a"]))
        [1 0]
    """
    return group(*get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


@public("af")
def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """TensorFlow's older name of `tables_initializer`.

    Example:
        >>> table = af.lookup.index_table_from_tensor(["a", "b"])
        >>> await session.run(af.initialize_all_tables())
        >>> await session.run(table.size())
        2
    """
    return tables_initializer(name)
