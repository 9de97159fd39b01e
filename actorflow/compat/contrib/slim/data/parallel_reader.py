"""Several readers that put the records of their files into one queue."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.models.train.input.fullness import check_capacity, summarize_fullness

Sources = str | bytes | os.PathLike[str] | Sequence[str | bytes | os.PathLike[str]]
"""A file, a pattern of files, or a list of these."""


class ParallelReader(tf.ReaderBase):
    """A reader over several: each reads files of its own into one queue, from which records are drawn.

    Args:
        reader_class: the class of the readers, such as `tf.TFRecordReader`.
        common_queue: a queue of two strings, the key and the record.
        num_readers: the number of readers.
        reader_kwargs: arguments of each.

    Raises:
        TypeError: the queue is not one of two strings.
    """

    def __init__(
        self,
        reader_class: Callable[..., Any],
        common_queue: Any,
        num_readers: int = 4,
        reader_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        types = list(common_queue.dtypes)
        if len(types) != 2 or not all(each.is_compatible_with(tf.string) for each in types):
            raise TypeError(f"common_queue.dtypes must be [tf.string, tf.string], and not {types}.")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """The number of readers."""
        return len(self._readers)

    @property
    def common_queue(self) -> Any:
        """The queue of all records."""
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Key and value of the next record, from the common queue. A queue runner is added to the graph.

        Args:
            queue: the queue of file names.
            name: the operation's name.
        """
        self._configure_readers_by(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Keys and values of up to `num_records` records, as two vectors. See `read`."""
        self._configure_readers_by(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _configure_readers_by(self, queue: Any) -> None:
        puts = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        tf.train.add_queue_runner(tf.train.QueueRunner(self._common_queue, puts))

    def num_records_produced(self, name: str | None = None) -> Any:
        """How many records all readers have given, int64."""
        return tf.add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """How many files all readers have read to their end, int64."""
        return tf.add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def parallel_read(
    data_sources: Sources,
    reader_class: Callable[..., Any],
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Key and value of the next record of some files, which several readers read at once.

    Args:
        data_sources: a file, a pattern of files, or a list of these.
        reader_class, num_readers, reader_kwargs: the readers.
        num_epochs: how often each file is read; None without end.
        shuffle: whether files and records are drawn in a random order.
        dtypes: the types of the queue's parts; two strings unless given.
        capacity: the most records that wait; no limit if it is below 0.
        min_after_dequeue: the fewest that stay behind when a record is drawn at random.
        seed: the seed of the order.
        scope: the scope of names.

    Raises:
        TypeError: `data_sources` names no files.
        ValueError: there is no such file; or `capacity` is 0.
    """
    check_capacity(capacity)
    files = get_data_files(data_sources)
    with tf.name_scope(scope, "parallel_read"):
        names = tf.train.string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        types = dtypes or [tf.string, tf.string]
        records: Any
        if shuffle:
            records = tf.RandomShuffleQueue(
                capacity=capacity, min_after_dequeue=min_after_dequeue, dtypes=types, seed=seed, name="common_queue"
            )
        else:
            records = tf.FIFOQueue(capacity=capacity, dtypes=types, name="common_queue")
        summarize_fullness(records, f"fraction_of_{capacity}_full", capacity)
        reader = ParallelReader(reader_class, records, num_readers=num_readers, reader_kwargs=reader_kwargs)
        return reader.read(names)


def single_pass_read(
    data_sources: Sources,
    reader_class: Callable[..., Any],
    reader_kwargs: Mapping[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """Key and value of the next record of some files, which are read once and in order. See `parallel_read`."""
    files = get_data_files(data_sources)
    with tf.name_scope(scope, "single_pass_read"):
        names = tf.train.string_input_producer(files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: Sources) -> list[str]:
    """The files that a name, a pattern with `*`, `?` or `[`, or a list of these stands for.

    Raises:
        TypeError: `data_sources` is neither a name nor a list of names.
        ValueError: there are none.
    """
    if isinstance(data_sources, (list, tuple)):
        name = str(data_sources)
        files = [file for source in data_sources for file in get_data_files(source)]
    elif not isinstance(data_sources, (str, bytes, os.PathLike)):
        raise TypeError(
            "data_sources is the name of a file, a pattern, or a list of these, and not "
            f"{'None' if data_sources is None else f'of type {type(data_sources).__name__}'}."
        )
    else:
        name = str(os.fsdecode(data_sources))
        files = tf.gfile.Glob(name) if any(mark in name for mark in "*?[") else [name]
    if not files:
        raise ValueError(f"No data files found in {name}. Give the name or the pattern of files that are there.")
    return files
