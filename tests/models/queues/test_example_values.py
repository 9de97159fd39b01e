"""The values of `tf.train.Example`: each list keeps what it is given, or refuses it, at every door by which a value comes in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorflow import train

Door = Callable[[Any, list[Any]], Any]


class Seven:
    def __index__(self) -> int:
        return 7


REFUSED = TypeError
OUT_OF_RANGE = ValueError
VALUES: list[tuple[Any, Any, Any, Any]] = [
    # the value, and what lists of bytes, floats and integers make of it
    (1.5, REFUSED, 1.5, REFUSED),
    (2.0, REFUSED, 2.0, REFUSED),
    (math.inf, REFUSED, math.inf, REFUSED),
    (1e39, REFUSED, math.inf, REFUSED),
    (7, REFUSED, 7.0, 7),
    (True, REFUSED, 1.0, 1),
    (2**63, REFUSED, 2.0**63, OUT_OF_RANGE),
    (-(2**63), REFUSED, -(2.0**63), -(2**63)),
    (-(2**63) - 1, REFUSED, -(2.0**63), OUT_OF_RANGE),
    (10**400, REFUSED, OUT_OF_RANGE, OUT_OF_RANGE),
    (None, REFUSED, REFUSED, REFUSED),
    ("a", REFUSED, REFUSED, REFUSED),
    ("5", REFUSED, REFUSED, REFUSED),
    (b"a", b"a", REFUSED, REFUSED),
    (bytearray(b"a"), REFUSED, REFUSED, REFUSED),
    ([1], REFUSED, REFUSED, REFUSED),
    ({}, REFUSED, REFUSED, REFUSED),
    (1j, REFUSED, REFUSED, REFUSED),
    (Seven(), REFUSED, 7.0, 7),
    (np.int8(-3), REFUSED, -3.0, -3),
    (np.uint64(2**63), REFUSED, 2.0**63, OUT_OF_RANGE),
    (np.float16(1.5), REFUSED, 1.5, REFUSED),
    (np.float64(0.1), REFUSED, float(np.float32(0.1)), REFUSED),
    (np.bool_(True), REFUSED, 1.0, 1),
    (np.bytes_(b"a"), b"a", REFUSED, REFUSED),
    (np.str_("a"), REFUSED, REFUSED, REFUSED),
    (np.complex64(1), REFUSED, REFUSED, REFUSED),
    (np.datetime64(3, "s"), REFUSED, REFUSED, REFUSED),
    (np.array([1, 2]), REFUSED, REFUSED, REFUSED),
]
LISTS = (train.BytesList, train.FloatList, train.Int64List)
START = {train.BytesList: b"z", train.FloatList: 0.5, train.Int64List: 9}


def _argument(kind: Any, start: list[Any], value: Any) -> Any:
    return kind(value=[*start, value])


def _append(kind: Any, start: list[Any], value: Any) -> Any:
    message = kind(value=start)
    message.value.append(value)
    return message


def _extend(kind: Any, start: list[Any], value: Any) -> Any:
    message = kind(value=start)
    message.value.extend([value])
    return message


def _added(kind: Any, start: list[Any], value: Any) -> Any:
    message = kind(value=start)
    message.value += [value]
    return message


def _insert(kind: Any, start: list[Any], value: Any) -> Any:
    message = kind(value=start)
    message.value.insert(1, value)
    return message


def _item(kind: Any, start: list[Any], value: Any) -> Any:
    message = kind(value=[*start, *start])
    message.value[1] = value
    return message


def _slice(kind: Any, start: list[Any], value: Any) -> Any:
    message = kind(value=[*start, *start, *start])
    message.value[1:] = [value]
    return message


def _feature(kind: Any, start: list[Any], value: Any) -> Any:
    field = {train.BytesList: "bytes_list", train.FloatList: "float_list", train.Int64List: "int64_list"}[kind]
    example = train.Example()
    getattr(example.features.feature["x"], field).value.extend([*start, value])
    read = train.Example.FromString(example.SerializeToString())
    return getattr(read.features.feature["x"], field)


DOORS = (_argument, _append, _extend, _added, _insert, _item, _slice, _feature)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__.strip("_"))
@pytest.mark.parametrize("case", VALUES, ids=lambda case: f"{type(case[0]).__name__} {case[0]!r:.20}")
def test_a_list_keeps_a_value_or_refuses_it(case: tuple[Any, ...], door: Any) -> None:
    value, *expectations = case
    for kind, expected in zip(LISTS, expectations):
        start = [START[kind]]
        if isinstance(expected, type):
            with pytest.raises(expected):
                door(kind, start, value)
        else:
            message = door(kind, start, value)
            assert list(message.value) == [*start, expected]
            assert kind.FromString(message.SerializeToString()) == message


@pytest.mark.parametrize("kind", LISTS)
def test_a_refused_value_changes_nothing(kind: Any) -> None:
    message = kind(value=[START[kind]])
    with pytest.raises(TypeError):
        message.value.extend([START[kind], None])
    assert list(message.value) == [START[kind]]


@pytest.mark.parametrize(
    ("kind", "array", "expected"),
    [
        (train.Int64List, np.arange(3, dtype=np.uint8), [0, 1, 2]),
        (train.Int64List, np.array([True, False]), [1, 0]),
        (train.Int64List, np.array([2**63], np.uint64), ValueError),
        (train.Int64List, np.array([1.0, 2.0]), TypeError),
        (train.Int64List, np.zeros((2, 2), np.int64), TypeError),
        (train.FloatList, np.arange(2), [0.0, 1.0]),
        (train.FloatList, np.array([0.1]), [float(np.float32(0.1))]),
        (train.FloatList, np.array(["1"]), TypeError),
        (train.FloatList, np.array([1j]), TypeError),
        (train.BytesList, np.array([b"a", b"bc"]), [b"a", b"bc"]),
        (train.BytesList, np.array([b"a"], object), [b"a"]),
        (train.BytesList, np.array(["a"]), TypeError),
    ],
)
def test_arrays_are_kept_as_their_values(kind: Any, array: Any, expected: Any) -> None:
    if isinstance(expected, type):
        with pytest.raises(expected):
            kind(value=array)
    else:
        assert kind(value=array).value == expected


WRONG_PARTS: dict[str, tuple[type, Callable[[], Any]]] = {
    "another list": (TypeError, lambda: train.Feature(int64_list=train.FloatList(value=[1.0]))),
    "a plain list": (TypeError, lambda: train.Feature(int64_list=[1])),
    "two lists": (ValueError, lambda: train.Feature(int64_list=train.Int64List(), bytes_list=train.BytesList())),
    "a list for a feature": (TypeError, lambda: train.Features(feature={"a": train.Int64List(value=[1])})),
    "a number for a name": (TypeError, lambda: train.Features(feature={1: train.Feature()})),
    "features of a dict": (AttributeError, lambda: train.Example(features={"a": train.Feature()})),
    "a feature for features": (TypeError, lambda: train.Example(features=train.Feature())),
    "a list among features": (TypeError, lambda: train.FeatureList(feature=[train.Int64List()])),
    "a feature for a feature list": (TypeError, lambda: train.FeatureLists(feature_list={"a": train.Feature()})),
    "an example for a context": (TypeError, lambda: train.SequenceExample(context=train.Example())),
    "a wrong name": (AttributeError, lambda: train.Int64List(values=[1])),
    "text for a list": (TypeError, lambda: train.BytesList(value="text")),
    "set later": (TypeError, lambda: train.Features().feature.__setitem__("a", train.Int64List())),
}


@pytest.mark.parametrize("case", WRONG_PARTS)
def test_a_part_of_another_kind_is_refused(case: str) -> None:
    error, build = WRONG_PARTS[case]
    with pytest.raises(error):
        build()


def test_the_list_that_was_changed_last_is_the_features() -> None:
    feature = train.Feature(int64_list=train.Int64List(value=[1]))
    feature.float_list.value.append(2.0)
    assert feature.WhichOneof("kind") == "float_list" and list(feature.int64_list.value) == []
    assert train.Feature.FromString(feature.SerializeToString()).float_list.value == [2.0]


def test_a_message_is_copied_into_another() -> None:
    numbers = train.Int64List(value=[1])
    feature = train.Feature(int64_list=numbers)
    features = train.Features(feature={"a": feature})
    numbers.value.append(2)
    feature.int64_list.value.append(3)
    assert list(features.feature["a"].int64_list.value) == [1]


def test_the_text_of_an_example() -> None:
    feature = train.Feature(float_list=train.FloatList(value=[0.1, 1.0, 1e20]))
    assert str(feature) == "float_list {\n  value: 0.1\n  value: 1\n  value: 1e+20\n}\n"
