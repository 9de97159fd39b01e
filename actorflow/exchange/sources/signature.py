"""`Signature`: the inputs and outputs of a served model by name, and the check of what a client sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.graph.graphdef.attributes import shape_of
from actorflow.graph.graphdef.protos import BY_CODE, SignatureDef, TensorInfo

PREDICT, CLASSIFY, REGRESS = (f"tensorflow/serving/{method}" for method in ("predict", "classify", "regress"))


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a signature: the name of its tensor, its type, and its shape, with None for unknown sizes."""

    tensor: str
    dtype: DType
    shape: tuple[int | None, ...] | None

    @property
    def has_rows(self) -> bool:
        """Whether its first size is that of a batch."""
        return self.shape is None or bool(self.shape) and self.shape[0] is None

    def array(self, name: str, value: Any) -> Any:
        """A value as an array that fits.

        Raises:
            InvalidArgumentError: it has another type or shape.
        """
        array = value if type(value) is np.ndarray else np.asarray(value)
        if array.dtype != self.dtype.numpy_dtype:
            array = _converted(name, array, self.dtype)
        sizes = array.shape
        if self.shape is not None:
            expected = self.shape
            if len(sizes) != len(expected) or any(w is not None and w != s for w, s in zip(expected, sizes)):
                raise InvalidArgumentError(
                    f"The input {name!r} has the shape {_shown(sizes)}, but {_shown(expected)} is expected."
                )
        return array


def _converted(name: str, array: Any, dtype: DType) -> Any:
    kind, target = array.dtype.kind, dtype.numpy_dtype.kind
    if dtype is dtypes.string:
        if kind in "SU":
            texts = np.empty(array.shape, object)
            texts[...] = array.astype("S") if kind == "S" else np.char.encode(array, "utf-8")
            return texts
        if kind == "O" and all(isinstance(item, (bytes, str)) for item in array.flat):
            texts = np.empty(array.size, object)
            texts[:] = [item.encode() if isinstance(item, str) else item for item in array.flat]
            return texts.reshape(array.shape)
    elif not array.size and kind == "f":  # an empty list has no type of its own
        return array.astype(dtype.numpy_dtype)
    elif kind in "iu" and target in "iu":
        limits = np.iinfo(dtype.numpy_dtype)
        if array.size and (int(array.min()) < limits.min or int(array.max()) > limits.max):
            raise InvalidArgumentError(f"The input {name!r} has numbers that are no {dtype.name}.")
        return array.astype(dtype.numpy_dtype)
    elif kind in "iuf" and target in "fV" or kind in "iufc" and target == "c":
        with np.errstate(over="ignore"):
            return array.astype(dtype.numpy_dtype)
    actual = "text" if kind in "SUO" else array.dtype.name
    raise InvalidArgumentError(f"The input {name!r} has values of the type {actual}, but {dtype.name} is expected.")


def _shown(shape: Sequence[int | None]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


@dataclass(frozen=True, slots=True)
class Signature:
    """One use of a model. Rows of several requests can go through one step if it `is_batched`: all inputs and outputs have an
    unknown first size."""

    name: str
    method: str
    inputs: Mapping[str, Port]
    outputs: Mapping[str, Port]
    is_batched: bool

    @staticmethod
    def make(name: str, method: str, inputs: Mapping[str, Port], outputs: Mapping[str, Port]) -> Signature:
        """A signature out of its parts."""
        ports = [*inputs.values(), *outputs.values()]
        batched = bool(inputs) and bool(outputs) and all(port.has_rows for port in ports)
        batched = batched and all(port.shape is not None for port in inputs.values())
        return Signature(name, method, dict(inputs), dict(outputs), batched)

    @staticmethod
    def of_message(name: str, message: SignatureDef) -> Signature:
        """A signature of a saved model.

        Raises:
            InvalidArgumentError: it names a sparse or composite tensor, or an unknown type.
        """
        inputs = {key: _port(name, key, info) for key, info in message.inputs.items()}
        outputs = {key: _port(name, key, info) for key, info in message.outputs.items()}
        return Signature.make(name, message.method_name or PREDICT, inputs, outputs)

    def arrays(self, values: Mapping[str, Any]) -> list[Any]:
        """The values that a client sends, as arrays in the order of the inputs.

        Args:
            values: a value for each input.

        Raises:
            InvalidArgumentError: inputs are missing or unknown, do not fit, or have different numbers of rows.
        """
        inputs = self.inputs
        if values.keys() != inputs.keys():
            missing, unknown = sorted(inputs.keys() - values.keys()), sorted(values.keys() - inputs.keys())
            faults = [f"lacks {missing}"] * bool(missing) + [f"has no inputs {unknown}"] * bool(unknown)
            raise InvalidArgumentError(
                f"input size does not match signature {self.name!r}: it takes {sorted(inputs)}; the request "
                + ", and the signature ".join(faults)
                + "."
                if missing
                else f"The signature {self.name!r} has no inputs {unknown}; it takes {sorted(inputs)}."
            )
        try:
            arrays = [port.array(name, values[name]) for name, port in inputs.items()]
        except (ValueError, TypeError, OverflowError) as error:
            if isinstance(error, InvalidArgumentError):
                raise
            raise InvalidArgumentError(f"An input is no array: {error}.") from None
        if len(arrays) > 1 and self.is_batched and len({array.shape[0] for array in arrays}) > 1:
            raise InvalidArgumentError(
                "The inputs have different numbers of rows: "
                + ", ".join(f"{name!r} has {array.shape[0]}" for name, array in zip(inputs, arrays))
                + "."
            )
        return arrays

    def chosen(self, outputs: Sequence[str] | None) -> tuple[str, ...]:
        """The names of the outputs that are asked for, all unless given.

        Raises:
            NotFoundError: there is none of a name.
        """
        if not outputs:
            return tuple(self.outputs)
        for name in outputs:
            if name not in self.outputs:
                raise NotFoundError(
                    f"The signature {self.name!r} has no output {name!r}; it has {', '.join(map(repr, self.outputs))}."
                )
        return tuple(dict.fromkeys(outputs))


def _port(signature: str, key: str, info: TensorInfo) -> Port:
    if info.WhichOneof("encoding") != "name":
        raise InvalidArgumentError(f"{key!r} of the signature {signature!r} is no single dense tensor.")
    if info.dtype not in BY_CODE:
        raise InvalidArgumentError(f"{key!r} of the signature {signature!r} has no known type.")
    return Port(info.name, BY_CODE[info.dtype], shape_of(info.tensor_shape))
