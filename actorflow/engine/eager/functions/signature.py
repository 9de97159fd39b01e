"""The key of a call of an `af.function`: types and shapes of its tensors, and its other arguments themselves."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import nest
from actorflow.base.dtypes import DType, DTypeLike, as_dtype, float32
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, ShapeLike, TensorShape, as_shape, compatible, show
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.errors import describe
from actorflow.graph.convert import as_array
from actorflow.graph.tensor import Tensor
from actorflow.public import public


@public("af")
class TensorSpec:
    """The type and shape of a tensor (`tf.TensorSpec`): what an argument of an `af.function` may be.

    Example:
        >>> @af.function(input_signature=[af.TensorSpec([None, 3], af.float32)])
        ... def total(x):
        ...     return af.reduce_sum(x, axis=0)
        >>> total(af.ones([2, 3])), total(af.ones([5, 3]))
        ([2. 2. 2.], [5. 5. 5.])

    Args:
        shape: the shape, with None for a size that may differ, or None for any shape.
        dtype: the element type.
        name: the name of the argument's node.
    """

    __slots__ = ("_shape", "dtype", "name")

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None) -> None:
        self._shape = as_shape(shape)
        self.dtype = as_dtype(dtype)
        self.name = name

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self._shape)

    @property
    def static_shape(self) -> Shape:
        """The shape as a plain tuple."""
        return self._shape

    def is_compatible_with(self, value: Any) -> bool:
        """Whether a tensor has this type and shape.

        Example:
            >>> af.TensorSpec([None, 3], af.float32).is_compatible_with(af.ones([2, 3]))
            True
        """
        return value.dtype.base_dtype is self.dtype and compatible(value.static_shape, self._shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self._shape, self.dtype) == (other._shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self._shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={show(self._shape)}, dtype={self.dtype!r}, name={self.name!r})"


class Misfit(TypeError, ValueError):
    """Arguments that do not fit an `input_signature`: a TypeError as in TensorFlow 2, and a ValueError as in version 1."""


class BoundCall:
    """The arguments of one call: the values of its tensors, and the key of all that a trace depends on."""

    __slots__ = ("arguments", "key", "tensors")

    def __init__(self, arguments: tuple[Any, ...], key: tuple[Any, ...], tensors: list[Any]) -> None:
        self.arguments = arguments
        self.key = key
        self.tensors = tensors


class FunctionSignature:
    """How the arguments of a function of Python are taken."""

    def __init__(
        self,
        function: Callable[..., Any],
        input_signature: Sequence[Any] | None,
        numbers_are_tensors: bool,
        static: Sequence[str],
    ) -> None:
        self.function = function
        self.specs = None if input_signature is None else nest.flatten(list(input_signature))
        self.structure = input_signature
        self.numbers = numbers_are_tensors
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters
        self.names = list(parameters)
        self.static = {self.names.index(name) for name in static if name in parameters}
        if unknown := [name for name in static if name not in parameters]:
            raise ValueError(describe(f"{unknown} are no arguments of {self._name}.", where=user_line()))
        kinds = [p.kind for p in parameters.values()]
        self._plain = all(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds)
        self._count = len(kinds)

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> BoundCall:
        """The arguments of a call.

        Raises:
            TypeError: the function has no such arguments, or an argument has another type than its `TensorSpec`.
            ValueError: an argument has another shape, or there are more or fewer arguments than `input_signature` has.
        """
        if kwargs or not self._plain or len(args) != self._count:
            args = self._bound(args, kwargs)
        if self.specs is not None:
            return self._as_specified(args)
        key: list[Any] = []
        tensors: list[Any] = []
        for number, arg in enumerate(args):
            if type(arg) is EagerTensor:
                tensors.append(arg)
                key.append((arg._dtype, arg.static_shape))
            elif number in self.static:
                key.append(_static(arg))
            else:
                self._take(arg, key, tensors)
        return BoundCall(args, tuple(key), tensors)

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(describe(f"{self._name}() can't be called so: {error}.", where=user_line())) from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def spread(self, arguments: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The argument of each parameter, as the function of Python is called with it."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for value, parameter in zip(arguments, self._signature.parameters.values()):
            if parameter.kind is parameter.VAR_POSITIONAL:
                args.extend(value)
            elif parameter.kind is parameter.VAR_KEYWORD:
                kwargs.update(value)
            elif parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return args, kwargs

    def _take(self, arg: Any, key: list[Any], tensors: list[Any]) -> None:
        """Adds what one argument is known by, and the tensors in it."""
        if isinstance(arg, (list, tuple)):
            key.append((type(arg), len(arg)))
            for part in arg:
                self._take(part, key, tensors)
        elif isinstance(arg, dict):
            names = in_order(arg)
            key.append((dict, *names))
            for name in names:
                self._take(arg[name], key, tensors)
        elif self.is_tensor(arg):
            tensor = as_tensor(arg)
            tensors.append(tensor)
            key.append((tensor.dtype, tensor.static_shape))
        elif isinstance(arg, TensorSpec):
            tensors.append(arg)
            key.append((arg.dtype, arg.static_shape))
        else:
            key.append(_static(arg))

    def is_tensor(self, arg: Any) -> bool:
        """Whether an argument becomes a tensor: tensors, arrays, and numbers unless they are to stay Python's."""
        if isinstance(arg, (Tensor, np.ndarray, np.generic)):
            return True
        return self.numbers and isinstance(arg, (int, float, complex)) and not isinstance(arg, bool)

    def _as_specified(self, args: tuple[Any, ...]) -> BoundCall:
        assert self.specs is not None and self.structure is not None
        values: list[Any] = []
        fits = len(args) >= len(self.structure) and all(
            _paired(spec, arg, values) for spec, arg in zip(self.structure, args)
        )
        if not fits or any(a is not None for a in args[len(self.structure) :] if not _empty(a)):
            raise Misfit(
                describe(
                    f"{self._name} takes {len(self.specs)} tensors by its input_signature, {self.specs!r}; "
                    f"{args!r:.80} does not fit.",
                    where=user_line(),
                )
            )
        tensors = []
        for number, (value, spec) in enumerate(zip(values, self.specs)):
            try:
                tensor = value if isinstance(value, (Tensor, TensorSpec)) else _eager(value, spec.dtype)
            except (TypeError, ValueError) as error:
                raise type(error)(
                    describe(f"Argument {number} of {self._name} does not fit {spec!r}: {error}", where=user_line())
                ) from None
            if tensor.dtype.base_dtype is not spec.dtype or not compatible(tensor.static_shape, spec.static_shape):
                raise (TypeError if tensor.dtype.base_dtype is not spec.dtype else Misfit)(
                    describe(
                        f"Python inputs incompatible with input_signature: argument {number} of {self._name} is "
                        f"{tensor.dtype} of shape {show(tensor.static_shape)}, not {spec!r}.",
                        where=user_line(),
                    )
                )
            tensors.append(tensor)
        return BoundCall(args, ("as specified",), tensors)

    def difference(self, before: tuple[Any, ...], key: tuple[Any, ...], arguments: Sequence[Any]) -> str:
        """Which argument sets two keys apart, in words."""
        if len(before) != len(key):
            return "the structure of its arguments changed"
        owners: list[str] = []
        for number, arg in enumerate(arguments):
            parts: list[Any] = []
            if number in self.static or type(arg) is EagerTensor:
                parts.append(None)
            else:
                self._take(arg, parts, [])
            owners.extend([self.names[number] if number < len(self.names) else str(number)] * len(parts))
        for owner, old, new in zip(owners, before, key):
            if old != new:
                return f"the argument {owner!r} was {_shown(old)}, and is {_shown(new)}"
        return "its arguments changed"


def as_tensor(value: Any) -> Any:
    """A value as a tensor that has its value, or the tensor of a graph that it is."""
    return value if isinstance(value, Tensor) else _eager(value, None)


def _eager(value: Any, dtype: DType | None) -> EagerTensor:
    array = as_array(value, dtype)
    return EagerTensor(array, as_dtype(array.dtype))


def in_order(arg: dict[Any, Any]) -> list[Any]:
    """The keys of a dict in the order in which its parts are taken: sorted if possible."""
    try:
        return sorted(arg)
    except TypeError:
        return list(arg)


def _paired(spec: Any, arg: Any, values: list[Any]) -> bool:
    """Whether an argument has the structure of its specification; its parts are added to `values`."""
    if isinstance(spec, TensorSpec):
        values.append(arg)
        return True
    if isinstance(spec, dict):
        return (
            isinstance(arg, dict)
            and spec.keys() == arg.keys()
            and all(_paired(spec[k], arg[k], values) for k in in_order(spec))
        )
    if not isinstance(spec, (list, tuple)) or not isinstance(arg, (list, tuple)) or len(spec) != len(arg):
        return False
    return all(_paired(s, a, values) for s, a in zip(spec, arg))


def _empty(value: Any) -> bool:
    return isinstance(value, (tuple, dict)) and not value


def _static(value: Any) -> Any:
    """The key of an argument that is no tensor: its type and itself; an object without being kept alive."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, type, DType)):
        return type(value), value
    if isinstance(value, (list, tuple)):
        return type(value), tuple(_static(part) for part in value)
    if isinstance(value, dict):
        return dict, tuple((key, _static(part)) for key, part in value.items())
    try:
        hash(value)
    except TypeError:
        return _reference(value) or ("object", id(value))
    return _reference(value)


def _reference(value: Any) -> Any:
    try:
        return weakref.ref(value)
    except TypeError:
        return type(value), value


def _shown(part: Any) -> str:
    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], DType):
        return f"{part[0]} {show(part[1])}"
    if isinstance(part, weakref.ref):
        return f"another object ({part()!r:.40})"
    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], type):
        return f"{part[1]!r:.40}"
    return f"{part!r:.40}"
