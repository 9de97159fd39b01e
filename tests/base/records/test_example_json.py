"""Examples from JSON: the values that TensorFlow 2.21 reads, and a sentence for what it refuses.

The answers in the tables are those of `tf.io.decode_json_example`.
"""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.records.messages.example_json import example_from_json

INT, FLOAT, BYTES = "int64List", "floatList", "bytesList"
KINDS = {INT: "int64_list", FLOAT: "float_list", BYTES: "bytes_list"}
ONE, NONE = '{"int64List":{"value":[1]}}', "{}"


def feature(text: str) -> str:
    return features(f'{{"a":{text}}}')


def features(text: str) -> str:
    return f'{{"features":{{"feature":{text}}}}}'


def of(kind: str, value: str) -> str:
    return feature(f'{{"{kind}":{{"value":{value}}}}}')


def contents(message: bytes) -> dict[str, Any]:
    """The kind and the values of each feature; None for a feature without a list."""
    read = af.train.Example.FromString(message).features.feature
    kinds = {name: read[name].WhichOneof("kind") for name in read}
    return {name: kind and (kind, list(getattr(read[name], kind).value)) for name, kind in kinds.items()}


WHOLE: dict[str, list[int]] = {
    '"12"': [12],
    "0": [0],
    "5": [5],
    "-0": [0],
    "null": [],
    "[null]": [0],
    "[1,null,2]": [1, 0, 2],
    '[[1],["2",[]],[null]]': [1, 2, 0],
    "[" * 95 + "7" + "]" * 95: [7],
    "1e15": [10**15],
    "9007199254740992.0": [2**53],
    "-9007199254740992.0": [-(2**53)],
    "9007199254740993": [2**53 + 1],
    "9223372036854775807": [2**63 - 1],
    "-9223372036854775808": [-(2**63)],
    '"+9007199254740993"': [2**53 + 1],
    '"010"': [10],
    '"-0x10"': [-16],
    '"0x1.8p1"': [3],
    '"5."': [5],
    '".5e1"': [5],
    "10e-1": [1],
    '"1e-400"': [0],
    f'"{"0" * 5000}1"': [1],
    r'"\u0031"': [1],
}
NUMBERS: dict[str, list[float]] = {
    '"12"': [12.0],
    "0": [0.0],
    "5": [5.0],
    "-0": [-0.0],
    '"-0"': [-0.0],
    "null": [],
    "[1,null,2]": [1.0, 0.0, 2.0],
    '[[1],"2",[[3]]]': [1.0, 2.0, 3.0],
    "3.4028235e38": [3.4028234663852886e38],
    "3.402823567e38": [3.4028234663852886e38],
    "16777217": [16777216.0],
    "99999999999999999999": [1.0000000200408773e20],
    '"0x10"': [16.0],
    '"0X1P-3"': [0.125],
    '"-0x.8"': [-0.5],
    '"0x1."': [1.0],
    '"0x10e2"': [4322.0],
    '"0x1p-2000"': [0.0],
    '"0x0p99999999999999999999"': [0.0],
    '"1e400"': [math.inf],
    '"-1e400"': [-math.inf],
    '"0x1p2000"': [math.inf],
    '"-0x1p99999999999999999999"': [-math.inf],
    '"nan"': [math.nan],
    '"+NaN(ab_1)"': [math.nan],
    '" iNf "': [math.inf],
    r'"\t1.5\n"': [1.5],
    '"1.e1"': [10.0],
}
STRINGS: dict[str, list[bytes]] = {
    '""': [b""],
    '"YQ=="': [b"a"],
    "null": [],
    '[null,"YQ",["YWI="]]': [b"", b"a", b"ab"],
    '"YR"': [b"a"],
    '"a-b+c/d_"': [b"k\xe6\xfes\xf7\x7f"],
}
READ: list[tuple[str, dict[str, Any]]] = [
    *[(of(INT, value), {"a": (KINDS[INT], answer)}) for value, answer in WHOLE.items()],
    *[(of(FLOAT, value), {"a": (KINDS[FLOAT], answer)}) for value, answer in NUMBERS.items()],
    *[(of(BYTES, value), {"a": (KINDS[BYTES], answer)}) for value, answer in STRINGS.items()],
    ("{}", {}),
    ('{"features":null}', {}),
    ('{"features":{"feature":null}}', {}),
    (features('{"a":null,"b":{}}'), {"a": None, "b": None}),
    (feature('{"int64List":null}'), {"a": None}),
    (feature('{"int64List":{}}'), {"a": ("int64_list", [])}),
    (feature('{"int64List":null,"float_list":{"value":[1]},"floatList":null}'), {"a": ("float_list", [1.0])}),
    (feature('{"int64List":{"value":[1],"value":2,"value":null}}'), {"a": ("int64_list", [1, 2])}),
    (f'{{"features":{{"feature":{{"a":{NONE}}},"feature":{{"a":{ONE}}}}}}}', {"a": ("int64_list", [1])}),
    (
        f'{{"features":{{"feature":{{"a":{ONE}}}}},"features":{{"feature":{{"b":{NONE}}}}}}}',
        {"a": ("int64_list", [1]), "b": None},
    ),
    (features('{"a\n\x01":{}}'), {"a\n\x01": None}),
    (features(r'{"\ud83d\ude00":{}}'), {"😀": None}),
]
REFUSED: list[str | bytes] = [
    *[
        of(INT, value)
        for value in [
            *[
                '{"5":1}',
                "{}",
                "true",
                "[true]",
                "[{}]",
                '""',
                '[""]',
                '" 5"',
                r'"5\n"',
                "1.5",
                '"1.5"',
                "1e16",
                "1e18",
                "[1e18]",
            ],
            *[
                '["1e18"]',
                '"9007199254740994.0"',
                "9223372036854775808",
                '"9223372036854775808"',
                "-9223372036854775809",
            ],
            *['"0x"', '"0x1p54"', '"0x1.8p0"', '"inf"', '"nan(1)"', '"１"', '"1_0"', '"+-5"', "010", "NaN", "1e400"],
            *["1" + "0" * 5000, '"1' + "0" * 5000 + '"', "[" * 96 + "]" * 96],
        ]
    ],
    *[
        of(FLOAT, value)
        for value in [
            *[
                '{"5":1}',
                "{}",
                "true",
                '""',
                '" "',
                "1e39",
                "-1e39",
                '"1e39"',
                "1e400",
                "3.4028236e38",
                "3.4028235677973366e38",
            ],
            *[
                '"0x"',
                '"0x."',
                '"0x10p"',
                '"0x1p128"',
                '"nan("',
                '"nan(-)"',
                '"inf()"',
                '"infinit"',
                '"1 5"',
                r'"1\u00a0"',
                "NaN",
            ],
            *["Infinity", "1" + "0" * 400, '"1ee1"', '"."', '"+-1"'],
        ]
    ],
    *[
        of(BYTES, value)
        for value in [
            *['"YQ="', '"YQ==="', '"YWI=="', '"YWJj="', '"YWJj===="', '"="', '"===="', '"Y"', '"Y==="', '"YQ==YQ=="'],
            *[r'"YQ==\n"', '"Y Q="', '"é"', r'"\ud83d"', "5", "[5]", "true", "{}", '{"YQ==":1}'],
        ]
    ],
    *[
        feature(text)
        for text in ["[]", "5", '""', "false", '{"int64List":[]}', '{"int64List":0}', '{"int64List":""}', '{"x":null}']
    ],
    feature('{"int64List":{"value":[1]},"floatList":{"value":[1]}}'),
    feature('{"int64List":{},"floatList":{}}'),
    feature('{"int64List":{},"int64List":{}}'),
    feature('{"int64List":{"value":[1]},"int64_list":{"value":[2]}}'),
    feature('{"int64List":{"value":[1],"x":null}}'),
    *[
        features(text)
        for text in ["[]", "false", '""', "0", "[{}]", '{"a":{},"a":{}}', '{"a":null,"a":{}}', r'{"a":{},"\u0061":{}}']
    ],
    features(r'{"\ud83d":{}}'),
    *[f'{{"features":{text}}}' for text in ["[]", "false", '""', "0", "[{}]", '{"x":1}']],
    *["", "null", "[]", "0", '{"x":1}', "{}{}", "[" * 100_000, '{"a":' * 100_000, "\ufeff{}"],
    *[features('{"\xff":{}}').encode("latin-1"), "{}".encode("utf-16"), "{}".encode("utf-32-le")],
]


@pytest.mark.parametrize(("text", "answer"), READ, ids=[text[:80] for text, _ in READ])
def test_a_text_gives_the_values_of_tensorflow(text: str, answer: dict[str, Any]) -> None:
    assert repr(contents(example_from_json(text.encode()))) == repr(answer), text[:200]  # by repr: -0.0 and nan


@pytest.mark.parametrize("text", REFUSED, ids=[repr(text[:80]) for text in REFUSED])
def test_what_tensorflow_refuses_is_refused_in_a_sentence(text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(ValueError, match=r"^[A-Zf].*\.$") as caught:
        example_from_json(data)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (of(INT, "[1, true]"), r"The feature \"a\" \(int64List\) can't be read: true is no integer of 64 bits"),
        (of(BYTES, '"YQ="'), r"\"YQ=\" is no base64: it needs 2 signs = at its end, or none"),
        (of(INT, '{"5":1}'), "an object is no integer"),
        (features("[]"), "features.feature is an array, but must be an object"),
        (feature('{"int64List":{},"floatList":{}}'), 'The feature "a" has int64List and floatList'),
        (feature('{"int64_list":{"x":1}}'), r'\(int64_list\) has the key "x"; its keys are value'),
        (features('{"a":{},"a":{}}'), 'The feature "a" is there twice'),
        ("[" * 100_000, "nested too deeply"),
    ],
)
async def test_the_operation_says_where_and_why(text: str, sentence: str) -> None:
    with af.Graph().as_default() as graph:
        message = af.decode_json_example(text)
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.InvalidArgumentError, match=f"Error while parsing JSON.*{sentence}"):
            await session.run(message)


def test_large_numbers_warn_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    for value in ('"1e400"', '"inf"', "3.4028235e38", "1e-400"):
        example_from_json(of(FLOAT, value).encode())
    with pytest.raises(ValueError, match="beyond the numbers of float32"):
        example_from_json(of(FLOAT, "1e39").encode())
    assert not recwarn.list


def test_a_long_text_that_is_no_number_is_refused_in_one_pass() -> None:
    for digits in ("1" * 1_000_000, "0x" + "1" * 1_000_000, "1." + "1" * 1_000_000):
        for kind in (INT, FLOAT):
            with pytest.raises(ValueError, match="is no"):
                example_from_json(of(kind, json.dumps(digits + "z")).encode())


PARTS = [
    "features",
    "feature",
    "a",
    "value",
    *KINDS,
    *KINDS.values(),
    "YQ==",
    "0x1p9999",
    "1e99",
    "nan",
    "\ud83d",
    "",
    "=",
    "é",
]
SCALARS: list[Any] = [None, True, 0, -1, 2**63, 2**64, 1.5, 1e18, 1e300, -0.0, math.nan, math.inf]


def part(random_state: random.Random, depth: int) -> Any:
    """A part of a text that is an Example in places."""
    choice = random_state.random()
    if depth == 0 or choice < 0.3:
        return random_state.choice([*SCALARS, *PARTS])
    size = random_state.randrange(4)
    if choice < 0.5:
        return [part(random_state, depth - 1) for _ in range(size)]
    return {random_state.choice(PARTS): part(random_state, depth - 1) for _ in range(size)}


@pytest.mark.parametrize("seed", range(8))
def test_texts_by_chance_are_read_or_refused_in_a_sentence(seed: int) -> None:
    random_state = random.Random(seed)
    for turn in range(300):
        inner = json.dumps(part(random_state, 3), ensure_ascii=random_state.random() < 0.5)
        kind, wrapping = random_state.choice(list(KINDS)), random_state.randrange(4)
        text = [inner, feature(inner), features(inner), of(kind, inner)][wrapping]
        data = bytearray(text.encode(errors="surrogatepass"))
        for _ in range(random_state.choice([0, 0, 1, 3])):
            place = random_state.randrange(len(data) + 1)
            data[place : place + random_state.randrange(2)] = random_state.choice(
                [b"", b"[", b'"', b"\xff", b"\x00", b"9"]
            )
        try:
            message = example_from_json(bytes(data))
        except ValueError as error:
            assert str(error).endswith("."), (seed, turn, bytes(data))
        except Exception as error:
            raise AssertionError(f"seed {seed}, turn {turn}: {bytes(data)!r} gives {error!r}") from error
        else:
            assert isinstance(contents(message), dict), (seed, turn, bytes(data))


async def test_parsing_reads_what_json_gave() -> None:
    with af.Graph().as_default() as graph:
        message = af.decode_json_example(of(FLOAT, '["0x10",null,[1]]'))
        values = af.parse_single_example(message, {"a": af.FixedLenFeature([3], af.float32)})["a"]
    async with af.Session(graph=graph) as session:
        np.testing.assert_array_equal(await session.run(values), np.array([16, 0, 1], np.float32))
