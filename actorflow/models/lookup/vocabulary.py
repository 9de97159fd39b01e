"""Tables between words and numbers, with buckets for words that they do not know."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, int64, string
from actorflow.graph.constant_value import constant_value
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.shape import size
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import no_op
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.logic import not_equal, where
from actorflow.graph.ops.strings.elementwise import as_string
from actorflow.graph.ops.strings.hash import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.models.lookup.initializers import (
    KeyValueTensorInitializer,
    TableInitializerBase,
    TextFileIndex,
    TextFileInitializer,
)
from actorflow.models.lookup.tables import LookupInterface, StaticHashTable
from actorflow.public import public


@public("af.lookup")
class HasherSpec(NamedTuple):
    """A hash of strings (`HasherSpec`).

    Example:
        >>> af.lookup.HasherSpec("fasthash", None) == af.lookup.FastHashSpec
        True

    Args:
        hasher: "fasthash", "legacy" or "stronghash": that of `string_to_hash_bucket_fast`, `string_to_hash_bucket` or
            `string_to_hash_bucket_strong`.
        key: for "stronghash" two integers.
    """

    hasher: str
    key: Sequence[int] | None


FastHashSpec = HasherSpec("fasthash", None)
public("af.lookup", of="FastHashSpec")


@public("af.lookup")
def StrongHashSpec(key: Sequence[int]) -> HasherSpec:
    """The hash that needs a key (`StrongHashSpec`).

    Example:
        >>> secret = af.lookup.StrongHashSpec(key=[12, 34])
        >>> table = af.lookup.index_table_from_tensor(["a"], num_oov_buckets=10, hasher_spec=secret)
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(["a", "b"]))
        [0 7]

    Raises:
        ValueError: the key has not two numbers.
        TypeError: they are no integers of zero or more.
    """
    if len(key) != 2:
        raise ValueError(f"`key` must have size 2, received {len(key)}.")
    if not all(isinstance(k, int) and k >= 0 for k in key):
        raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
    return HasherSpec("stronghash", tuple(key))


def _hash_of(spec: HasherSpec) -> Callable[..., Tensor]:
    if not isinstance(spec, HasherSpec):
        raise TypeError(f"`hasher_spec` must be of type HasherSpec, got {type(spec).__name__}.")
    if spec.hasher == "stronghash":
        key = spec.key or ()
        return lambda strings, count, name: string_to_hash_bucket_strong(strings, count, key, name)
    functions: dict[str, Callable[..., Tensor]] = {
        "fasthash": string_to_hash_bucket_fast,
        "legacy": string_to_hash_bucket,
    }
    if spec.hasher not in functions:
        raise ValueError(f"Found unknown hasher {spec.hasher} in hasher_spec.")
    return functions[spec.hasher]


def _refuse_float(dtype: DType, what: str) -> None:
    if not (dtype.is_integer or dtype is string):
        raise TypeError(f"Invalid {what}, expected integer or string, got {dtype}.")


@public("af.lookup")
class IdTableWithHashBuckets(LookupInterface):
    """A table of numbers, with buckets behind them for keys that it does not have (`IdTableWithHashBuckets`).

    A key that is not there gets the size of the table plus its hash, modulo the number of buckets. Without a table all keys do.

    Example:
        >>> known = af.lookup.index_table_from_tensor(["a", "b"])
        >>> table = af.lookup.IdTableWithHashBuckets(known, num_oov_buckets=2)
        >>> await session.run(af.tables_initializer())
        >>> (await session.run(table.lookup(["a", "b", "?"]))) >= [0, 1, 2]
        [ True  True  True]
    """

    def __init__(
        self,
        table: StaticHashTable | None,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: DTypeLike | None = None,
    ) -> None:
        """
        Args:
            table: from int64 or strings to int64, or None.
            num_oov_buckets: how many buckets there are.
            hasher_spec: which hash chooses a bucket; integers are hashed as their text.
            key_dtype: the type of the keys that are looked up: that of the table (strings without a table) unless given, or
                another type of integers.

        Raises:
            ValueError: neither a table nor a bucket.
            TypeError: types that can't be.
        """
        if table is None:
            if num_oov_buckets <= 0:
                raise ValueError("`oov_buckets` must be > 0 if no `table` is supplied.")
            key = as_dtype(key_dtype or string)
        else:
            key = as_dtype(key_dtype or table.key_dtype)
            if table.key_dtype not in (int64, string):
                raise TypeError(f"Invalid key_dtype, expected int64 or string, received {table.key_dtype}.")
            if table.key_dtype.is_integer != key.is_integer:
                raise TypeError(f"Invalid key_dtype: keys of {key} are looked up in a table of {table.key_dtype}.")
            if table.value_dtype is not int64:
                raise TypeError(f"Invalid `value_dtype`: expected int64 but got {table.value_dtype}.")
        _refuse_float(key, "key_dtype")
        self._hash = _hash_of(hasher_spec)
        self._table, self._buckets = table, num_oov_buckets
        self._name = (name or ("hash_bucket" if table is None else table.name)).rstrip("/").rpartition("/")[2]
        super().__init__(key, int64)

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        return no_op(name="init") if self._table is None else self._table.initializer

    @property
    def init(self) -> Operation:
        """An older name of `initializer`."""
        return self.initializer

    @property
    def resource_handle(self) -> Tensor | None:
        """The handle of the table, or None without a table."""
        return None if self._table is None else self._table.resource_handle

    @property
    def name(self) -> str:
        return self._name

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys and buckets, an int64 scalar.

        Example:
            >>> known = af.lookup.index_table_from_tensor(["a", "b"])
            >>> table = af.lookup.IdTableWithHashBuckets(known, num_oov_buckets=2)
            >>> await session.run(af.tables_initializer())
            >>> await session.run(table.size())
            4
        """
        with composite(name, f"{self._name}_Size"):
            count = convert_to_tensor(0, int64) if self._table is None else self._table.size()
            return count + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of `keys`, a tensor or a sparse tensor, int64 in the same shape. Raises TypeError for another type."""
        keys = SparseTensor.from_value(keys) if isinstance(keys, SparseTensorValue) else keys
        tensor = self._keys_of(keys)
        with composite(name, f"{self._name}_Lookup", tensor):
            ids = self._ids(tensor)
        return SparseTensor(keys.indices, ids, keys.dense_shape) if isinstance(keys, SparseTensor) else ids

    def _ids(self, keys: Tensor) -> Tensor:
        table = self._table
        if table is None:
            return self._hash(_text(keys), self._buckets, name="hash_bucket")
        ids: Tensor = table.lookup(cast(keys, int64) if table.key_dtype is int64 else keys)
        if not self._buckets:
            return ids
        buckets = self._hash(_text(keys), self._buckets, name="hash_bucket") + table.size()
        return where(not_equal(ids, table.default_value), ids, buckets)


def _text(keys: Tensor) -> Tensor:
    return keys if keys.dtype.base_dtype is string else as_string(keys)


@public("af.lookup")
class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table from words to numbers with buckets for those that it does not have (`tf.lookup.StaticVocabularyTable`).

    Example:
        >>> content = af.lookup.KeyValueTensorInitializer(["a", "b"], af.constant([0, 1], af.int64))
        >>> table = af.lookup.StaticVocabularyTable(content, num_oov_buckets=1)
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(["b", "unknown"]))
        [1 2]
    """

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """
        Args:
            initializer: where words and their numbers (int64, from 0 on) come from; None for buckets alone.
            num_oov_buckets: how many buckets there are, at least 1.
            lookup_key_dtype: the type of the keys that are looked up; that of the initializer unless given.
            experimental_is_anonymous: accepted for compatibility: a table goes with its session or container.

        Raises:
            ValueError: there is no bucket.
            TypeError: types that can't be.
        """
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        if initializer is None:
            super().__init__(None, num_oov_buckets, name=name)
            return
        if initializer.value_dtype is not int64:
            raise TypeError(f"Invalid `value_dtype`, expected int64 but got {initializer.value_dtype}.")
        super().__init__(StaticHashTable(initializer, -1), num_oov_buckets, name=name, key_dtype=lookup_key_dtype)


# ---- tables of vocabularies


def _with_buckets(
    initializer: TableInitializerBase, default: Any, buckets: int, hasher: HasherSpec, dtype: DType
) -> StaticHashTable | IdTableWithHashBuckets:
    table = StaticHashTable(initializer, default)
    return IdTableWithHashBuckets(table, buckets, hasher, key_dtype=dtype) if buckets else table


def _check_file(vocabulary_file: TensorLike | None, vocab_size: int | None) -> TensorLike:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        path: Any = vocabulary_file
        if isinstance(vocabulary_file, Tensor):
            constant = constant_value(vocabulary_file.graph.nodes, vocabulary_file.tensor_id)
            path = "?" if constant is None else constant.item()
        shown = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else path
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file: {shown}")
    return vocabulary_file


def _check_buckets(count: int) -> None:
    if count < 0:
        raise ValueError(f"`num_oov_buckets` must be greater or equal than 0, got {count}.")


@public("af.lookup")
def index_table_from_file(
    vocabulary_file: TensorLike | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: DTypeLike = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> StaticHashTable | IdTableWithHashBuckets:
    """A table from the lines of a file to their numbers (`index_table_from_file`).

    Example:
        >>> with open("words.txt", "w") as file:
        ...     print("a", "b", sep="\\n", file=file)
        >>> table = af.lookup.index_table_from_file("words.txt", num_oov_buckets=1)
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(["b", "unknown"]))
        [1 2]

    Args:
        vocabulary_file: the path; it may be a scalar tensor.
        num_oov_buckets: how many buckets there are for keys that are not in the file.
        vocab_size: how many lines are read, and the file has to have that many; all unless given.
        default_value: the number of other keys, if there are no buckets.
        hasher_spec: which hash chooses a bucket.
        key_dtype: strings or integers.
        key_column_index, value_column_index: other columns than the whole line and its number.
        delimiter: between the columns of a line.

    Raises:
        ValueError: no file, or numbers that can't be. TypeError: keys of another type.
    """
    path = _check_file(vocabulary_file, vocab_size)
    _check_buckets(num_oov_buckets)
    key = as_dtype(key_dtype).base_dtype
    _refuse_float(key, "key_dtype")
    with get_default_graph().name_scope(name or "string_to_index"):
        initializer = TextFileInitializer(
            path,
            int64 if key.is_integer else key,
            key_column_index,
            int64,
            value_column_index,
            vocab_size,
            delimiter,
            name="table_init",
        )
        return _with_buckets(initializer, default_value, num_oov_buckets, hasher_spec, key)


@public("af.lookup")
def index_table_from_tensor(
    vocabulary_list: TensorLike | None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = string,
    name: str | None = None,
) -> StaticHashTable | IdTableWithHashBuckets:
    """A table from the elements of a vector to their places in it (`index_table_from_tensor`).

    Example:
        >>> table = af.lookup.index_table_from_tensor(["a", "b"], default_value=-1)
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(["b", "unknown"]))
        [ 1 -1]

    Args:
        vocabulary_list: a vector of strings or integers, each of which is there once.
        num_oov_buckets: how many buckets there are for other keys.
        default_value: the number of other keys, if there are no buckets.
        hasher_spec: which hash chooses a bucket.
        dtype: the type of the keys that are looked up.

    Raises:
        ValueError: no vector, a vector of another type, or numbers that can't be. TypeError: keys of another type.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    _check_buckets(num_oov_buckets)
    key = as_dtype(dtype).base_dtype
    _refuse_float(key, "dtype")
    with get_default_graph().name_scope(name or "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != key.is_integer or not key.is_integer and keys.dtype.base_dtype is not key:
            raise ValueError(f"Invalid `dtype`: Expected {key}, got {keys.dtype}.")
        initializer = KeyValueTensorInitializer(
            cast(keys, int64) if keys.dtype.is_integer else keys, cast(range_(size(keys)), int64), name="table_init"
        )
        return _with_buckets(initializer, default_value, num_oov_buckets, hasher_spec, key)


@public("af.lookup")
def index_to_string_table_from_file(
    vocabulary_file: TensorLike | None,
    vocab_size: int | None = None,
    default_value: TensorLike = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """A table from numbers of lines to the lines of a file (`index_to_string_table_from_file`).

    Example:
        >>> with open("words.txt", "w") as file:
        ...     print("a", "b", sep="\\n", file=file)
        >>> table = af.lookup.index_to_string_table_from_file("words.txt")
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(af.constant([1, 5], af.int64)))
        [b'b' b'UNK']

    Args:
        vocabulary_file: the path; it may be a scalar tensor.
        vocab_size: how many lines are read, and the file has to have that many; all unless given.
        default_value: stands for other numbers.
        key_column_index, value_column_index: other columns than the number of a line and the whole line.
        delimiter: between the columns of a line.

    Raises:
        ValueError: no file, or numbers that can't be.
    """
    path = _check_file(vocabulary_file, vocab_size)
    with get_default_graph().name_scope(name or "index_to_string"):
        initializer = TextFileInitializer(
            path, int64, key_column_index, string, value_column_index, vocab_size, delimiter, name="table_init"
        )
        return StaticHashTable(initializer, default_value)


@public("af.lookup")
def index_to_string_table_from_tensor(
    vocabulary_list: TensorLike | None, default_value: TensorLike = "UNK", name: str | None = None
) -> StaticHashTable:
    """A table from places in a vector to its strings (`index_to_string_table_from_tensor`).

    Example:
        >>> table = af.lookup.index_to_string_table_from_tensor(["a", "b"], default_value="?")
        >>> await session.run(af.tables_initializer())
        >>> await session.run(table.lookup(af.constant([1, 5], af.int64)))
        [b'b' b'?']

    Args:
        vocabulary_list: a vector of strings.
        default_value: stands for other places.

    Raises:
        ValueError: no vector.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with get_default_graph().name_scope(name or "index_to_string"):
        values = convert_to_tensor(vocabulary_list, string)
        initializer = KeyValueTensorInitializer(cast(range_(size(values)), int64), values, name="table_init")
        return StaticHashTable(initializer, default_value)
