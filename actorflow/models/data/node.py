"""`DatasetNode`: one stage of a dataset's description, a frozen record; and how a description goes over the wire.

A description is a tree of nodes. The tensors in it, such as the size of a batch or what is sliced, are arrays; or tensors of a
graph, which stand for values that are not known yet. `bind` puts values in the place of those. In that way the same description
serves a client, a node of a graph that makes an iterator, and a function that makes a dataset of each element.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from actorflow.base.dtypes import DTypeLike, as_dtype
from actorflow.base.reports.user_line import user_line
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.errors import Where
from actorflow.graph.convert import as_array, convert_to_tensor, is_symbolic
from actorflow.graph.ops.flow.py_func import PythonFunction, function_of
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.tensor import Tensor
from actorflow.models.data.spec import DatasetSpec, SparseTensorSpec, Spec


@dataclass(frozen=True, slots=True, eq=False)
class DatasetNode:
    """One stage: its `kind`, a name of the table of stages, and what it takes.

    `spec` is what its elements look like, `inputs` are the stages it pulls from, `tensors` its values, `options` plain values,
    `function` what it calls for each element, `where` the user's line that made it. `shared` holds what all iterators of the
    stage in this process have in common: the content of a cache, and the generator of its seeds. `settings` are those of
    `with_options`, which stay in the program.
    """

    kind: str
    spec: Spec
    inputs: tuple[DatasetNode, ...] = ()
    tensors: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    function: Any = None
    where: Where | None = field(default_factory=user_line)
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    settings: Any = None

    def number(self, index: int) -> int:
        """One of its tensors, an integer."""
        return int(self.tensors[index])

    def __str__(self) -> str:
        return f"{self.kind} of {self.where}" if self.where else self.kind


def parameter(value: Any, dtype: DTypeLike | None = None) -> Any:
    """A value of a stage: an array, or a tensor of a graph. Raises TypeError for what is no tensor of that type."""
    if isinstance(value, EagerTensor):
        value = value.numpy()
    elif isinstance(value, Tensor) or is_symbolic(value):
        tensor = convert_to_tensor(value)
        if not isinstance(tensor, EagerTensor) and tensor.op.type != "Const":
            if dtype is not None and tensor.dtype.is_integer and as_dtype(dtype).is_integer:
                return cast(tensor, dtype)  # TensorFlow's sizes are int64, its numbers of parallel calls int32
            return convert_to_tensor(tensor, dtype)
        value = tensor.numpy() if isinstance(tensor, EagerTensor) else tensor.op.attrs["value"]
    if isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
        tensor = convert_to_tensor(value, dtype)
        return tensor.numpy() if isinstance(tensor, EagerTensor) else tensor
    return as_array(value, None if dtype is None else as_dtype(dtype))


def spec_of(value: Any) -> TensorSpec:
    """The type and shape of a parameter."""
    if isinstance(value, Tensor):
        return TensorSpec(value.static_shape, value.dtype)
    return TensorSpec(value.shape, as_dtype(value.dtype))


def known_integer(value: Any) -> int | None:
    """A parameter as an integer, as far as it is known already."""
    return None if isinstance(value, Tensor) else int(value)


def unbound(node: DatasetNode, tensors: dict[Tensor, None] | None = None) -> dict[Tensor, None]:
    """The tensors of graphs in a description, each once, in order."""
    tensors = {} if tensors is None else tensors
    for tensor in node.tensors:
        if isinstance(tensor, Tensor):
            tensors[tensor] = None
    for below in node.inputs:
        unbound(below, tensors)
    return tensors


def bind(node: DatasetNode, values: Mapping[Any, Any]) -> DatasetNode:
    """A description with values in the place of its tensors, and of its `argument` nodes. Others stay the same."""
    if node.kind == "argument" and node.options["key"] in values:
        bound: DatasetNode = values[node.options["key"]]
        return bound
    inputs = tuple([bind(below, values) for below in node.inputs])
    tensors = tuple([values.get(t, t) if isinstance(t, Tensor) else t for t in node.tensors])
    if all(map(_same, inputs, node.inputs)) and all(map(_same, tensors, node.tensors)):
        return node
    return replace(node, inputs=inputs, tensors=tensors, shared={})


def _same(left: Any, other: Any) -> bool:
    return left is other


# ---- the wire


def encode(node: DatasetNode, tensors: dict[Any, int]) -> list[Any]:
    """A description in terms of msgpack. Its tensors are numbers: of the places that they get in `tensors`, where arrays are
    known by their identities.

    Raises:
        FailedPreconditionError, TypeError: it can't leave this process.
    """
    function = node.function
    if function is None:
        called: Any = None
    elif isinstance(function, PythonFunction):
        called = function.token
    else:
        called = function.encode(tensors)
    places = [tensors.setdefault(_key(tensor), len(tensors)) for tensor in node.tensors]
    return [
        node.kind,
        encode_spec(node.spec),
        [encode(below, tensors) for below in node.inputs],
        places,
        dict(node.options),
        called,
        list(node.where) if node.where else None,
    ]


class _Array:
    """An array as a key: by its identity."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Array) and self.array is other.array

    def __hash__(self) -> int:
        return id(self.array)


def _key(tensor: Any) -> Any:
    return tensor if isinstance(tensor, Tensor) else _Array(tensor)


def value_of(key: Any) -> Any:
    """The tensor or array behind a key that `encode` made."""
    return key.array if isinstance(key, _Array) else key


def decode(record: Sequence[Any], tensors: Sequence[Any]) -> DatasetNode:
    """The description of `encode`, with these values for its tensors. Raises ValueError for what is none."""
    try:
        kind, spec, inputs, places, options, called, where = record
        function: Any = None
        if isinstance(called, str):
            function = function_of(called)
        elif called is not None:
            from actorflow.models.data.functions.function import DatasetFunction

            function = DatasetFunction.decode(called, tensors)
        return DatasetNode(
            str(kind),
            decode_spec(spec),
            tuple([decode(below, tensors) for below in inputs]),
            tuple([tensors[place] for place in places]),
            MappingProxyType(dict(options)),
            function,
            None if where is None else Where(*where),
        )
    except (TypeError, IndexError, KeyError) as error:
        raise ValueError(f"The data is no description of a dataset: {error}") from error


def encode_spec(spec: Spec) -> Any:
    """A spec in terms of msgpack: lists are leaves, dicts are structures."""
    return _encode_part(spec.structure)


def _encode_part(part: Any) -> Any:
    if isinstance(part, DatasetSpec):
        return ["dataset", encode_spec(part.spec)]
    if isinstance(part, SparseTensorSpec):
        return ["sparse", part.dtype.name, None if part.static_shape is None else list(part.static_shape)]
    if isinstance(part, TensorSpec):
        return ["tensor", part.dtype.name, None if part.static_shape is None else list(part.static_shape)]
    if isinstance(part, Mapping):
        return {"keys": list(part), "parts": [_encode_part(part[key]) for key in part]}
    names = {"class": type(part).__name__, "fields": list(part._fields)} if hasattr(part, "_fields") else {}
    return {"parts": [_encode_part(element) for element in part], **names}


def decode_spec(record: Any) -> Spec:
    """The spec of `encode_spec`. Named tuples are of a class of the same name."""
    return Spec(_decode_part(record))


def _decode_part(record: Any) -> Any:
    if isinstance(record, dict):
        parts = [_decode_part(part) for part in record["parts"]]
        if "keys" in record:
            return dict(zip(record["keys"], parts))
        if "fields" in record:
            return namedtuple(record["class"], record["fields"])(*parts)
        return tuple(parts)
    kind, content, *shape = record
    if kind == "dataset":
        return DatasetSpec(decode_spec(content))
    return SparseTensorSpec(shape[0], content) if kind == "sparse" else TensorSpec(shape[0], content)


def bound_arrays(node: DatasetNode) -> None:
    """Raises RuntimeError where a description has tensors of a graph, whose values are not known here."""
    for tensor in unbound(node):
        raise RuntimeError(
            f"The dataset uses {tensor.name}, a tensor of a graph, so it has no values outside of a run. Make an iterator of it "
            "there: dataset.make_initializable_iterator()."
        )


def array(value: Any) -> np.ndarray[Any, Any]:
    """A value as an array, a byte string as an array of objects."""
    return np.asarray(value, object) if isinstance(value, bytes) else np.asarray(value)
