# `make names` writes this file from the marks in the sources.

from actorflow.dtypes import DType as DType
from actorflow.dtypes import as_dtype as as_dtype
from actorflow.dtypes import bfloat16 as bfloat16
from actorflow.dtypes import bool as bool
from actorflow.dtypes import complex128 as complex128
from actorflow.dtypes import complex64 as complex64
from actorflow.dtypes import float16 as float16
from actorflow.dtypes import float32 as float32
from actorflow.dtypes import float64 as float64
from actorflow.dtypes import int16 as int16
from actorflow.dtypes import int32 as int32
from actorflow.dtypes import int64 as int64
from actorflow.dtypes import int8 as int8
from actorflow.dtypes import resource as resource
from actorflow.dtypes import string as string
from actorflow.dtypes import uint16 as uint16
from actorflow.dtypes import uint32 as uint32
from actorflow.dtypes import uint64 as uint64
from actorflow.dtypes import uint8 as uint8
from actorflow.dtypes import variant as variant
from actorflow.ops.math.cast import cast as cast
from actorflow.ops.math.cast import complex as complex
from actorflow.ops.math.cast import saturate_cast as saturate_cast
from actorflow.ops.strings.elementwise import as_string as as_string

__all__ = [
    "DType",
    "as_dtype",
    "as_string",
    "bfloat16",
    "bool",
    "cast",
    "complex",
    "complex128",
    "complex64",
    "float16",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "resource",
    "saturate_cast",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "variant",
]
