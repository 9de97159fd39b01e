"""Rows of ops on single strings: joining, parts, characters, numbers, base64."""

from __future__ import annotations

import base64
import ctypes
import math
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, n32
from graph.ops.table import Case, Literal, Reject, each

import actorflow as af
from actorflow import strings
from actorflow.errors import InvalidArgumentError

INF, NAN = math.inf, math.nan


def words(*values: Any) -> Any:
    """An array of byte strings: a scalar of one, a vector of several or of a list."""
    if len(values) == 1 and isinstance(values[0], list):
        values = tuple(values[0])
        array = np.empty(len(values), object)
        array[:] = values
        return array
    if len(values) > 1:
        return words(list(values))
    scalar = np.empty((), object)
    scalar[()] = values[0]
    return scalar


def row(op: str, build: Any, reference: Any, args: Any, literal: Literal, **more: Any) -> Case:
    return Case(op, build, reference, args, literal, **{"dtypes": "string", "exact": True, "gradient": 0, **more})


SHAPES = [((),), ((0, 3),), ((5,),), ((2, 3),)]
_libc = ctypes.CDLL(None)


def printf(form: bytes) -> Any:
    """The text that C's own printf writes."""

    def reference(value: Any) -> bytes:
        buffer = ctypes.create_string_buffer(400)
        given = ctypes.c_double(value) if isinstance(value, float) else ctypes.c_longlong(value)
        _libc.snprintf(buffer, 400, form, given)
        return buffer.value

    return each(reference)


def printed_complex(x: Any) -> Any:
    return each(lambda v: b"(%.1e,%.1e)" % (v.real, v.imag))(x)


F = np.float32([3.14159265, -0.0, INF, -INF, NAN, -2.5])
NUMBERS = [
    Case(
        "AsString",
        lambda x, o=options: strings.as_string(x, **o),
        printf(form),
        [((),), ((0,),), ((2, 3),)],
        Literal((F,), words(answer)),
        dtypes="float32 float64",
        domain=(-1000, 1000),
        exact=True,
        gradient=0,
        note=note,
    )
    for note, options, form, answer in (
        ("f", {}, b"%f", [b"3.141593", b"-0.000000", b"inf", b"-inf", b"nan", b"-2.500000"]),
        ("f2", {"precision": 2}, b"%.2f", [b"3.14", b"-0.00", b"inf", b"-inf", b"nan", b"-2.50"]),
        (
            "fe",
            {"scientific": True},
            b"%e",
            [b"3.141593e+00", b"-0.000000e+00", b"inf", b"-inf", b"nan", b"-2.500000e+00"],
        ),
        ("fg", {"shortest": True}, b"%g", [b"3.14159", b"-0", b"inf", b"-inf", b"nan", b"-2.5"]),
        (
            "f0",
            {"width": 10, "fill": "0"},
            b"%010f",
            [b"003.141593", b"-00.000000", b"       inf", b"      -inf", b"       nan", b"-02.500000"],
        ),
        (
            "f-",
            {"width": 12, "fill": "-"},
            b"%-12f",
            [b"3.141593    ", b"-0.000000   ", b"inf         ", b"-inf        ", b"nan         ", b"-2.500000   "],
        ),
        (
            "f+",
            {"width": 10, "fill": "+", "precision": 1},
            b"%+10.1f",
            [b"      +3.1", b"      -0.0", b"      +inf", b"      -inf", b"      +nan", b"      -2.5"],
        ),
        ("f#", {"fill": "#", "precision": 0}, b"%#.0f", [b"3.", b"-0.", b"inf", b"-inf", b"nan", b"-2."]),
        (
            "f space",
            {"fill": " "},
            b"% f",
            [b" 3.141593", b"-0.000000", b" inf", b"-inf", b" nan", b"-2.500000"],
        ),
    )
]
INTEGERS = [
    Case(
        "AsString",
        lambda x, o=options: strings.as_string(x, **o),
        printf(form),
        [((),), ((0,),), ((2, 3),)],
        Literal((np.int32([3, -7]),), words(answer)),
        dtypes="int8 int16 int32 int64 uint8 uint16 uint32",
        domain=(-100, 100),
        exact=True,
        gradient=0,
        note=note,
        rejects=[
            Reject(InvalidArgumentError, ([1, 2],), lambda x, o=wrong: strings.as_string(x, **o))
            for wrong in (
                {"precision": 2},
                {"scientific": True},
                {"shortest": True},
                {"fill": "x"},
                {"fill": "00"},
                {"scientific": True, "shortest": True},
            )
        ],
    )
    for note, options, form, answer in (
        ("d", {}, b"%lld", [b"3", b"-7"]),
        ("d0", {"width": 10, "fill": "0"}, b"%010lld", [b"0000000003", b"-000000007"]),
        ("d+", {"width": 5, "fill": "+"}, b"%+5lld", [b"   +3", b"   -7"]),
    )
]
OTHERS = [
    Case(
        "AsString",
        strings.as_string,
        each(lambda v: b"true" if v else b"false"),
        [((),), ((3,),)],
        Literal(([True, False],), words(b"true", b"false")),
        dtypes="bool",
        exact=True,
        gradient=0,
        note="bool",
    ),
    Case(
        "AsString",
        lambda x: strings.as_string(x, 1, scientific=True),
        printed_complex,
        [((),), ((3,),)],
        Literal(([3 + 1j],), words([b"(3.0e+00,1.0e+00)"])),
        dtypes="complex64 complex128",
        gradient=0,
        note="complex",
    ),
    row(
        "AsString", strings.as_string, lambda x: x, SHAPES, Literal((words(b"a", b"\0"),), words(b"a", b"\0")), note="S"
    ),
    Case(
        "AsString",
        strings.as_string,
        each(lambda v: b"%f" % float(v)),
        [((2,),)],
        Literal(([3.0],), words([b"3.000000"])),
        dtypes="float16 bfloat16",
        gradient=0,
        note="narrow floats",
        special=[Literal((np.array(-np.float16(NAN)),), words(b"-nan"))],
    ),
]

GOOD_FLOATS = {
    b" 1.5 ": 1.5,
    b"0x10": 16,
    b"inf": INF,
    b"-Infinity": -INF,
    b"NaN": NAN,
    b"1e400": INF,
    b"1e-400": 0,
    b"1.": 1,
    b".5": 0.5,
    b"+5": 5,
    b" 8\n": 8,
    b"\v4": 4,
    b"0x1p3": 8,
    b"-0": -0.0,
}
BAD = [b"", b"1_0", b"3\0", b"abc", b"1 2", b"- 3", b"infi", b"1d", b"0x"]
GOOD_INTS = {b"+5": 5, b"-7": -7, b" 8\n": 8, b"\v4": 4, b"-0": 0, b"2147483647": 2**31 - 1}


def to_number(kind: str, good: dict[bytes, float], bad: list[bytes], drawn: Any) -> Case:
    return row(
        "StringToNumber",
        lambda s: strings.to_number(s, kind),
        each(lambda s: float(s)) if "float" in kind else each(lambda s: int(s)),
        [(words(drawn),), (words(drawn[0]),), ((0,),)],
        Literal((words([*good]),), np.array([*good.values()], kind)),
        rejects=[
            *(
                Reject(InvalidArgumentError, (words([b"1", text]),), match="could not correctly convert")
                for text in bad
            ),
            Reject(TypeError, (words([b"1"]),), lambda s: strings.to_number(s, "int8")),
            Reject(TypeError, (np.float32([1]),)),
        ],
        note=kind,
    )


PARSED = [
    to_number("float32", GOOD_FLOATS, BAD, [b"1.25", b"-3e2"]),
    to_number("float64", GOOD_FLOATS, BAD, [b"0.1", b"7"]),
    to_number("int32", GOOD_INTS, [*BAD, b"1.5", b"0x10", b"2147483648", b"-2147483649"], [b"12", b"-3"]),
    to_number("int64", {**GOOD_INTS, b"-9223372036854775808": -(2**63)}, [b"9223372036854775808"], [b"12", b"-3"]),
    to_number("uint32", {b"4294967295": 2**32 - 1}, [b"-7", b"-0", b"4294967296"], [b"12", b"3"]),
    to_number("uint64", {b"18446744073709551615": 2**64 - 1}, [b"-7", b"18446744073709551616"], [b"12", b"3"]),
]

JOINED = [
    row(
        "StringJoin",
        lambda *s: af.string_join(s, "::"),
        each(lambda *s: b"::".join(s)),
        [((), (3,), (3,)), ((2, 2), (), ()), ((0,), (), (0,)), ((), (), ())],
        Literal((words(b"a", b"b"), words(b"-"), words(b"c", b"\0")), words(b"a::-::c", b"b::-::\0")),
        rejects=[
            Reject(EITHER, (words(b"a", b"b"), words([b"c"]), words(b"d"))),
            Reject(EITHER, (words(b"a", b"b"), words(b"a").reshape(1, 1), words(b"d"))),
            Reject(TypeError, (words(b"a"), np.int32(1), words(b"d"))),
        ],
    ),
    row(
        "StringJoin",
        lambda s: af.string_join([s]),
        lambda s: s,
        SHAPES,
        Literal((words(b"a", b"b"),), words(b"a", b"b")),
        note="of one",
    ),
    row(
        "StringJoin",
        lambda s: (s, af.string_join([])),
        lambda s: (s, words(b"")),
        [((2,),)],
        Literal((words(b"a", b"b"),), (words(b"a", b"b"), words(b""))),
        note="of none",
    ),
]

E_ACUTE = "é".encode()
CHARACTERS = [
    row(
        "StringLower",
        strings.lower,
        each(lambda s: bytes(c + 32 if 65 <= c <= 90 else c for c in s)),
        SHAPES,
        Literal((words(b"A\xc3\x89\xff", b" Zz"),), words(b"a\xc3\x89\xff", b" zz")),
        rejects=[Reject(InvalidArgumentError, (words([b"a"]),), lambda s: strings.lower(s, encoding="latin"))],
    ),
    row(
        "StringLower",
        lambda s: strings.lower(s, "utf-8"),
        each(lambda s: s.decode("utf-8", "replace").lower().encode()),
        SHAPES,
        Literal((words(b"A\xc3\x89\xff", b" Zz"),), words("aé\ufffd".encode(), b" zz")),
        note="of unicode",
    ),
    row(
        "StringUpper",
        strings.upper,
        each(lambda s: bytes(c - 32 if 97 <= c <= 122 else c for c in s)),
        SHAPES,
        Literal((words("aé".encode(), " Zz ß".encode()),), words("Aé".encode(), " ZZ ß".encode())),
        rejects=[Reject(InvalidArgumentError, (words([b"a"]),), lambda s: strings.upper(s, encoding="latin"))],
    ),
    row(
        "StringUpper",
        lambda s: strings.upper(s, "utf-8"),
        each(lambda s: s.decode("utf-8", "replace").upper().encode()),
        SHAPES,
        Literal((words("aé".encode(), " Zz ß".encode()),), words("AÉ".encode(), b" ZZ SS")),
        note="of unicode",
    ),
    row(
        "StringStrip",
        af.string_strip,
        each(lambda s: s.strip(b"\t\n\v\f\r ")),
        SHAPES,
        Literal((words(b" a\t\n\v\f\r", b"\0 a ", b"\xa0a", b""),), words(b"a", b"\0 a", b"\xa0a", b"")),
    ),
    row(
        "StringLength",
        strings.length,
        each(len),
        SHAPES,
        Literal((words(b"a\xc3\xa9", b"\xff\xff", b"", b"\0"),), np.int32([3, 2, 0, 1])),
        rejects=[Reject(ValueError, (words([b"a"]),), lambda s: strings.length(s, unit="Y"))],
    ),
    row(
        "StringLength",
        lambda s: strings.length(s, unit="UTF8_CHAR"),
        each(lambda s: sum(c & 0xC0 != 0x80 for c in s)),
        SHAPES,
        Literal((words(b"a\xc3\xa9", b"\xff\xff", b"", b"\x80a\xc3"),), np.int32([2, 2, 0, 2])),
        note="in characters",
    ),
]


def part(s: bytes, pos: int, size: int) -> bytes:
    begin = pos if pos >= 0 else len(s) + pos
    return s[begin : begin + size]


HELLO = words([b"hello"])
SUBSTR = [
    row(
        "Substr",
        af.substr,
        each(part),
        [
            (words([b"abc", b"defg"]), np.int32([1, -2]), np.int32([9, 1])),
            (words(b"abc"), np.array([0, 3], np.int64), np.array([2, 2], np.int64)),
            (words([b"abc", b"de"]).reshape(2, 1), np.int32([0, 1, 2]), np.int32([1, 1, 1])),
            (words([b"abc", b"de"]), n32(-1), n32(1)),
            (words(b"abc"), n32(1), n32(1)),
        ],
        Literal((HELLO, n32(1), n32(3)), words([b"ell"])),
        special=[
            Literal((HELLO, n32(-3), n32(2)), words([b"ll"])),
            Literal((HELLO, n32(5), n32(1)), words([b""])),
            Literal((HELLO, n32(2), n32(-3)), words([b"llo"])),
            Literal((words([b""]), n32(0), n32(1)), words([b""])),
        ],
        rejects=[
            Reject(InvalidArgumentError, (HELLO, n32(6), n32(1)), match="pos 6 out of range for string b'hello'"),
            Reject(InvalidArgumentError, (HELLO, n32(-6), n32(1))),
            Reject(EITHER, (words([b"abc", b"def"]), np.int32([0, 1]), n32(1))),
            Reject(EITHER, (words([b"abc", b"def"]), np.int32([0, 1, 2]), np.int32([1, 1, 1]))),
            Reject(ValueError, (HELLO, n32(0), n32(1)), lambda *a: af.substr(*a, unit="X")),
            Reject(TypeError, (HELLO, np.float32(0), n32(1))),
        ],
    ),
    row(
        "Substr",
        lambda *a: af.substr(*a, unit="UTF8_CHAR"),
        each(lambda s, pos, size: part(s.decode(), pos, size).encode()),
        [(words(["aéb".encode(), b"xyz"]), np.int32([1, -2]), np.int32([2, 1]))],
        Literal((words([E_ACUTE + b"b"]), n32(0), n32(1)), words([E_ACUTE])),
        special=[
            Literal((words(["aéb".encode()]), n32(-2), n32(2)), words(["éb".encode()])),
            Literal((words([b"\xff\xc3a"]), n32(1), n32(1)), words([b"\xc3"])),
            Literal((HELLO, n32(2), n32(-3)), words([b""])),
        ],
        rejects=[Reject(InvalidArgumentError, (words([E_ACUTE]), n32(2), n32(1)))],
        note="in characters",
    ),
]


def transcoded(source: str, target: str, **more: Any) -> Any:
    return lambda s: strings.unicode_transcode(s, source, target, **more)


TRANSCODED = [
    row(
        "UnicodeTranscode",
        transcoded("UTF-8", "UTF-16-BE"),
        each(lambda s: s.decode("utf-8", "replace").encode("utf-16-be")),
        SHAPES,
        Literal((words(b"a\xc3\xa9", b"\xffb\x01"),), words(b"\0a\0\xe9", b"\xff\xfd\0b\0\x01")),
        special=[
            Literal((words([b"a\xc3\xa9\xe2\x82"]),), words([b"\0a\0\xe9\xff\xfd"])),
        ],
        rejects=[
            Reject(InvalidArgumentError, (words([b"\xff"]),), transcoded("UTF-8", "UTF-8", errors="strict")),
            Reject(InvalidArgumentError, (words([b"a"]),), transcoded("nothing", "UTF-8")),
            Reject(ValueError, (words([b"a"]),), transcoded("UTF-8", "latin1")),
            Reject(ValueError, (words([b"a"]),), transcoded("UTF-8", "UTF-8", errors="x")),
        ],
    ),
    *(
        row(
            "UnicodeTranscode",
            transcoded(*options, **more),
            None,
            [((2,),)],
            Literal((words(b"a\xc3\xa9", b"\xffb\x01"),), words(answer)),
            note=note,
        )
        for note, options, more, answer in (
            ("ignoring", ("UTF-8", "UTF-8"), {"errors": "ignore"}, [b"a\xc3\xa9", b"b\x01"]),
            ("latin1", ("latin1", "UTF-8"), {}, [b"a\xc3\x83\xc2\xa9", b"\xc3\xbfb\x01"]),
            (
                "control",
                ("UTF-8", "UTF-16-BE"),
                {"replace_control_characters": True},
                [b"\0a\0\xe9", b"\xff\xfd\0b\xff\xfd"],
            ),
        )
    ),
]

REPLACED = [
    # pattern, rewrite, input, the replaced, whether all of it matches
    (b"a", b"b", b"banana", b"bbnbnb", False),
    (b"x*", b"-", b"abxd", b"-a-b-d-", False),
    (b"(a)(n)", rb"\2\1", b"banana", b"bnanaa", False),
    (b"a$", b"X", b"a\n", b"a\n", False),
    (b".", b"_", E_ACUTE, b"_", True),
    (b".", b"_", b"\xff", b"\xff", False),
    (b"(?i)B", b"z", b"bB", b"zz", False),
    (b"a(?i)b|c", b"z", b"aBCbc", b"zzbz", False),
    (b"[[:alpha:]]+", b"w", b"ab1", b"w1", False),
    (rb"\d", b"D", "٣3".encode(), "٣D".encode(), False),
    (rb"\Qa.b\E", b"Q", b"a.b", b"Q", True),
    (b"a", rb"\\", b"a", b"\\", True),
    (b"", b"-", b"ab", b"-a-b-", False),
    (b"^", b">", b"a\nb", b">a\nb", False),
    (b"(?m)^", b">", b"a\nb", b">a\n>b", False),
    (rb"\s", b"S", b"a\vb", b"a\vb", False),
    (b"a|ab", b"X", b"ab", b"Xb", True),
    (rb"\bfoo\b", b"X", b"foo foob", b"X foob", False),
    (b"(a)|b", rb"[\1]", b"ab", b"[a][]", False),
    (b"b*", b"-", b"abc", b"-a-c-", False),
    (b"a{2}", b"X", b"aaa", b"Xa", False),
    (b"(?P<n>a)", rb"<\1>", b"a", b"<a>", True),
    (b".", b"D", b"\n", b"\n", False),
    (b"(?s).", b"D", b"\n", b"D", True),
    (rb"\z", b"E", b"a", b"aE", False),
    (b"a", b"x", b"a\0a", b"x\0x", False),
    (b"[^a]", b"_", "aé".encode(), b"a_", False),
    ("é+".encode(), b"E", "éé".encode(), b"E", True),
]
WRONG = [b"(", b")", b"(?=a)", rb"(a)\1", b"a++", b"*a", b"[a", b"a{1001}", rb"\y", b"[[:no:]]"]
PATTERNS = [
    row(
        "RegexReplace",
        af.regex_replace,
        each(lambda s, p, r: s.replace(p, r)),
        [
            ((), words(b"a"), words(b"bb")),
            (words([b"a", b"", b"xax"]), words(b"a"), words(b"-")),
            ((0,), words(b"a"), words(b"b")),
        ],
        Literal((words([b"banana"]), words(b"a"), words(b"o")), words([b"bonono"])),
        special=[Literal((words([s]), words(p), words(r)), words([out])) for p, r, s, out, _ in REPLACED],
        rejects=[
            *(
                Reject(InvalidArgumentError, (words([b"a"]), words(p), words(b"x")), match="Invalid pattern")
                for p in WRONG
            ),
            Reject(InvalidArgumentError, (words([b"a"]), words(b"a"), words(rb"\1"))),
            Reject(EITHER, (words([b"a"]), words([b"a"]), words(b"x"))),
        ],
    ),
    row(
        "RegexReplace",
        lambda *a: af.regex_replace(*a, replace_global=False),
        each(lambda s, p, r: s.replace(p, r, 1)),
        [(words([b"aa", b"", b"xax"]), words(b"a"), words(b"-"))],
        Literal((words([b"banana"]), words(b"a"), words(b"o")), words([b"bonana"])),
        note="once",
    ),
    row(
        "RegexFullMatch",
        strings.regex_full_match,
        each(lambda s, p: s == p),
        [(words([b"a", b"", b"xax"]), words(b"a")), ((), words(b"a")), ((0,), words(b"a"))],
        Literal((words([b"banana", b"b"]), words(b"b[an]+")), np.array([True, False])),
        special=[Literal((words([s]), words(p)), np.array([full])) for p, _, s, _, full in REPLACED],
        rejects=[
            *(Reject(InvalidArgumentError, (words([b"a"]), words(p)), match="Invalid pattern") for p in WRONG),
            Reject(EITHER, (words([b"a"]), words([b"a"]))),
        ],
    ),
]

CODED = words(b"a", b"ab", b"abc", b"", b"\xff\xfe\xfb")
BASE64 = [
    row(
        "EncodeBase64",
        lambda s: af.encode_base64(s, pad=True),
        each(lambda s: base64.b64encode(s, b"-_")),
        SHAPES,
        Literal((CODED,), words(b"YQ==", b"YWI=", b"YWJj", b"", b"__77")),
        note="padded",
    ),
    row(
        "EncodeBase64",
        af.encode_base64,
        each(lambda s: base64.b64encode(s, b"-_").replace(b"=", b"")),
        SHAPES,
        Literal((CODED,), words(b"YQ", b"YWI", b"YWJj", b"", b"__77")),
    ),
    row(
        "DecodeBase64 EncodeBase64",
        lambda s: af.decode_base64(af.encode_base64(s)),
        lambda s: s,
        SHAPES,
        Literal((words(b"YQ"),), words(b"YQ")),
        note="of encoded",
    ),
    row(
        "DecodeBase64",
        af.decode_base64,
        each(lambda s: base64.b64decode(s + b"==", b"-_")),
        [(words(b"YQ", b"__77", b"YWI"),)],
        Literal(
            (words(b"YQ", b"YQ==", b"YWI", b"YWI=", b"", b"_-77", b"YR"),),
            words(b"a", b"a", b"ab", b"ab", b"", b"\xff\xee\xfb", b"a"),
        ),
        rejects=[
            Reject(InvalidArgumentError, (words([text]),))
            for text in (b"+/77", b"Y", b"Y!==", b"YQ=", b"YQ= ", b"=", b"==", b"YQ==YQ==", b"YWJj=", b"YWJjZA=")
        ],
    ),
]

CASES: list[Case] = [
    *NUMBERS,
    *INTEGERS,
    *OTHERS,
    *PARSED,
    *JOINED,
    *CHARACTERS,
    *SUBSTR,
    *TRANSCODED,
    *PATTERNS,
    *BASE64,
]
