"""Datasets of CSV files and of Examples in files, and a writer of records."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, float32, float64, int32, int64, string
from actorflow.base.records.files import TFRecordWriter as Writer
from actorflow.base.records.reading.opening import matching
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.graph.ops.flow.py_func import py_func
from actorflow.graph.ops.io.decoding import decode_csv
from actorflow.graph.ops.io.parsing import parse_example
from actorflow.graph.tensor import Tensor
from actorflow.models.data.dataset import AUTOTUNE, Dataset
from actorflow.models.data.readers import TextLineDataset, TFRecordDataset

__all__ = ["CsvDataset", "TFRecordWriter", "make_batched_features_dataset", "make_csv_dataset"]

_INFERRED = 100


def CsvDataset(
    filenames: Any,
    record_defaults: Sequence[Any],
    compression_type: Any = None,
    buffer_size: Any = None,
    header: bool = False,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> Dataset:
    """The lines of CSV files as tuples of columns, with the defaults and types of `decode_csv`."""

    def columns(line: Any) -> Any:
        return tuple(decode_csv(line, record_defaults, field_delim, use_quote_delim, None, na_value, select_cols))

    if not header:
        return TextLineDataset(filenames, compression_type).map(columns)
    names = filenames if isinstance(filenames, Dataset) else Dataset.from_tensor_slices(_vector(filenames))
    return names.flat_map(lambda name: TextLineDataset(name, compression_type).skip(1)).map(columns)


def _vector(filenames: Any) -> Any:
    return filenames if isinstance(filenames, Tensor) else np.atleast_1d(np.array(filenames, object))


def make_csv_dataset(
    file_pattern: Any,
    batch_size: Any,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = _INFERRED,
    compression_type: Any = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Batches of the columns of CSV files, by name. The header tells names, and the first rows types, that are not stated."""
    files = _matching(file_pattern)
    reader = {"delimiter": field_delim, "quoting": csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE}
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = _header(files, reader)
    names = list(column_names)
    if len(set(names)) != len(names):
        raise ValueError("Cannot have duplicate column names.")
    chosen = list(range(len(names))) if select_columns is None else _chosen(select_columns, names)
    if column_defaults is None:
        kinds = _inferred(files, len(names), header, reader, chosen, num_rows_for_inference, na_value)
        column_defaults = [_empty(kind) for kind in kinds]
    elif len(column_defaults) == len(names) != len(chosen):
        column_defaults = [column_defaults[place] for place in chosen]
    if len(column_defaults) != len(chosen):
        raise ValueError(f"There are {len(column_defaults)} `column_defaults` for {len(chosen)} columns.")
    names = [names[place] for place in chosen]
    if label_name is not None and label_name not in names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def lines(name: Any) -> Dataset:
        content = TextLineDataset(name, compression_type)
        return content.skip(1) if header else content

    def columns(batch: Any) -> Any:
        values = decode_csv(batch, column_defaults, field_delim, use_quote_delim, None, na_value, chosen)
        features = dict(zip(names, values))
        return features if label_name is None else (features, features.pop(label_name))

    dataset = Dataset.from_tensor_slices(files)
    if shuffle:
        dataset = dataset.shuffle(len(files), shuffle_seed)
    dataset = dataset.interleave(lines, num_parallel_reads or 1)
    if ignore_errors:
        dataset = dataset.ignore_errors()
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(columns)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _matching(file_pattern: Any) -> list[str]:
    patterns = [file_pattern] if isinstance(file_pattern, (str, bytes)) else list(file_pattern)
    texts = [pattern.decode() if isinstance(pattern, bytes) else str(pattern) for pattern in patterns]
    files = [name.decode("utf-8", "surrogateescape") for name in matching(texts, None)]
    if not files:
        raise ValueError(f"No files match {file_pattern!r}.")
    return files


def _header(files: Sequence[str], reader: dict[str, Any]) -> list[str]:
    """The names in the first line of all files. Raises ValueError where those of two files differ."""
    first: list[str] | None = None
    for name in files:
        with open(name, encoding="utf-8", newline="") as file:
            names = next(csv.reader(file, **reader), [])
        if first is not None and names != first:
            raise ValueError(f"Files have different column names in the header row: {files[0]} and {name}.")
        first = names
    return first or []


def _chosen(columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    for column in columns:
        is_there = column in names if isinstance(column, str) else 0 <= column < len(names)
        if not is_there:
            raise ValueError(f"`select_columns` has {column!r}, but the columns are {list(names)}.")
    places = sorted(names.index(column) if isinstance(column, str) else int(column) for column in columns)
    if len(set(places)) != len(places):
        raise ValueError("`select_columns` has a column twice.")
    return places


def _inferred(
    files: Sequence[str],
    width: int,
    header: bool,
    reader: dict[str, Any],
    chosen: Sequence[int],
    rows: int | None,
    na: str,
) -> list[Any]:
    """The narrowest type of each column that holds the first rows: int32, int64, float32, float64 or text."""
    kinds: list[Any] = [int32] * len(chosen)
    seen = 0
    for name in files:
        with open(name, encoding="utf-8", newline="") as file:
            for number, fields in enumerate(csv.reader(file, **reader)):
                if header and number == 0:
                    continue
                if rows is not None and seen >= rows:
                    break
                if len(fields) != width:
                    raise ValueError(
                        f"Problem inferring types: line {number + 1} of {name} has {len(fields)} fields, not {width}."
                    )
                seen += 1
                kinds = [_wider(kind, fields[place], na) for kind, place in zip(kinds, chosen)]
    return kinds


_KINDS = (int32, int64, float32, float64, string)


def _wider(kind: DType, text: str, na: str) -> DType:
    if text in ("", na):
        return kind
    return next(candidate for candidate in _KINDS[_KINDS.index(kind) :] if _holds(candidate, text))


def _holds(kind: DType, text: str) -> bool:
    try:
        if kind in (int32, int64):
            end: int = 2 ** (31 if kind is int32 else 63)
            return -end <= int(text) < end
        if kind in (float32, float64):
            limit = float(np.finfo(kind.numpy_dtype).max)
            return abs(float(text)) <= limit
    except ValueError:
        return False
    return True


def _empty(kind: DType) -> Any:
    """The value of an empty field of a type that the rows told."""
    return np.array(["" if kind is string else 0], object if kind is string else kind.numpy_dtype)


def _shuffled(dataset: Dataset, epochs: int | None, shuffle: bool, size: int, seed: int | None) -> Dataset:
    if shuffle:
        dataset = dataset.shuffle(size, seed)
    return dataset if epochs == 1 else dataset.repeat(epochs)


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: Any,
    features: Any,
    reader: Callable[..., Dataset] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: Any = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the features of Examples in files, by name."""
    if label_key is not None and label_key not in features:
        raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")

    def parsed(batch: Any) -> Any:
        values = parse_example(batch, features)
        return values if label_key is None else (values, values.pop(label_key))

    dataset = Dataset.list_files(file_pattern, shuffle, shuffle_seed)
    dataset = dataset.interleave(lambda name: reader(name, *(reader_args or ())), reader_num_threads or 1)
    if dataset.node.spec.structure != TensorSpec((), string):  # readers of tables give pairs of a key and an Example
        dataset = dataset.map(lambda _, value: value)
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    drops = drop_final_batch or num_epochs is None
    dataset = dataset.batch(batch_size, drops).map(parsed, parser_num_threads)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


class TFRecordWriter:
    """Writes the elements of a dataset, scalar strings, as the records of a file."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename, self._packing = filename, compression_type

    def write(self, dataset: Dataset) -> Any:
        """Writes all elements: at once under eager execution, else in the run of the operation that it gives."""
        if not isinstance(dataset, Dataset):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        if dataset.node.spec.structure != TensorSpec((), string):
            raise TypeError(
                f"`dataset` must produce scalar `DT_STRING` tensors, but its elements are {dataset.element_spec!r}."
            )
        opened: list[Any] = []

        def write(record: bytes, number: Any) -> Any:
            if number == 0:
                opened[:] = [Writer(self._filename, self._packing)]
            opened[0].write(record)
            return number + 1

        def close(count: Any) -> Any:
            file = opened.pop() if opened else Writer(self._filename, self._packing)
            file.close()
            return count

        count = dataset.reduce(np.int64(0), lambda number, record: _one(py_func(write, [record, number], int64)))
        return py_func(close, [count], int64).op


def _one(number: Any) -> Any:
    number.set_shape([])
    return number
