"""Feeds: from what a program passes to the values that enter a step. A fitting array goes in as it is, uncopied."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from actorflow.base import shapes
from actorflow.base.byte_strings import NoStringError, byte_strings
from actorflow.base.shapes import Shape
from actorflow.errors import FeedError, InvalidArgumentError, UnknownNameError, with_topic
from actorflow.graph.convert import host_array, shared_read
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.graph.structure.composites import spread_names
from actorflow.graph.tensor import Operation, Tensor

_MOST_NAMES = 6


def fed_element(graph: Graph, key: Any) -> Tensor | Operation:
    """The element of the graph that a key of feeds means.

    Raises:
        UnknownNameError: there is nothing of that name.
        ValueError: it belongs to another graph.
        TypeError: it is nothing of a graph.
    """
    try:
        return graph.as_graph_element(key)
    except UnknownNameError:
        fed = {f"{node.name}:0": node for node in graph.nodes.values() if node.op.startswith("Placeholder")}
        name = key.decode(errors="replace") if isinstance(key, bytes) else key
        near = difflib.get_close_matches(name if ":" in name else f"{name}:0", fed, n=1, cutoff=0.4)
        meant = f"Did you mean {near[0]!r}? " if near else ""
        most = [*map(repr, list(fed)[:_MOST_NAMES])] + ["..."] * (len(fed) > _MOST_NAMES)
        raise UnknownNameError(
            f"The feed {key!r} names no tensor of the graph. {meant}Placeholders of the graph: {', '.join(most) or 'none'}."
        ) from None
    except TypeError:
        raise TypeError(
            f"{key!r:.60} (of type {type(key).__name__}) can't be a key of the feeds: they go from tensors, or their "
            "names, to values."
        ) from None


def fed_tensor(graph: Graph, key: Any) -> Tensor:
    """The tensor that a key of feeds means.

    Raises:
        InvalidArgumentError: it can't be fed.
        UnknownNameError, ValueError, TypeError: as `fed_element`.
    """
    element = fed_element(graph, key)
    if isinstance(element, Operation):
        raise InvalidArgumentError(
            f"The operation {element.name} can't be fed; feed one of its tensors, such as {element.name}:0.",
            node=element.name,
            where=element.where,
        )
    if not graph.is_feedable(element):
        raise InvalidArgumentError(
            f"Tensor {element.name} may not be fed: the program prevents that by `graph.prevent_feeding`.",
            node=element.op.name,
            where=element.where,
        )
    if element.dtype.is_ref and (read := shared_read(element)) is not None:
        element = read
    flow = graph.flow_of(element.op.name)
    if flow is not None and flow.loop is not None:
        raise InvalidArgumentError(
            f"{element.name} is inside of {flow.loop}, and can't be fed: there is one in each iteration.",
            node=element.op.name,
            where=element.where,
        )
    return element


class Feed:
    """Converts the values of one fed tensor."""

    __slots__ = ("_dtype", "_exact", "_numpy", "_scalar", "_shape", "_static", "tensor", "tensor_id")

    tensor: Tensor
    tensor_id: TensorId

    def __init__(self, tensor: Tensor, exact: bool = False) -> None:
        """
        Args:
            tensor: what is fed.
            exact: whether values of another kind are taken too, if all of them convert exactly.

        Raises:
            InvalidArgumentError: it is a reference.
        """
        if tensor.dtype.is_ref:
            kind = "resource" if tensor.dtype.kind == "R" else "variable"
            raise InvalidArgumentError(
                f"The reference can't be fed: it stands for a {kind}, not for a value.",
                node=tensor.op.name,
                where=tensor.where,
            )
        self.tensor = tensor
        self.tensor_id = tensor.tensor_id
        self._exact = exact
        self._dtype = tensor.dtype
        self._numpy: np.dtype[Any] = tensor.dtype.numpy_dtype
        self._scalar: Any = None if tensor.dtype.kind == "S" else self._numpy.type
        self._shape = tensor.static_shape
        self._static = shapes.is_static(self._shape)

    def __call__(self, value: Any) -> Any:
        """`value` as an array or numpy scalar of the tensor's type.

        Raises:
            FeedError: it has another kind of elements, or a shape that the tensor can't have.
        """
        kind = type(value)
        if kind is np.ndarray and value.dtype == self._numpy and self._scalar is not None:
            array = value
        elif kind is self._scalar:
            if self._shape is None or self._shape == ():
                return value
            array = np.asarray(value)
        elif kind is float and self._shape == () and self._dtype.kind == "f":
            return self._scalar(value)
        else:
            array = self._convert(value)
        if array.shape != self._shape and (self._static or not shapes.compatible(self._shape, array.shape)):
            raise self._error(
                f"Cannot feed value of shape {array.shape} for Tensor {self.tensor.name}, which has shape "
                f"{shapes.show(self._shape)}.",
                value,
            )
        return array if array.ndim else array[()] if self._scalar is not None else array

    def _convert(self, value: Any) -> np.ndarray[Any, Any]:
        if isinstance(value, Tensor):
            raise self._error(
                "A tensor can't be fed: a feed is a value, such as one that an earlier run fetched.", value
            )
        if self._scalar is None:
            return self._strings(value)
        try:
            array = host_array(value)
        except Exception as error:  # of the library that the value comes from
            if isinstance(value, (list, tuple)) and "inhomogeneous" in str(error):
                raise self._error("It can't become an array: its parts have different lengths.", value) from None
            raise self._error(f"It can't become an array: {error}", value) from None
        if self._exact and (converted := exactly(array, self._numpy)) is not None:
            return converted
        if array.dtype.kind not in "biufcV" and array.dtype != self._numpy:
            kind = {"O": f"holds a {_kind_in(array)}", "U": "is text", "S": "is bytes"}
            raise self._error(
                f"It {kind.get(array.dtype.kind, f'is of type {array.dtype}')}, but {self._dtype} is needed.", value
            )
        if array.size and not np.can_cast(array.dtype, self._numpy, "same_kind"):
            if not (array.dtype.kind == "i" and self._dtype.kind == "u" and array.min() >= 0):
                remedy = f"np.asarray(value).astype(np.{self._numpy}) converts it, if that is meant"
                raise self._error(
                    f"It is of type {array.dtype}, which does not convert to {self._dtype} by itself; {remedy}.", value
                )
        if array.size and array.dtype.kind in "iu" and self._dtype.kind in "iu":
            if array.min() < self._dtype.min or array.max() > self._dtype.max:
                raise self._error(f"Its values don't fit {self._dtype}.", value)
        typed = array.astype(self._numpy, copy=False)
        return typed if typed.base is None else typed.view()  # a view of an array: its memory has another owner

    def _strings(self, value: Any) -> np.ndarray[Any, Any]:
        try:
            return byte_strings(value)
        except NoStringError as error:
            kind = type(error.item).__name__
            raise self._error(f"It holds a {kind}, but byte strings are needed.", value) from None

    def _error(self, problem: str, value: Any) -> FeedError:
        text = repr(value)
        return FeedError(
            f"The value fed to {self.tensor.name} does not fit. {problem}",
            node=self.tensor.op.name,
            op=self.tensor.op.type,
            where=self.tensor.where,
            details=[f"the value: {text if len(text) < 60 else text[:57] + '...'}"],
            hint=with_topic("Feed an array of the placeholder's type and shape.", "feed-does-not-fit"),
        )


def exactly(array: np.ndarray[Any, Any], target: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """The numbers of `array` in another kind of type, or None where a conversion between them is not needed or not exact.

    Whole floats become integers, 0 and 1 become bools. Objects that are numbers, and text that spells numbers, become numbers.

    Args:
        array: what was fed.
        target: the type that is needed.
    """
    if target.kind not in "biufc":
        return None
    source = array
    try:
        if array.dtype.kind == "O":
            source = np.asarray(array.tolist())
            if source.dtype.kind == "O" and all(isinstance(item, Number) for item in source.flat):
                source = source.astype(np.float64)
        if source.dtype.kind in "US":
            source = source.astype(target if target.kind in "iufc" else np.float64)
        if source.dtype.kind == "c" and target.kind != "c" and not np.any(source.imag):
            source = source.real
    except (ValueError, OverflowError):  # ragged parts, or text that is no number
        return None
    if source.dtype.kind == "c" and target.kind != "c":
        return None
    if source.dtype.kind not in "biufc" or source is array and np.can_cast(array.dtype, target, "same_kind"):
        return None
    if source.dtype.kind in "iuf" and target.kind in "iu":
        bounds = np.iinfo(target)
        if source.dtype.kind == "f" and not np.all(np.isfinite(source)):
            return None
        if source.size and not (bounds.min <= source.min().item() and source.max().item() <= bounds.max):
            return None
    converted = source.astype(target)
    exact = target.kind in "fc" and source.dtype.kind != "c" or np.array_equal(converted, source)
    return converted if exact else None


def feeds_of(graph: Graph, keys: Iterable[Any], exact: bool = False) -> tuple[Feed, ...]:
    """The converters for the values of the tensors that these keys mean. Each tensor may be named once."""
    by_tensor: dict[TensorId, Feed] = {}
    for key in spread_names(keys):
        feed = Feed(fed_tensor(graph, key), exact)
        if by_tensor.setdefault(feed.tensor_id, feed) is not feed:
            raise InvalidArgumentError(
                f"{feed.tensor.name} is fed twice.",
                node=feed.tensor.op.name,
                where=feed.tensor.where,
            )
    return tuple(by_tensor.values())


def _kind_in(array: np.ndarray[Any, Any]) -> str:
    """The type of the first of Python's objects in `array` that is no text."""
    return next((type(item).__name__ for item in array.flat if not isinstance(item, (str, bytes))), "str")


def fed_sizes(feeds: Sequence[Feed], values: Sequence[Any]) -> dict[TensorId, Shape]:
    """The shapes of the values of feeds whose static shapes leave something open, for values that are arrays."""
    sizes: dict[TensorId, Shape] = {}
    for feed, value in zip(feeds, values):
        shape = getattr(value, "shape", None)
        if (
            isinstance(shape, tuple)
            and not shapes.is_static(feed.tensor.static_shape)
            and all(type(n) is int for n in shape)
        ):
            sizes[feed.tensor_id] = shape
    return sizes
