# `make names` writes this file from the marks in the sources.

from actorflow.base.dtypes import DType as DType
from actorflow.base.dtypes import as_dtype as as_dtype
from actorflow.base.dtypes import bfloat16 as bfloat16
from actorflow.base.dtypes import bool as bool
from actorflow.base.dtypes import complex128 as complex128
from actorflow.base.dtypes import complex64 as complex64
from actorflow.base.dtypes import float16 as float16
from actorflow.base.dtypes import float16 as half
from actorflow.base.dtypes import float32 as float32
from actorflow.base.dtypes import float4_e2m1fn as float4_e2m1fn
from actorflow.base.dtypes import float64 as double
from actorflow.base.dtypes import float64 as float64
from actorflow.base.dtypes import float6_e2m3fn as float6_e2m3fn
from actorflow.base.dtypes import float6_e3m2fn as float6_e3m2fn
from actorflow.base.dtypes import float8_e4m3fn as float8_e4m3fn
from actorflow.base.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from actorflow.base.dtypes import float8_e5m2 as float8_e5m2
from actorflow.base.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from actorflow.base.dtypes import float8_e8m0fnu as float8_e8m0fnu
from actorflow.base.dtypes import int16 as int16
from actorflow.base.dtypes import int2 as int2
from actorflow.base.dtypes import int32 as int32
from actorflow.base.dtypes import int4 as int4
from actorflow.base.dtypes import int64 as int64
from actorflow.base.dtypes import int8 as int8
from actorflow.base.dtypes import resource as resource
from actorflow.base.dtypes import string as string
from actorflow.base.dtypes import uint16 as uint16
from actorflow.base.dtypes import uint2 as uint2
from actorflow.base.dtypes import uint32 as uint32
from actorflow.base.dtypes import uint4 as uint4
from actorflow.base.dtypes import uint64 as uint64
from actorflow.base.dtypes import uint8 as uint8
from actorflow.base.dtypes import variant as variant
from actorflow.graph.ops.math.cast import cast as cast
from actorflow.graph.ops.math.cast import complex as complex
from actorflow.graph.ops.math.cast import saturate_cast as saturate_cast
from actorflow.graph.ops.strings.elementwise import as_string as as_string

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
    "double",
    "float16",
    "float32",
    "float4_e2m1fn",
    "float64",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "half",
    "int16",
    "int2",
    "int32",
    "int4",
    "int64",
    "int8",
    "resource",
    "saturate_cast",
    "string",
    "uint16",
    "uint2",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
    "variant",
]
