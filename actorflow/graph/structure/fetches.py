"""The structure of fetches: from nested lists, tuples and dicts to flat tensors and back (paper section 4.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, resource
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import ROLES
from actorflow.errors import InvalidArgumentError, describe, with_topic
from actorflow.graph.convert import is_symbolic, shared_read
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.graph.structure.composites import is_composite
from actorflow.graph.tensor import Operation, Tensor

Build = Callable[[Sequence[Any]], Any]
_FETCHED = "Fetch a tensor, an operation, the name of one, or a list, tuple or dict of these."


class Fetches:
    """The fetches of a run. `tensor_ids` are the tensors, each once; `targets` the operations that only have to run.

    `build(values)` puts values of the endpoints into the structure that was asked for; an operation gives None.
    """

    def __init__(
        self, graph: Graph, structure: Any, writable: bool = False, handle: Callable[[bytes, DType], Any] | None = None
    ) -> None:
        self._graph = graph
        self._handle = handle  # makes of a kept tensor's text and type what the caller gets
        self._positions: dict[TensorId, int] = {}
        self._targets: dict[str, None] = {}
        build = self._parse(structure)
        self.build: Build = (lambda values: build(list(map(_owned, values)))) if writable else build
        self.tensor_ids = tuple(self._positions)
        self.targets = tuple(self._targets)

    def _parse(self, structure: Any) -> Build:
        if isinstance(structure, Mapping):
            make: Callable[[Any], Any] = type(structure)
            if isinstance(structure, defaultdict):
                make = partial(type(structure), structure.default_factory)
            keys = list(structure)
            parts = [self._parse(structure[key]) for key in keys]
            return lambda values: make((key, part(values)) for key, part in zip(keys, parts))
        if isinstance(structure, (list, tuple)):
            parts = [self._parse(part) for part in structure]
            if hasattr(structure, "_fields"):  # a named tuple
                named = type(structure)
                return lambda values: named(*(part(values) for part in parts))
            kind = type(structure)
            return lambda values: kind([part(values) for part in parts])
        if structure is None:
            raise TypeError(
                describe(
                    f"None can't be fetched. {_FETCHED}",
                    details=map(str, self._graph.none_gradients),
                    hint=with_topic("A gradient is None where nothing leads to it.", "gradient-is-none"),
                )
            )
        if is_composite(structure):
            inner = self._parse(structure.__tensor_components__())
            return lambda values: structure.__from_components__(*inner(values))
        element = self._element(structure)
        if isinstance(element, Operation):
            self._targets[element.name] = None
            return lambda values: None
        if element.dtype is resource:
            self._targets[element.op.name] = None
            identity = _identity_of(element.op)
            return lambda values: identity
        position = self._position(element)
        if ROLES[element.op.type] is roles.SESSION_HANDLE and self._handle is not None:
            dtype, handle = element.op.inputs[0].dtype.base_dtype, self._handle
            return lambda values: handle(values[position], dtype)
        return lambda values: values[position]

    def _element(self, fetch: Any) -> Tensor | Operation:
        """One fetch as an element of the graph."""
        if isinstance(fetch, (str, bytes)) or is_symbolic(fetch) or isinstance(fetch, Operation):
            element = self._graph.as_graph_element(fetch)
            if not self._graph.is_fetchable(element):
                operation = element if isinstance(element, Operation) else element.op
                raise InvalidArgumentError(
                    f"Operation {operation.name!r} has been marked as not fetchable, by `graph.prevent_fetching`.",
                    node=operation.name,
                    where=operation.where,
                )
            return element
        if callable(fetch):
            name = getattr(fetch, "__name__", repr(fetch))
            raise TypeError(
                with_topic(
                    f"{name} is a function and can't be fetched: call it, and fetch the tensor that it gives.",
                    "not-fetchable",
                )
            )
        raise TypeError(
            with_topic(
                f"{fetch!r:.60} (of type {type(fetch).__name__}) can't be fetched. {_FETCHED} Values are fed, in the second "
                "argument: session.run(fetches, feeds).",
                "not-fetchable",
            )
        )

    def _position(self, tensor: Tensor) -> int:
        read = shared_read(tensor) if tensor.dtype.is_ref else tensor
        if read is None:
            raise TypeError(
                describe(
                    f"{tensor.name} is a reference to a variable that nothing reads; fetch a read of it.",
                    node=tensor.op.name,
                    op=tensor.op.type,
                    where=tensor.where,
                )
            )
        return self._positions.setdefault(read.tensor_id, len(self._positions))


def _owned(value: Any) -> Any:
    """A fetched value as its caller's own: other holders of an array, such as a variable, don't see what is written there."""
    return value.copy() if type(value) is np.ndarray and not value.flags.writeable else value


def _identity_of(resource: Operation) -> np.ndarray[Any, Any]:
    """The value of a fetched handle of a queue or another resource: its container and its name in there."""
    attrs = resource.attrs
    names = (attrs.get("container") or "", attrs.get("shared_name") or resource.name)
    identity = np.array([name.encode() for name in names], dtype=object)
    identity.flags.writeable = False
    return identity


def cache_key(structure: Any) -> Any:
    """Something hashable that is equal for equal structures, or None if no cheap key exists."""
    kind = type(structure)
    if kind is Tensor or kind is Operation or kind is str:
        return structure
    if kind is list or kind is tuple:
        parts = tuple([part if type(part) in _LEAVES else cache_key(part) for part in structure])
        return None if None in parts else (kind, parts)
    if kind is dict or isinstance(structure, tuple):
        named = kind is not dict
        keys = () if named else tuple(structure)
        if named and not hasattr(kind, "_fields") or not all(type(key) is str for key in keys):
            return None
        parts = tuple([cache_key(part) for part in (structure if named else structure.values())])
        return None if None in parts else (kind, keys, parts)
    if isinstance(structure, Mapping) or structure is None:
        return None
    return structure if structure.__hash__ is not None else None


_LEAVES = frozenset((Tensor, Operation, str))
