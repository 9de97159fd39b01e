"""A warm start with another vocabulary: rows of an embedding follow their words (`tf.train.VocabInfo`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from actorflow.engine.formats.compare import RestoreRequest
from actorflow.graph.ops.array.constant import constant, zeros
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.state import variable as state
from actorflow.graph.ops.state.checkpoint import restore_v2
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.saving.checkpoints import check_fits, find_checkpoint, list_variables
from actorflow.public import public


@public("af.train", "af.estimator")
@dataclass(frozen=True)
class VocabInfo:
    """The vocabulary of a variable, and that of the variable in the checkpoint that it begins with.

    Example:
        >>> info = af.estimator.VocabInfo("new.txt", 3, 0, "old.txt")
        >>> info.new_vocab_size, info.axis
        (3, 0)

    Args:
        new_vocab: the file with the words now, one a line.
        new_vocab_size: how many of its words are taken.
        num_oov_buckets: how many rows follow for other words. They begin with initial values.
        old_vocab: the file with the words of the checkpoint.
        old_vocab_size: how many of its words were taken; -1 for all.
        backup_initializer: the initial values of words that the checkpoint lacks; zeros unless given.
        axis: the dimension of the words: 0 for an embedding, 1 for the kernel of a layer whose outputs are words.

    Raises:
        ValueError: a size is negative, or the axis is neither 0 nor 1.
    """

    new_vocab: str | os.PathLike[str]
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str | os.PathLike[str]
    old_vocab_size: int = -1
    backup_initializer: Callable[..., Any] | None = None
    axis: int = 0

    def __post_init__(self) -> None:
        if self.axis not in (0, 1):
            raise ValueError(f"The only supported values for the axis argument are 0 and 1. Provided axis: {self.axis}")
        if self.new_vocab_size < 1 or self.num_oov_buckets < 0 or self.old_vocab_size < -1:
            raise ValueError(f"A size in {self} is negative, or there are no words.")

    def old_places(self) -> tuple[np.ndarray[Any, Any], int]:
        """The place of each present word in the old vocabulary, -1 for a new word; and how many old words there are.

        Example:
            >>> for name, words in {"old.txt": ["a", "b"], "new.txt": ["b", "c", "a"]}.items():
            ...     with open(name, "w") as file:
            ...         print(*words, sep="\\n", file=file)
            >>> af.estimator.VocabInfo("new.txt", 3, 1, "old.txt").old_places()
            ([ 1 -1  0 -1], 2)
        """
        old = _words(self.old_vocab, None if self.old_vocab_size == -1 else self.old_vocab_size)
        places = {word: place for place, word in enumerate(old)}
        new = _words(self.new_vocab, self.new_vocab_size)
        rows = [places.get(word, -1) for word in new] + [-1] * self.num_oov_buckets
        return np.array(rows, np.int64), len(old)


def _words(path: str | os.PathLike[str], count: int | None) -> list[bytes]:
    """The words of a vocabulary, in lines as lookup tables read them.

    Raises:
        ValueError: the file is missing, or has fewer words.
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"The vocabulary file {file} does not exist.")
    lines = file.read_bytes().split(b"\n")
    words = [line.removesuffix(b"\r") for line in (lines if lines[-1] else lines[:-1])]
    if count is not None and len(words) < count:
        raise ValueError(f"The vocabulary file {file} has {len(words)} words, but {count} are asked for.")
    return words[:count]


def begin_with_words(variable: Variable, info: VocabInfo, checkpoint: str, key: str) -> None:
    """Makes the initializer of a variable take the values of its words from a checkpoint.

    Args:
        variable: the variable, or a slice of one along the words.
        info: its vocabularies.
        checkpoint: the checkpoint, or a folder of checkpoints.
        key: the name of the variable in it.

    Raises:
        ValueError: the sizes of vocabularies and variables do not fit.
        NotFoundError: the checkpoint lacks the variable.
    """
    path = find_checkpoint(checkpoint)
    places, old_count = info.old_places()
    shape = _sizes(variable)
    saved = tuple(dict(list_variables(path)).get(key) or shape)
    request = RestoreRequest(key, variable.dtype, saved)
    check_fits(path, [request], strict=False, reshape=False)
    whole, begin = _whole(variable, info.axis)
    if len(shape) <= info.axis or whole != len(places):
        raise ValueError(
            f"{variable.op.name} has {whole} places along axis {info.axis}, but its vocabulary {len(places)}: "
            f"{info.new_vocab_size} words and {info.num_oov_buckets} for other ones."
        )
    other = 1 - info.axis
    if saved[info.axis] < old_count or len(shape) > 1 and saved[other] != shape[other]:
        raise ValueError(
            f"{key} has shape {saved} in the checkpoint, which does not fit {shape} of {variable.op.name} and the "
            f"{old_count} words of {info.old_vocab}."
        )
    _begin(variable, info, path, key, saved, places[begin : begin + shape[info.axis]])


def _sizes(variable: Variable) -> tuple[int, ...]:
    return tuple(size or 0 for size in variable.shape.as_list())


def _whole(variable: Variable, axis: int) -> tuple[int, int]:
    """How many words the variable has of which this is a slice, and which is the first here."""
    slice_info = variable._save_slice_info
    if slice_info is None:
        return _sizes(variable)[axis], 0
    return slice_info.full_shape[axis], slice_info.var_offset[axis]


def _begin(
    variable: Variable, info: VocabInfo, path: str, key: str, saved: tuple[int, ...], places: np.ndarray[Any, Any]
) -> None:
    graph, shape = variable.graph, list(_sizes(variable))
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope("warm_start"):
        with graph.device(variable.device or None):
            read: Any = restore_v2(constant(path), constant([key]), constant([""]), dtypes=[variable.dtype])
            read.set_shape(saved)
            make = info.backup_initializer or (lambda shape, dtype, partition_info=None: zeros(shape, dtype))
            initial: Tensor = make(shape, dtype=variable.dtype)
            # the old rows, then the initial rows: each word takes its row of the two
            rows = np.where(places >= 0, places, saved[info.axis] + np.arange(len(places)))
            value = gather(concat([read, initial], info.axis), constant(rows), axis=info.axis)
            variable.begin_with(value, state.assign_target(variable.handle, value, name="Assign"))
