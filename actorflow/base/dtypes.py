"""Element types of tensors: TensorFlow's names over numpy's types.

A tensor of `string` holds arbitrary byte strings (any length, NULs too) and is a numpy object array of `bytes`.
`bfloat16` is an extra (`pip install actorflow[bfloat16]`), because numpy has no such type of its own. The narrow types, of
eight bits and fewer, need the same package. They are for storage: ops move them and cast them, but do not compute in them.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Hashable
from typing import Any, TypeAlias

import numpy as np

from actorflow.errors import UnimplementedError, with_topic
from actorflow.public import public


@public("af", "tf.dtypes")
class DType:
    """One element type; there is one object per type, so `is` compares.

    A *reference* type (`float32.ref`) is the type of a variable's handle: it may only enter an input that is declared as a
    reference, never an input that wants a value. So is `resource`, the type of the handles of queues, readers and other state
    that has no single element type. A `variant` is a value that is no array: an immutable list of tensors.

    Example:
        >>> af.float32.size, af.float32.is_floating, af.float32.as_numpy_dtype
        (4, True, <class 'numpy.float32'>)
        >>> af.int32 is af.as_dtype("int32")
        True
    """

    __slots__ = ("_base", "_ref", "code", "kind", "name", "size")

    def __init__(self, name: str, code: int, kind: str, size: int, base: DType | None = None) -> None:
        """
        Args:
            name: the name, such as `float32`.
            code: the number of the type in TensorFlow's formats.
            kind: the kind as in numpy: b i u f c; S byte strings, R handles of resources, V lists of tensors.
            size: the size of an element in bytes.
            base: the type of the value, for a reference type.
        """
        self.name = name
        self.code = code
        self.kind = kind  # as numpy's: b i u f c, S byte strings, R handles of resources, V lists of tensors
        self.size = size
        self._base = base
        self._ref: DType | None = None

    def __eq__(self, other: object) -> builtins.bool:
        """Whether `other` is this type, or a name or a type of numpy or Python for it, as in TensorFlow.

        Example:
            >>> af.float32 == np.dtype("float32"), af.float32 == "float32", af.float32 == "double"
            (True, True, False)
        """
        if self is other or other is None or isinstance(other, DType):
            return self is other
        try:
            return as_dtype(other) is self  # type: ignore[arg-type]
        except (TypeError, UnimplementedError):
            return False

    __hash__ = object.__hash__

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """numpy's `dtype` of the elements (object for strings)."""
        return _numpy_type(self.base_dtype.name)

    @property
    def as_numpy_dtype(self) -> Any:
        """numpy's class of the elements, which makes scalars, as in TensorFlow: `af.float16.as_numpy_dtype(3)`."""
        return self.numpy_dtype.type

    @property
    def as_datatype_enum(self) -> builtins.int:
        """The number of the type in messages (`tf.DType.as_datatype_enum`)."""
        return self.code

    @property
    def is_ref(self) -> builtins.bool:
        return self._base is not None or self.kind == "R"

    @property
    def base_dtype(self) -> DType:
        """The type of the value behind a reference; itself for a value type."""
        return self._base or self

    @property
    def ref(self) -> DType:
        """The type of a reference to a value of this type."""
        if self.is_ref:
            return self
        if self._ref is None:
            self._ref = DType(self.name + "_ref", self.code + 100, self.kind, self.size, base=self)
        return self._ref

    @property
    def is_floating(self) -> builtins.bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> builtins.bool:
        return self.kind in "iu"

    @property
    def is_unsigned(self) -> builtins.bool:
        return self.kind == "u"

    @property
    def is_complex(self) -> builtins.bool:
        return self.kind == "c"

    @property
    def is_bool(self) -> builtins.bool:
        return self.kind == "b"

    @property
    def real_dtype(self) -> DType:
        """The type of the real part: float32 for complex64, else itself."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def min(self) -> Any:
        return _limits(self.name)[0]

    @property
    def max(self) -> Any:
        return _limits(self.name)[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The smallest and largest intensity in an image of this type: 0 and 1 for floats, 0 and `max` for integers. Raises
        TypeError for a type that has none."""
        if self.is_bool:
            return False, True
        return (0, 1) if self.is_floating else (0, builtins.int(self.max))

    @property
    def is_quantized(self) -> builtins.bool:
        """False: quantized values have plain integer types here."""
        return False

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """Whether the elements are those of an array."""
        return self.kind not in "RV"

    def is_compatible_with(self, other: DTypeLike) -> builtins.bool:
        """Whether both are one type, not counting whether they are references.

        Example:
            >>> af.float32.is_compatible_with("float32"), af.float32.is_compatible_with(af.float64)
            (True, False)
        """
        return self.base_dtype is as_dtype(other).base_dtype

    def __repr__(self) -> str:
        return f"actorflow.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)


int8 = DType("int8", 6, "i", 1)
int16 = DType("int16", 5, "i", 2)
int32 = DType("int32", 3, "i", 4)
int64 = DType("int64", 9, "i", 8)
uint8 = DType("uint8", 4, "u", 1)
uint16 = DType("uint16", 17, "u", 2)
uint32 = DType("uint32", 22, "u", 4)
uint64 = DType("uint64", 23, "u", 8)
bfloat16 = DType("bfloat16", 14, "f", 2)
float16 = DType("float16", 19, "f", 2)
float32 = DType("float32", 1, "f", 4)
float64 = DType("float64", 2, "f", 8)
complex64 = DType("complex64", 8, "c", 8)
complex128 = DType("complex128", 18, "c", 16)
bool = DType("bool", 10, "b", 1)
string = DType("string", 7, "S", 0)
resource = DType("resource", 20, "R", 0)
variant = DType("variant", 21, "V", 0)
public("af", "tf.dtypes", of="int8 int16 int32 int64 uint8 uint16 uint32 uint64 bfloat16 float16 float32 float64")
public("af", "tf.dtypes", of="complex64 complex128 bool string")
public("tf", "tf.dtypes", of="resource variant")
public("tf:half", "tf.dtypes:half", of="float16")
public("tf:double", "tf.dtypes:double", of="float64")

float8_e5m2 = DType("float8_e5m2", 24, "f", 1)
float8_e4m3fn = DType("float8_e4m3fn", 25, "f", 1)
float8_e4m3fnuz = DType("float8_e4m3fnuz", 26, "f", 1)
float8_e5m2fnuz = DType("float8_e5m2fnuz", 28, "f", 1)
int4 = DType("int4", 29, "i", 1)
uint4 = DType("uint4", 30, "u", 1)
int2 = DType("int2", 31, "i", 1)
uint2 = DType("uint2", 32, "u", 1)
float4_e2m1fn = DType("float4_e2m1fn", 33, "f", 1)
float8_e8m0fnu = DType("float8_e8m0fnu", 34, "f", 1)
float6_e2m3fn = DType("float6_e2m3fn", 35, "f", 1)
float6_e3m2fn = DType("float6_e3m2fn", 36, "f", 1)
public(
    "af",
    "tf.dtypes",
    of="float8_e5m2 float8_e4m3fn float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu int4 uint4 int2 uint2",
)
public("af", "tf.dtypes", of="float4_e2m1fn float6_e2m3fn float6_e3m2fn")

_NUMBERS = (int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, float16, float32, float64)
ALL: tuple[DType, ...] = (*_NUMBERS, complex64, complex128, bool, string)

NARROW: tuple[DType, ...] = (
    float8_e5m2, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu,
    float6_e2m3fn, float6_e3m2fn, float4_e2m1fn, int4, uint4, int2, uint2,
)  # fmt: skip
"""Types of the package ml_dtypes. An element takes a byte, of which it may use two to eight bits."""

SIGNED = frozenset(d for d in ALL if d.kind in "ifc")
INTEGER = frozenset(d for d in ALL if d.kind in "iu")
FLOATING = frozenset(d for d in ALL if d.kind == "f")
COMPLEX = frozenset((complex64, complex128))
INEXACT = FLOATING | COMPLEX
REAL = INTEGER | FLOATING
NUMERIC = REAL | COMPLEX
BOOLEAN = frozenset((bool,))
STRING = frozenset((string,))
INDEX = frozenset((int32, int64))
ANY = frozenset((*ALL, *NARROW))

DTypeLike: TypeAlias = "DType | str | type[Any] | np.dtype[Any]"

_BY_NAME = {d.name: d for d in (*ALL, *NARROW, resource, variant)} | {
    "float": float32,
    "double": float64,
    "half": float16,
    "bytes": string,
}
_PYTHON = {float: float32, int: int32, complex: complex128, bytes: string, str: string}


@functools.cache
def _numpy_type(name: str) -> np.dtype[Any]:
    if name in ("string", "resource", "variant"):
        return np.dtype(object)
    if name == "bfloat16" or _BY_NAME[name] in NARROW:
        try:
            import ml_dtypes
        except ImportError:
            raise UnimplementedError(
                f"{name} needs the package ml_dtypes, which is not installed.",
                hint=with_topic("Install it with: pip install 'actorflow[bfloat16]'", "extra-missing"),
            ) from None
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
    return np.dtype(name)


@functools.cache
def _limits(name: str) -> tuple[Any, Any]:
    dtype = _BY_NAME[name]
    if dtype in NARROW:
        import ml_dtypes

        info: Any = (ml_dtypes.iinfo if dtype.kind in "iu" else ml_dtypes.finfo)(dtype.numpy_dtype)
        return info.min, info.max
    if dtype.kind in "iu":
        integers = np.iinfo(dtype.numpy_dtype)
        return integers.min, integers.max
    if dtype is bfloat16:
        return -3.3895313892515355e38, 3.3895313892515355e38
    if dtype.kind == "f":
        floats = np.finfo(dtype.numpy_dtype)
        return floats.min, floats.max
    raise TypeError(f"{dtype} has no smallest or largest value.")


def in_words(dtype: DType) -> str:
    """The name of a type as errors of TensorFlow's kernels say it, such as `float` for float32."""
    return {"float16": "half", "float32": "float", "float64": "double"}.get(dtype.name, dtype.name)


@functools.lru_cache(maxsize=512)
def _lookup(value: Hashable) -> DType:
    if value.__class__ is type:
        if value in _PYTHON:
            return _PYTHON[value]
        if value.__name__ == "bool":
            return bool
    numpy_dtype = np.dtype(value)  # type: ignore[call-overload]
    if numpy_dtype.kind in "SUO":
        return string
    dtype = _BY_NAME.get(numpy_dtype.name)
    if dtype is None:
        raise TypeError(f"{value!r} is no element type of a tensor. There are: {', '.join(d.name for d in ALL)}.")
    return dtype


@public("af", "tf.dtypes")
def as_dtype(type_value: DTypeLike) -> DType:
    """`type_value` (a `DType`, its name, a numpy or Python type) as a `DType`.

    Example:
        >>> af.as_dtype("int64"), af.as_dtype(np.float32), af.as_dtype(bool)
        (actorflow.int64, actorflow.float32, actorflow.bool)

    Raises:
        TypeError: there is no such element type.
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, str):
        name = type_value.removesuffix("_ref")
        if name in _BY_NAME:
            dtype = _BY_NAME[name]
            return dtype.ref if type_value.endswith("_ref") else dtype
    try:
        return _lookup(type_value)  # type: ignore[arg-type]  # types and numpy's dtypes are hashable
    except TypeError as error:
        raise TypeError(
            f"{type_value!r} is no element type of a tensor. There are: {', '.join(d.name for d in ALL)}."
        ) from error
