"""Feeds of TensorFlow's programs: what numpy converts without a loss is taken, whatever its type; the rest is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "int64"]
FLOATS = ["float16", "float32", "float64"]

EXACT: list[tuple[Any, list[str]]] = [
    (np.array([0.0, 2.0]), [*INTEGERS, *FLOATS]),
    (np.array([0.0, 2.0], np.float32), INTEGERS),
    ([1.0, 2.0], INTEGERS),
    (np.array([0, 1]), ["bool", *FLOATS]),
    (np.array([0.0, 1.0]), ["bool"]),
    (np.array([1, 2], object), [*INTEGERS, *FLOATS]),
    (np.array([1, 2.0], object), [*INTEGERS, *FLOATS]),
    (np.array([Decimal(1), Decimal(2)], object), [*INTEGERS, *FLOATS]),
    (np.array([True, False], object), ["bool", *INTEGERS, *FLOATS]),
    (np.array([np.float32(3.0), 4], object), [*INTEGERS, *FLOATS]),
    (np.array(["1", "2"]), [*INTEGERS, *FLOATS]),
    (np.array([b"1", b"2"]), [*INTEGERS, *FLOATS]),
    (np.array(["1", 2], object), [*INTEGERS, *FLOATS]),
    (["0.5", "1.5"], FLOATS),
    (np.array([1 + 0j, 2 + 0j]), [*INTEGERS, *FLOATS]),
    ([], [*INTEGERS, *FLOATS, "bool"]),
    (np.array([9007199254740993], object), ["int64"]),
]

LOSSY: list[tuple[Any, list[str]]] = [
    (np.array([0.5, 2.0]), INTEGERS),
    (np.array([np.nan, 1.0]), [*INTEGERS, "bool"]),
    (np.array([np.inf]), INTEGERS),
    (np.array([1e30]), INTEGERS),
    (np.array([2.0**63]), ["int64"]),
    (np.array([-1.0]), ["uint8", "uint16"]),
    (np.array([300.0]), ["int8", "uint8"]),
    (np.array([300], object), ["int8", "uint8"]),
    (np.array([0, 2]), ["bool"]),
    (np.array([1, None], object), [*INTEGERS, *FLOATS]),
    (np.array(["one"]), [*INTEGERS, *FLOATS, "bool"]),
    (np.array(["1.5"]), INTEGERS),
    (np.array([1 + 2j]), [*INTEGERS, *FLOATS]),
    (np.array([{}], object), [*INTEGERS, *FLOATS]),
]


def cases(rows: list[tuple[Any, list[str]]]) -> list[Any]:
    return [pytest.param(value, dtype, id=f"{dtype}-{value!r}") for value, types in rows for dtype in types]


@pytest.mark.parametrize(("value", "dtype"), cases(EXACT))
def test_what_converts_exactly_is_taken(value: Any, dtype: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        place = tf.placeholder(dtype, [None])
        fetched = session.run(tf.identity(place), {place: value})
        assert fetched.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(fetched, [np.dtype(dtype).type(getattr(item, "real", item)) for item in value])


@pytest.mark.parametrize(("value", "dtype"), cases(LOSSY))
def test_what_would_lose_something_is_refused(value: Any, dtype: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(errors.FeedError, match="does not fit"):
        place = tf.placeholder(dtype, [None])
        session.run(tf.identity(place), {place: value})


@pytest.mark.parametrize("value", [1, 0, 1.0, np.int32(1), np.float64(0.0), "1", np.array(1), np.array(1, object)])
def test_a_flag_may_be_a_number(value: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        flag = tf.placeholder(tf.bool, [])
        assert session.run(tf.identity(flag), {flag: value}) == bool(int(value))


def test_every_way_to_feed_converts() -> None:
    value = np.array([1.0, 2.0])
    with tf.Graph().as_default():
        place = tf.placeholder(tf.int32, [None])
        doubled = place * 2
        with tf.Session() as session:
            handle = session.partial_run_setup([doubled], [place])
            ways = [
                session.run(doubled, {place: value}),
                doubled.eval({place: value}),
                session.make_callable(doubled, [place])(value),
                session.partial_run(handle, doubled, {place: value}),
            ]
        with tf.train.MonitoredSession() as session:
            ways.append(session.run(doubled, {place: value}))
    for fetched in ways:
        np.testing.assert_array_equal(fetched, [2, 4])


@pytest.mark.parametrize("value", [np.array([1.0]), np.array([1], object), ["1"]])
def test_other_sessions_convert_nothing_unless_asked(value: Any) -> None:
    with af.Graph().as_default() as graph:
        place = af.placeholder(af.int32, [None])
        y = af.identity(place)
    with af.blocking.Session(graph=graph) as session, pytest.raises(errors.FeedError):
        session.run(y, {place: value})
    with af.blocking.Session(graph=graph, values=af.ValueOptions(exact_feeds=True)) as session:
        assert session.run(y, {place: value}).tolist() == [1]
