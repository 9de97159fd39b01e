"""Rows of ops that make tensors of byte strings: raw bytes, CSV, packed data, messages, `.npy`."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from typing import Any

import numpy as np
from graph.ops.table import Case, Literal, Reject
from test_records import EXAMPLE, SEQUENCE

from actorflow import errors
from actorflow.base.dtypes import DType
from actorflow.graph.ops.io import decoding as af
from actorflow.graph.ops.io import parsing

INVALID = errors.InvalidArgumentError
BYTES = bytes(range(1, 9))
SECOND = (
    b"\n\x1c\n\x11\n\x01a\x12\x0c\x12\n\n\x08\x00\x00\xe0@\x00\x00\x00A\n\x07\n\x01c\x12\x02\n\x00"  # a=[7, 8], c=[]
)
JSON = b'{"features":{"feature":{"a":{"int64List":{"value":["1",2]}},"b":{"bytes_list":{"value":["aGk="]}}}}}'
NO_INTEGERS = [
    '"1_000"',
    "true",
    '"١"',
    '"1\t"',
    "1.5",
    '"1.5"',
    "1e400",
    "9223372036854775808",
    "1e300",
    '"1e300"',
    '""',
    '"inf"',
    "NaN",
    '"0b1"',
]
NO_FLOATS = [
    '"1_000"',
    "true",
    '"١"',
    "1e400",
    "-1e400",
    "1e40",
    '"1e40"',
    "3.5e38",
    "NaN",
    "Infinity",
    '""',
]
MATRIX = b'\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02"\x10\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@'
STRINGS = b"\x08\x07\x12\x04\x12\x02\x08\x02B\x02abB\x00"
FIXED, VAR, SEQUENCES = parsing.FixedLenFeature, parsing.VarLenFeature, parsing.FixedLenSequenceFeature


def strings(*values: Any) -> Any:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def json_of(field: str, value: str) -> bytes:
    """An Example with the feature `a` as JSON."""
    return f'{{"features":{{"feature":{{"a":{{"{field}":{{"value":[{value}]}}}}}}}}}}'.encode()


def one(value: bytes) -> Any:
    return strings(value).reshape(())


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def words(rng: np.random.Generator, dtype: DType) -> Any:
    """Five strings of twelve bytes."""
    return strings(*(rng.bytes(12) for _ in range(5)))


def unpack(code: str) -> Any:
    """The reference of decode_raw, by `struct`."""
    return lambda values: np.array(
        [struct.unpack(code[0] + code[1] * (12 // struct.calcsize(code)), v) for v in values.reshape(-1)]
    )


def raw(out_type: str, code: str, expected: Any, little_endian: bool = True) -> Case:
    return Case(
        "DecodeRaw",
        lambda x: af.decode_raw(x, out_type, little_endian),
        unpack(code),
        [(words,)],
        note=f"{out_type} {'little' if little_endian else 'big'}",
        dtypes="string",
        static=False,
        gradient=None,
        literal=Literal(([BYTES],), np.array([expected], out_type)),
        special=[Literal(([b"", b""],), np.zeros((2, 0), out_type))],
        rejects=[Reject(INVALID, ([b"a" * 8, b"b"],), match="element 1")]
        + [Reject(INVALID, ([b"abc"],), match="length 3 that is not a multiple")] * (out_type != "uint8"),
    )


def csv(*defaults: Any, **options: Any) -> Any:
    return lambda x: af.decode_csv(x, list(defaults), **options)


THREE_COLUMNS = csv([1], [2.5], ["z"])
NUMBERS = csv([1.0], [1.0], [1.0], [1.0])


def answer(*columns: Any) -> tuple[Any, ...]:
    """Columns as arrays: whole numbers int32, others float32, the rest strings."""
    kinds = {int: np.int32, float: np.float32, bytes: object}
    return tuple(np.array(c, kinds[type(c[0])]) for c in columns)


def csv_case(note: str, build: Any, record: list[bytes], *columns: Any) -> Case:
    return Case(
        "DecodeCSV",
        build,
        None,
        [(strings(*record),)],
        note=note,
        dtypes="string",
        literal=Literal((record,), answer(*columns)),
    )


def message(op: str, build: Any, value: Any, output: Any, note: str = "", **more: Any) -> Case:
    """A row of an op that takes messages, and fixes what it makes of one."""
    array = value if isinstance(value, np.ndarray) else one(value)
    literal = Literal((array,), output)
    return Case(op, build, None, [(array,)], literal, note=note, dtypes="string", static=False, gradient=None, **more)


def features(parse: Any, **wanted: Any) -> Any:
    """The tensors of all features, by name, those of sparse ones in turn."""

    def build(x: Any) -> list[Any]:
        found = parse(x, wanted)
        return [
            t for v in found.values() for t in ([v.indices, v.values, v.dense_shape] if hasattr(v, "indices") else [v])
        ]

    return build


def sequence(context: Any, lists: Any) -> Any:
    def build(x: Any) -> list[Any]:
        found = parsing.parse_single_sequence_example(x, context, lists)
        return [
            t
            for part in found
            for v in part.values()
            for t in ([v.indices, v.values, v.dense_shape] if hasattr(v, "indices") else [v])
        ]

    return build


def bad(value: Any, match: str, build: Any = None) -> Reject:
    return Reject(INVALID, (value if isinstance(value, np.ndarray) else one(value),), build, match)


BATCH = strings(EXAMPLE, SECOND)
i8 = np.int64
CASES = [
    raw("uint8", "<B", list(BYTES)),
    raw("int16", "<h", [513, 1027, 1541, 2055]),
    raw("int16", ">h", [258, 772, 1286, 1800], little_endian=False),
    raw("int32", "<i", [67305985, 134678021]),
    raw("float32", ">f", [2.3879393e-38, 6.3019412e-36], little_endian=False),
    csv_case("types", THREE_COLUMNS, [b"1,2,a", b"4,,b"], [1, 4], [2.0, 2.5], [b"a", b"b"]),
    csv_case(
        "quotes", THREE_COLUMNS, [b'3,4,"x, ""q"" y"', b'"5",6,"2\n3"'], [3, 5], [4.0, 6.0], [b'x, "q" y', b"2\n3"]
    ),
    csv_case("line ends before", THREE_COLUMNS, [b"\n1,2,a", b"1,2,"], [1, 1], [2.0, 2.0], [b"a", b"z"]),
    csv_case("no quotes", csv([1], [2.5], ["z"], use_quote_delim=False), [b'1,2,a"b'], [1], [2.0], [b'a"b']),
    csv_case("delimiter", csv([1], [2.5], ["z"], field_delim="|"), [b"1|2|a"], [1], [2.0], [b"a"]),
    csv_case("na", csv([1], [2.5], ["z"], na_value="NA"), [b"NA,NA,NA"], [1], [2.5], [b"z"]),
    csv_case("columns", csv([1], ["z"], select_cols=[0, 3]), [b"1,2,a,b,c"], [1], [b"b"]),
    csv_case("numbers", NUMBERS, [b"1e3,inf, 1.5 ,0x1p3"], [1000.0], [np.inf], [1.5], [8.0]),
    csv_case("whole numbers", csv([1], [1]), [b" +1 , -2"], [1], [-2]),
    Case(
        "DecodeCSV",
        THREE_COLUMNS,
        None,
        [(one(b"1,2,a"),), (np.empty((0, 2), object),), (strings(b"1,2,a", b"3,4,b").reshape(2, 1),)],
        note="shapes and errors",
        dtypes="string",
        literal=Literal(([[b"1,2,a"]],), tuple(a.reshape(1, 1) for a in answer([1], [2.0], [b"a"]))),
        rejects=[
            Reject(INVALID, ([b"1,2"],), match="Expect 3 fields but have 2 in record 0"),
            Reject(INVALID, ([b"1,2,a", b"1,2,3,4"],), match="have 4 in record 1"),
            Reject(INVALID, ([b"x,2,3"],), match="Field 0 in record 0 is not a valid int32: x"),
            Reject(INVALID, ([b"1,x,3"],), match="Field 1 in record 0 is not a valid float: x"),
            Reject(INVALID, ([b"3000000000,2,3"],), match="not a valid int32"),
            Reject(INVALID, ([b'1,2,a"b'],), match="Unquoted fields"),
            Reject(INVALID, ([b"1,2,a\n"],), match="Unquoted fields"),
            Reject(INVALID, ([b'1,2,"ab"c'],), match="escaped by another quote"),
            Reject(INVALID, ([b'1,2,"ab'],), match="Quoted field has to end"),
            Reject(INVALID, ([b""],), match="have 0"),
            Reject(INVALID, ([b",2"],), csv(np.zeros(0, np.int32), [1]), "Field 0 is required but missing in record 0"),
            Reject(ValueError, ([b"1"],), csv([1], select_cols=[1, 0]), "2 columns|increase"),
            Reject(ValueError, ([b"1"],), csv([1], select_cols=[-1]), "from 0"),
            Reject(ValueError, ([b"1"],), csv([1], field_delim="||"), "one character"),
            Reject(ValueError, ([b"1"],), csv([1, 2]), "at most one"),
            Reject(TypeError, ([b"1"],), csv([True]), "bool"),
        ],
    ),
    message(
        "DecodeCompressed",
        lambda x: af.decode_compressed(x, "GZIP"),
        strings(gzip.compress(b"hello"), gzip.compress(b"a") + gzip.compress(b"b"), b""),
        strings(b"hello", b"ab", b""),
        rejects=[
            Reject(errors.DataLossError, (one(b"hello"),), match="damaged"),
            Reject(errors.DataLossError, (one(gzip.compress(b"hello")[:-9]),), match="cut off"),
            Reject(ValueError, (one(b""),), lambda x: af.decode_compressed(x, "LZ"), "LZ"),
        ],
    ),
    message("DecodeCompressed", lambda x: af.decode_compressed(x, "ZLIB"), zlib.compress(b"hi"), one(b"hi"), "zlib"),
    message("DecodeCompressed", af.decode_compressed, strings(b"a", b"b"), strings(b"a", b"b"), "plain"),
    message(
        "DecodeJSONExample",
        lambda x: features(parsing.parse_single_example, a=FIXED([2], "int64"), b=FIXED([], "string"))(
            af.decode_json_example(x)
        ),
        JSON,
        (np.array([1, 2]), one(b"hi")),
        rejects=[
            bad(b'{"x":1}', "its keys are features"),
            bad(b"{", "Error while parsing JSON"),
            bad(b"[]", "The text is an array"),
            *[bad(json_of("int64List", value), "parsing JSON") for value in (*NO_INTEGERS, "1" + "0" * 400)],
            *[bad(json_of("floatList", value), "parsing JSON") for value in (*NO_FLOATS, "1" + "0" * 400)],
            *[bad(json_of("bytesList", value), "parsing JSON") for value in ("1", '"!!"', '"a"')],
        ],
    ),
    *[
        message(
            "DecodeJSONExample",
            lambda x, kind=kind: features(parsing.parse_single_example, a=FIXED([1], kind))(af.decode_json_example(x)),
            json_of(field, value),
            spelled,
            f"{field} {value}",
        )
        for field, kind, value, spelled in [
            ("int64List", "int64", '"-7"', np.array([-7])),
            ("int64List", "int64", "7.0", np.array([7])),
            ("int64List", "int64", '"1e3"', np.array([1000])),
            ("int64List", "int64", '"9223372036854775807"', np.array([2**63 - 1])),
            ("floatList", "float32", '" 1.5"', np.float32([1.5])),
            ("floatList", "float32", '"Infinity"', np.float32([np.inf])),
            ("floatList", "float32", '"-inf"', np.float32([-np.inf])),
            ("floatList", "float32", "1e-400", np.float32([0])),
            ("bytesList", "string", '"YQ"', strings(b"a")),
            ("bytesList", "string", '"-_8="', strings(b"\xfb\xff")),
        ]
    ],
    message("SerializeTensor", lambda x: af.serialize_tensor(x), strings(b"ab", b""), one(STRINGS)),
    message("SerializeTensor", lambda x: af.serialize_tensor(np.float32([[1, 2], [3, 4]])), b"", one(MATRIX), "floats"),
    message(
        "ParseTensor",
        lambda x: af.parse_tensor(x, "float32"),
        MATRIX,
        np.float32([[1, 2], [3, 4]]),
        rejects=[bad(b"junk", ""), bad(STRINGS, r"parsed tensor \(string\) and dtype \(float32\)")],
    ),
    message("ParseTensor", lambda x: af.parse_tensor(x, "string"), STRINGS, strings(b"ab", b""), "strings"),
    # make_tensor_proto(3.5, shape=[2]): the last value stands for all that follow
    message(
        "ParseTensor",
        lambda x: af.parse_tensor(x, "float32"),
        b"\x08\x01\x12\x04\x12\x02\x08\x02*\x04\x00\x00`@",
        np.float32([3.5, 3.5]),
        "short",
    ),
    message(
        "DecodeNpy",
        lambda x: af.decode_npy(x, "int16"),
        npy(np.array([[1, -2, 3]], ">i2")),
        np.array([[1, -2, 3]], np.int16),
        rejects=[
            bad(b"junk", "no .npy"),
            bad(npy(np.array([1.5])), "float64"),
            bad(npy(np.array([{}], object)), "no .npy"),
            bad(npy(np.arange(9))[:-1], "no .npy"),
        ],
    ),
    message(
        "ParseExample",
        features(parsing.parse_example, a=FIXED([2], "float32"), b=VAR("int64"), c=VAR("string")),
        BATCH,
        (
            np.float32([[1, 2.5], [7, 8]]),
            np.array([[0, 0], [0, 1]], i8),
            np.array([-3, 300], i8),
            np.array([2, 2], i8),
            np.array([[0, 0], [0, 1]], i8),
            strings(b"x", b"yz"),
            np.array([2, 2], i8),
        ),
        rejects=[
            bad(BATCH, "values size: 2 but output shape", features(parsing.parse_example, a=FIXED([3], "float32"))),
            bad(
                BATCH,
                r"Feature: b \(data type: int64\) is required",
                features(parsing.parse_example, b=FIXED([2], "int64")),
            ),
            bad(
                BATCH,
                "Expected type: float  Feature is: int64_list",
                features(parsing.parse_example, b=FIXED([2], "float32")),
            ),
            bad(
                BATCH,
                "Saw 2 values but output shape",
                features(parsing.parse_example, a=SEQUENCES([3], "float32", allow_missing=True)),
            ),
            bad(strings(b"junk"), "Could not parse example input"),
            Reject(ValueError, (BATCH,), features(parsing.parse_example), "no feature"),
            Reject(TypeError, (BATCH,), features(parsing.parse_example, a=FIXED([2], "int32")), "int32"),
            Reject(
                ValueError,
                (BATCH,),
                features(parsing.parse_example, a=FIXED([None], "float32")),
                "Missing shape for feature a",
            ),
            Reject(ValueError, (BATCH,), features(parsing.parse_example, a=SEQUENCES([2], "float32")), "allow_missing"),
            Reject(ValueError, (BATCH,), features(parsing.parse_example, b=FIXED([2], "int64", 8)), "default"),
            Reject(ValueError, (one(EXAMPLE),), match="rank 1"),
        ],
    ),
    message(
        "ParseExample",
        features(
            parsing.parse_example,
            a=SEQUENCES([2], "float32", True),
            b=FIXED([2], "int64", [8, 9]),
            b2=FIXED([], "int64", 8),
            c=SEQUENCES([], "string", True, "p"),
        ),
        BATCH,
        (
            np.float32([[[1, 2.5]], [[7, 8]]]),
            np.array([[-3, 300], [8, 9]], i8),
            np.array([8, 8], i8),
            strings(b"x", b"yz", b"p", b"p").reshape(2, 2),
        ),
        "defaults",
    ),
    message(
        "ParseSingleExample",
        features(
            parsing.parse_single_example,
            a=FIXED([2], "float32"),
            b=VAR("int64"),
            d=VAR("string"),
            e=SEQUENCES([], "int64", True),
        ),
        EXAMPLE,
        (
            np.float32([1, 2.5]),
            np.array([[0], [1]], i8),
            np.array([-3, 300], i8),
            np.array([2], i8),
            np.zeros((0, 1), i8),
            strings(),
            np.array([0], i8),
            np.zeros(0, i8),
        ),
        rejects=[
            bad(
                SECOND,
                "is required but could not be found",
                features(parsing.parse_single_example, b=FIXED([2], "int64")),
            ),
            bad(b"junk", "Could not parse example input"),
            Reject(ValueError, (BATCH,), match="rank 0"),
        ],
    ),
    message(
        "ParseSingleSequenceExample",
        sequence(
            {"n": FIXED([], "int64"), "m": VAR("int64")},
            {
                "t": SEQUENCES([2], "float32"),
                "u": SEQUENCES([2], "float32", allow_missing=True),
                "w": VAR("string"),
            },
        ),
        SEQUENCE,
        (
            np.zeros((0, 1), i8),
            np.zeros(0, i8),
            np.array([0], i8),
            np.array(4, i8),
            np.float32([[1, 2], [3, 4]]),
            np.zeros((0, 2), np.float32),
            np.array([[0, 0], [2, 0], [2, 1]], i8),
            strings(b"a", b"b", b"c"),
            np.array([3, 2], i8),
        ),
        rejects=[
            bad(SEQUENCE, "Feature: m .* is required", sequence({"m": FIXED([], "int64")}, {})),
            bad(SEQUENCE, "'u' is required", sequence({}, {"u": SEQUENCES([2], "float32")})),
            bad(SEQUENCE, "values size: 2 but output shape", sequence({}, {"t": SEQUENCES([3], "float32")})),
            bad(SEQUENCE, "Expected type: int64  Feature is: float_list", sequence({}, {"t": SEQUENCES([2], "int64")})),
            bad(SEQUENCE, "Expected type: int64  Feature is: bytes_list", sequence({}, {"w": VAR("int64")})),
            bad(b"junk", "Could not parse example input"),
            Reject(ValueError, (one(SEQUENCE),), sequence({}, {"t": FIXED([2], "float32")}), "no place"),
            Reject(ValueError, (one(SEQUENCE),), sequence({}, {}), "no feature"),
        ],
    ),
]
