"""`OrtValue` and `IOBinding`: arrays that are shared by DLPack, and bound to inputs and outputs."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.base.dtypes import as_dtype
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.exchange.onnx.inference.arguments import tensor_type
from actorflow.exchange.onnx.inference.names import nearest
from actorflow.exchange.onnx.types import code_of, dtype_of
from actorflow.graph.convert import host_array
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.exchange.onnx.inference.session import InferenceSession


def _check_device(device_type: str) -> None:
    if device_type.lower() != "cpu":
        raise UnimplementedError(
            f"Memory of {device_type!r} can't be bound: values enter and leave a session in the host's memory.",
            hint="Use device_type='cpu'; the runtime copies to and from its devices.",
        )


@public("af.onnx")
class OrtValue:
    """An array that is fed, or that takes an output. It shares its memory with the array that it was made of.

    Example:
        >>> value = af.onnx.OrtValue.ortvalue_from_numpy(np.zeros([2, 3], np.float32))
        >>> value.shape(), value.data_type()
        ([2, 3], 'tensor(float)')
        >>> np.from_dlpack(value).shape
        (2, 3)

    Args:
        array: the array.
    """

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: Any, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """A value that shares the memory of an array.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).numpy()
            [0 1 2]

        Args:
            numpy_obj: the array.
            device_type: cpu.
            device_id: without effect.

        Raises:
            TypeError: it is no array.
            UnimplementedError: the memory is another device's.
        """
        _check_device(device_type)
        if not isinstance(numpy_obj, np.ndarray):
            raise TypeError(f"ortvalue_from_numpy takes an array, but it was given {numpy_obj!r:.60}.")
        return cls(numpy_obj)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """A value with memory of its own.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_shape_and_type([2], np.int64).data_type()
            'tensor(int64)'

        Args:
            shape: its sizes.
            element_type: a type of numpy, or ONNX's number of a type.
            device_type: cpu.
            device_id: without effect.

        Raises:
            UnimplementedError: the memory is another device's.
        """
        _check_device(device_type)
        return cls(np.zeros(tuple(shape), _numpy_type(element_type)))

    @classmethod
    def from_dlpack(cls, data: Any) -> OrtValue:
        """A value that shares the memory of an array of another library.

        Example:
            >>> af.onnx.OrtValue.from_dlpack(np.ones([2], np.float32)).numpy()
            [1. 1.]

        Args:
            data: an array of any library that has DLPack.

        Raises:
            TypeError: it has not, or its memory is another device's.
        """
        if not hasattr(data, "__dlpack__"):
            raise TypeError(f"from_dlpack takes an array of a library that has DLPack, but it was given {data!r:.60}.")
        return cls(data if isinstance(data, np.ndarray) else host_array(data))

    def numpy(self) -> np.ndarray[Any, Any]:
        """The array, which shares the value's memory.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).numpy()
            [0 1 2]
        """
        return self._array

    def shape(self) -> list[int]:
        """The sizes.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).shape()
            [3]
        """
        return [*self._array.shape]

    def data_type(self) -> str:
        """The type in onnxruntime's words.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).data_type()
            'tensor(int64)'
        """
        return tensor_type(as_dtype(self._array.dtype))

    def element_type(self) -> int:
        """ONNX's number of the element type.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).element_type()
            7
        """
        return code_of(as_dtype(self._array.dtype))

    def device_name(self) -> str:
        """The device of the memory, which is cpu.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).device_name()
            'cpu'
        """
        return "cpu"

    def data_ptr(self) -> int:
        """The address of the first element.

        Example:
            >>> x = np.arange(3)
            >>> af.onnx.OrtValue.ortvalue_from_numpy(x).data_ptr() == x.ctypes.data
            True
        """
        return int(self._array.ctypes.data)

    def tensor_size_in_bytes(self) -> int:
        """The number of bytes.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).tensor_size_in_bytes()
            24
        """
        return int(self._array.nbytes)

    def has_value(self) -> bool:
        """True.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).has_value()
            True
        """
        return True

    def is_tensor(self) -> bool:
        """True.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).is_tensor()
            True
        """
        return True

    def is_sparse_tensor(self) -> bool:
        """False.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).is_sparse_tensor()
            False
        """
        return False

    def is_tensor_sequence(self) -> bool:
        """False.

        Example:
            >>> af.onnx.OrtValue.ortvalue_from_numpy(np.arange(3)).is_tensor_sequence()
            False
        """
        return False

    def update_inplace(self, data: Any) -> None:
        """Writes other numbers into the value's memory.

        Example:
            >>> value = af.onnx.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32))
            >>> value.update_inplace(np.array([1.0, 2.0], np.float32))
            >>> value.numpy()
            [1. 2.]

        Args:
            data: an array, or another value, of the same type and shape.

        Raises:
            TypeError: it is neither.
            InvalidArgumentError: the type or the shape is another.
        """
        if not isinstance(data, (np.ndarray, OrtValue)):
            raise TypeError(f"update_inplace takes an array or an OrtValue, but it was given {data!r:.60}.")
        _copy("The value", np.asarray(data), self._array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy:
            return np.array(self._array, dtype)
        return self._array if dtype is None else self._array.astype(dtype, copy=False)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __repr__(self) -> str:
        return f"<OrtValue {self.data_type()} {self.shape()}>"


def _copy(what: str, source: Any, target: Any) -> None:
    if source.dtype != target.dtype or source.shape != target.shape:
        raise InvalidArgumentError(
            f"{what} is {target.dtype} of the shape {target.shape}, but what is written into it is {source.dtype} of the "
            f"shape {source.shape}."
        )
    np.copyto(target, source)


def _numpy_type(element_type: Any) -> np.dtype[Any]:
    if isinstance(element_type, int) and not isinstance(element_type, bool):
        element_type = dtype_of(element_type, "element_type").numpy_dtype
    dtype: np.dtype[Any] = np.dtype(element_type)
    return dtype


@public("af.onnx")
class IOBinding:
    """Values that are bound to a session's inputs and outputs, for `run_with_iobinding`.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.onnx.save("double.onnx", session, {"y": x * 2.0}, {"x": x})
        >>> doubled = np.zeros(2, np.float32)
        >>> with af.onnx.InferenceSession("double.onnx") as model:
        ...     binding = model.io_binding()
        ...     binding.bind_cpu_input("x", np.array([1.0, 2.0], np.float32))
        ...     binding.bind_ortvalue_output("y", af.onnx.OrtValue.from_dlpack(doubled))
        ...     model.run_with_iobinding(binding)
        >>> doubled
        [2. 4.]

    Args:
        session: the session.
    """

    def __init__(self, session: InferenceSession) -> None:
        self.session = session
        self.feed: dict[str, Any] = {}
        """The values of inputs by name."""
        self.targets: dict[str, OrtValue | None] = {}
        """The outputs by name, and the memory that takes them; None for memory of their own."""
        self._results: list[Any] = []

    def _check(self, name: str, names: Sequence[str], kind: str) -> None:
        if name not in names:
            raise InvalidArgumentError(
                f"The model has no {kind} {name!r}; it has {', '.join(map(repr, names))}.{nearest(name, names)}"
            )

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an array to an input.

        Args:
            name: the input.
            arr_on_cpu: the array.

        Raises:
            InvalidArgumentError: there is no such input.
        """
        inputs = (*self.session.get_inputs(), *self.session.get_overridable_initializers())
        self._check(name, [argument.name for argument in inputs], "input")
        self.feed[name] = arr_on_cpu

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds memory to an input.

        Args:
            name: the input.
            device_type: cpu.
            device_id: without effect.
            element_type: a type of numpy, or ONNX's number of a type.
            shape: the sizes.
            buffer_ptr: the address of the first element.

        Raises:
            InvalidArgumentError: there is no such input.
            UnimplementedError: the memory is another device's.
        """
        _check_device(device_type)
        self.bind_cpu_input(name, _at(buffer_ptr, shape, element_type))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds a value to an input.

        Args:
            name: the input.
            ortvalue: the value.

        Raises:
            InvalidArgumentError: there is no such input.
        """
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Asks for an output, in memory of its own or in given memory.

        Args:
            name: the output.
            device_type: cpu.
            device_id: without effect.
            element_type: with `buffer_ptr`, a type of numpy or ONNX's number of a type.
            shape: with `buffer_ptr`, the sizes.
            buffer_ptr: the address of memory that takes it.

        Raises:
            InvalidArgumentError: there is no such output, or memory is given without type and shape.
            UnimplementedError: the memory is another device's.
        """
        _check_device(device_type)
        self._check(name, [argument.name for argument in self.session.get_outputs()], "output")
        if buffer_ptr is not None and (shape is None or element_type is None):
            raise InvalidArgumentError(f"The memory for {name!r} needs element_type and shape.")
        self.targets[name] = None if buffer_ptr is None else OrtValue(_at(buffer_ptr, shape or (), element_type))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Asks for an output in the memory of a value.

        Args:
            name: the output.
            ortvalue: the value.

        Raises:
            InvalidArgumentError: there is no such output.
        """
        self.bind_output(name)
        self.targets[name] = ortvalue

    def take(self, results: Sequence[Any]) -> None:
        """Writes each result to its bound target. Raises InvalidArgumentError if a result does not fit."""
        for (name, target), value in zip(self.targets.items(), results):
            if target is not None:
                _copy(f"The memory for the output {name!r}", value, target.numpy())
        pairs = zip(self.targets.values(), results)
        self._results = [value if target is None else target.numpy() for target, value in pairs]

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound."""
        return [OrtValue(value) for value in self._results]

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The same as arrays."""
        return [np.array(value) if isinstance(value, np.ndarray) else value for value in self._results]

    def clear_binding_inputs(self) -> None:
        """Forgets the inputs."""
        self.feed = {}

    def clear_binding_outputs(self) -> None:
        """Forgets the outputs."""
        self.targets, self._results = {}, []

    def synchronize_inputs(self) -> None:
        """Does nothing: inputs are in the host's memory."""

    def synchronize_outputs(self) -> None:
        """Does nothing: outputs are there when a run has ended."""


def _at(address: int, shape: Sequence[int], element_type: Any) -> Any:
    """The array at an address of the process's memory."""
    dtype = _numpy_type(element_type)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = (ctypes.c_char * size).from_address(address)
    return np.frombuffer(memoryview(memory), dtype).reshape(tuple(shape))


def values_of(feed: Any) -> Any:
    """A feed whose values are `OrtValue`. Raises TypeError for any other value."""
    if not isinstance(feed, Mapping):
        return feed
    for name, value in feed.items():
        if not isinstance(value, OrtValue):
            raise TypeError(
                f"run_with_ort_values takes values of the type OrtValue, but {name!r} is {value!r:.40}; use run for arrays."
            )
    return {name: value.numpy() for name, value in feed.items()}
