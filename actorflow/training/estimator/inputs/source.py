"""`Source`: what an input function gives, as batches that are fed or as tensors of the graph.

An input function gives tensors of the default graph, a Dataset, or an iterable (ordinary or asynchronous) of batches of
arrays. Batches are fed; a graph that takes batches of the same types and shapes serves many calls.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from actorflow.base import dtypes, nest
from actorflow.base.reports.logs import get_logger
from actorflow.errors import OutOfRangeError
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.variable import Variable
from actorflow.training.monitored.commands import Await, Program, call

_LOG = get_logger("estimator")
_KEPT_BYTES = 256 << 20
_PAIR = "input_fn should return (features, labels) as a len 2 tuple."


def is_fed(value: Any) -> bool:
    """Whether an input function gave an iterable of batches, and not tensors or arrays."""
    if is_dataset(value):
        return False
    if isinstance(value, (AsyncIterable, Iterator)):
        return True
    plain = (tuple, Mapping, str, bytes, np.ndarray, Tensor, Variable)
    if isinstance(value, plain) or not isinstance(value, Iterable):
        return False
    return not isinstance(value, list) or not any(isinstance(part, (Tensor, Variable)) for part in nest.flatten(value))


def is_dataset(value: Any) -> bool:
    """Whether it is a Dataset."""
    return hasattr(value, "make_initializable_iterator")


def pair(value: Any) -> tuple[Any, Any]:
    """Features and labels of what an input function, or an iterable of batches, gave.

    Raises:
        ValueError: it is a tuple of another length.
    """
    if isinstance(value, (list, tuple)):
        if len(value) != 2:
            raise ValueError(_PAIR)
        return value[0], value[1]
    return value, None


def call_input_fn(input_fn: Any, mode: str, params: Any, config: Any) -> Program[Any]:
    """Calls an input function with those of `mode`, `params` and `config` that it takes. If it is no function, it is
    the input itself."""
    batches = getattr(input_fn, "batches", None)
    if batches is not None:
        return batches()
    if not callable(input_fn):
        return input_fn
    choices = {"mode": mode, "params": params, "config": config}
    return (
        yield from call(lambda: input_fn(**{name: choices[name] for name in arguments(input_fn) if name in choices}))
    )


def arguments(function: Callable[..., Any]) -> list[str]:
    """The names of a function's arguments; of a partial function, the names that are left."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    bound = getattr(function, "keywords", {}) if isinstance(function, partial) else {}
    return [parameter.name for parameter in parameters if parameter.kind not in kinds and parameter.name not in bound]


def tensors(graph: Graph, value: Any, mode: str) -> tuple[Any, Any]:
    """Features and labels as tensors of the graph, out of what an input function gave. The iterator of a Dataset has the name of
    the mode: a checkpoint of a training has its place, which an evaluation must not take up."""
    if is_dataset(value):
        iterator = value.make_initializable_iterator(shared_name=f"input_{mode}")
        graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        value = iterator.get_next()
    return pair(value)


def as_arrays(batch: Any) -> Any:
    """A batch with arrays for its leaves; tables become dicts of columns."""
    kind = type(batch)
    if kind is np.ndarray or batch is None:
        return batch
    if kind is dict:
        return {key: as_arrays(part) for key, part in batch.items()}
    if kind is tuple:
        return tuple(map(as_arrays, batch))
    if hasattr(batch, "to_dict") and hasattr(batch, "columns"):
        batch = {name: batch[name].to_numpy() for name in batch.columns}
    if isinstance(batch, Mapping):
        return {key: as_arrays(batch[key]) for key in batch}
    if isinstance(batch, np.ndarray):
        return batch
    if isinstance(batch, tuple):
        return tuple(map(as_arrays, batch))
    return np.asarray(batch)


@dataclass(frozen=True, slots=True)
class Fed:
    """Placeholders for batches of one structure."""

    features: Any
    labels: Any
    tensors: list[Any]

    @staticmethod
    def make(batch: Any) -> Fed:
        """Placeholders in the default graph: the first size is open."""
        features, labels = pair(batch)
        placeholders = nest.map_structure(_placeholder, (features, labels))
        return Fed(placeholders[0], placeholders[1], list(_leaves_in_order(placeholders)))

    def feeds(self, batch: Any) -> dict[Any, Any]:
        """The feeds of a step for a batch."""
        return dict(zip(self.tensors, _leaves_in_order(pair(batch)), strict=True))


def _leaves_in_order(batch: Any) -> Iterator[Any]:
    """The leaves of a batch but None, those of a dict by sorted keys. Unlike `nest.flatten` it makes nothing to put them back."""
    for part in batch:
        kind = type(part)
        if kind is np.ndarray or kind is Tensor:
            yield part
        elif isinstance(part, Mapping):
            yield from _leaves_in_order([part[key] for key in sorted(part)])
        elif isinstance(part, (list, tuple)):
            yield from _leaves_in_order(part)
        elif part is not None:
            yield part


def _placeholder(leaf: Any) -> Any:
    if leaf is None:
        return None
    dtype = dtypes.string if leaf.dtype.kind in "OSU" else dtypes.as_dtype(leaf.dtype)
    return placeholder(dtype, [None, *leaf.shape[1:]] if leaf.ndim else [])


def signature(batch: Any) -> Any:
    """The key of the batches that one graph takes."""
    features, labels = pair(batch)
    return tuple(
        (path, None if leaf is None else ("S" if leaf.dtype.kind in "OSU" else leaf.dtype.str, leaf.shape[1:]))
        for part, structure in (("features", features), ("labels", labels))
        for path, leaf in _leaves(structure, (part,))
    )


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _leaves(value[key], (*path, key))
    elif isinstance(value, (tuple, list)):
        for number, part in enumerate(value):
            yield from _leaves(part, (*path, number))
    else:
        yield path, value


def _size(batch: Any) -> int:
    return sum(leaf.nbytes for leaf in nest.flatten(batch) if leaf is not None)


class Batches:
    """The batches of an iterable, in turn; those since a mark can be had again, when a loss has taken steps back.

    Args:
        again: gives the iterable, for each epoch.
        epochs: how many times it is gone through.
        only_features: whether labels are left out.
    """

    def __init__(self, again: Callable[[], Program[Any]], epochs: int = 1, *, only_features: bool = False) -> None:
        self._again, self._left = again, epochs
        self.keeps = False
        """Whether batches are kept for a loss. Beyond 256 MiB they are not."""
        self._only_features = only_features
        self._iterator: Iterator[Any] | AsyncIterator[Any] | None = None
        self._kept: deque[Any] = deque()
        self._bytes = 0
        self._first: list[Any] = []
        self._base = self._count = 0  # of the first batch that is kept, and of the next batch
        self._marks: dict[int, int] = {}
        self.epoch = 0

    def first(self) -> Program[Any]:
        """The first batch, which `next` gives again. Raises OutOfRangeError if there is none."""
        batch = yield from self._fetch()
        self._first.append(batch)
        return batch

    def next(self) -> Program[Any]:
        """The next batch. Raises OutOfRangeError at the end."""
        if self._count < self._base + len(self._kept):
            batch = self._kept[self._count - self._base]
        else:
            batch = self._first.pop() if self._first else (yield from self._fetch())
            self._keep(batch)
        self._count += 1
        return batch

    def _keep(self, batch: Any) -> None:
        if not self.keeps:
            self._base += 1
            return
        self._kept.append(batch)
        self._bytes += _size(batch)
        if self._bytes > _KEPT_BYTES:
            _LOG.warning(
                "the batches since the last checkpoint are too large to be kept: after a loss the steps since then are made "
                "with other ones",
                bytes=self._bytes,
            )
            self.keeps = False
            self._base += len(self._kept)
            self._kept.clear()

    def mark(self, step: int) -> None:
        """A checkpoint of this global step is being made: batches from here on come after it."""
        self._marks[step] = self._count

    def forget(self, step: int) -> None:
        """The checkpoint is there: what came before it is not needed again."""
        begin = self._marks[step]
        self._marks = {number: place for number, place in self._marks.items() if place >= begin}
        while self._kept and self._base < begin:
            self._bytes -= _size(self._kept.popleft())
            self._base += 1

    def rewind(self, step: int) -> None:
        """The checkpoint of this step was restored: the batches since then come again."""
        begin = self._marks.get(step)
        if begin is None or begin < self._base:
            _LOG.warning("the steps after the checkpoint are made with other batches", step=step)
        else:
            self._count = begin

    def _fetch(self) -> Program[Any]:
        batch = as_arrays((yield from self._raw()))
        return pair(batch)[0] if self._only_features else batch

    def _raw(self) -> Program[Any]:
        while True:
            if self._iterator is None:
                if not self._left:
                    raise OutOfRangeError("The input is at its end.")
                self._left -= 1
                self.epoch += 1
                iterable = yield from self._again()
                self._iterator = aiter(iterable) if isinstance(iterable, AsyncIterable) else iter(iterable)
            source = self._iterator
            if isinstance(source, AsyncIterator):
                try:
                    batch = yield Await(lambda: anext(source))  # noqa: B023
                    return batch
                except StopAsyncIteration:
                    self._iterator = None
                    continue
            for batch in source:
                return batch
            self._iterator = None

    def close(self) -> Program[None]:
        """Ends an iterable that is a generator."""
        source: Any = self._iterator
        self._iterator = None
        if hasattr(source, "aclose"):
            yield Await(source.aclose)
        elif hasattr(source, "close"):
            source.close()
