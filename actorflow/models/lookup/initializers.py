"""The sources of a table's content: tensors, or the lines of a file (`tf.lookup.KeyValueTensorInitializer`, ...)."""

from __future__ import annotations

from typing import Any, Protocol

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, int64, string
from actorflow.graph.constant_value import constant_value
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.lookup import tables as ops
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.graph.variables.collections import GraphKeys
from actorflow.public import public


class TableContents(Protocol):
    """The part of a table that its initializer uses."""

    @property
    def resource_handle(self) -> Tensor:
        """The handle."""

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""


class KeysToValues:
    """A thing that has keys and values: their types."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return self._value_dtype


class TableInitializerBase(KeysToValues):
    """The base of all initializers: the types of keys and values, and `initialize`."""

    def initialize(self, table: TableContents) -> Operation:
        """An operation that fills `table`, which `af.tables_initializer()` runs too.

        Raises:
            TypeError: the table has keys or values of other types.
        """
        for what, mine, its in (
            ("key", self._key_dtype, table.key_dtype),
            ("value", self._value_dtype, table.value_dtype),
        ):
            if mine is not its:
                raise TypeError(f"Invalid {what} dtype for table, expected {its} but got {mine}.")
        graph = table.resource_handle.graph
        with graph.as_default(), graph.control_dependencies(None):
            operation = self._fill(table.resource_handle)
        graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
        return operation

    def _fill(self, handle: Tensor) -> Operation:
        raise NotImplementedError


@public("af.lookup")
class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table with the elements of two vectors (`tf.lookup.KeyValueTensorInitializer`).

    Example:
        >>> content = af.lookup.KeyValueTensorInitializer(["one", "two"], af.constant([1, 2], af.int64))
        >>> table = af.lookup.StaticHashTable(content, default_value=-1)
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(["two", "three"]))
        [ 2 -1]
    """

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        """
        Args:
            keys: a vector of integers or strings.
            values: a vector of the same length.
            key_dtype, value_dtype: their types, for Python's lists.
        """
        self._keys = convert_to_tensor(keys, None if key_dtype is None else as_dtype(key_dtype), name="keys")
        self._values = convert_to_tensor(values, None if value_dtype is None else as_dtype(value_dtype), name="values")
        self._name = name
        super().__init__(self._keys.dtype.base_dtype, self._values.dtype.base_dtype)

    def _fill(self, handle: Tensor) -> Operation:
        with composite(self._name, "key_value_init", handle, self._keys, self._values) as scope:
            return ops.initialize_table(handle, self._keys, self._values, name=scope)


@public("af.lookup")
class TextFileIndex:
    """The part of a line that is a key or a value, beside the numbers of columns (`tf.lookup.TextFileIndex`).

    Example:
        >>> with open("words.txt", "w") as file:
        ...     print("a", "b", sep="\\n", file=file)
        >>> whole, number = af.lookup.TextFileIndex.WHOLE_LINE, af.lookup.TextFileIndex.LINE_NUMBER
        >>> content = af.lookup.TextFileInitializer("words.txt", af.string, whole, af.int64, number)
        >>> table = af.lookup.StaticHashTable(content, default_value=-1)
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(["b", "c"]))
        [ 1 -1]
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


@public("af.lookup")
class TextFileInitializer(TableInitializerBase):
    """Fills a table with the lines of a file, one pair each (`tf.lookup.TextFileInitializer`).

    Example:
        >>> with open("codes.tsv", "w") as file:
        ...     print("ch\\t41", "de\\t49", sep="\\n", file=file)
        >>> content = af.lookup.TextFileInitializer("codes.tsv", af.string, 0, af.int64, 1)
        >>> table = af.lookup.StaticHashTable(content, default_value=0)
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(["de", "ch"]))
        [49 41]
    """

    def __init__(
        self,
        filename: TensorLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        """
        Args:
            filename: the path, which is read where the table is; it may be a scalar tensor.
            key_dtype, value_dtype: the types of keys and values.
            key_index, value_index: the number of the column, or `TextFileIndex.WHOLE_LINE` or
                `TextFileIndex.LINE_NUMBER`, which counts from 0 and is int64.
            vocab_size: how many lines are read, and the file has to have that many; all unless given.
            delimiter: between the columns of a line.
            value_index_offset: is added to line numbers.

        Raises:
            ValueError: no file, or indices and types that can't be.
        """
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer.")
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (("key", key_index, self._key_dtype), ("value", value_index, self._value_dtype)):
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(f"`{what}_index` should be >= -2, received: {index}.")
            if index == TextFileIndex.LINE_NUMBER and dtype is not int64:
                raise ValueError(f"`{what}_dtype` must be int64 if `{what}_index` is {index}, received: {dtype}.")
            if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype is string):
                raise ValueError(
                    f"`{what}_dtype` should be either integer or string for `{what}_index` {index}, received: {dtype}."
                )
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}.")
        self._filename = filename
        self._name = name
        self._options: dict[str, Any] = {
            "key_index": key_index,
            "value_index": value_index,
            "vocab_size": -1 if vocab_size is None else vocab_size,
            "delimiter": delimiter,
            "offset": value_index_offset,
        }

    def _fill(self, handle: Tensor) -> Operation:
        with composite(self._name, "text_file_init", handle) as scope:
            path = convert_to_tensor(self._filename, string, name="asset_filepath")
            if constant_value(path.graph.nodes, path.tensor_id) is not None:
                path.graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, path)
            return ops.initialize_table_from_text_file(handle, path, **self._options, name=scope)
