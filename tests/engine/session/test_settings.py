"""The ten arguments of a session, three of which are records; and the errors about fields that are passed as arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

import actorflow as af
import actorflow.compat.v1 as tf

KINDS: tuple[Callable[..., Any], ...] = (af.Session, af.blocking.Session, tf.Session, tf.InteractiveSession)
RECORDS = {"options": af.PlanOptions, "limits": af.SessionLimits, "values": af.ValueOptions}
FIELDS = [(argument, field.name) for argument, record in RECORDS.items() for field in fields(record)]


@pytest.mark.parametrize("kind", [af.Session, af.blocking.Session], ids=["async", "blocking"])
def test_a_session_takes_at_most_ten_arguments(kind: Callable[..., Any]) -> None:
    parameters = inspect.signature(kind).parameters
    assert len(parameters) <= 10
    assert set(RECORDS) <= set(parameters)


def test_both_kinds_take_the_same() -> None:
    asynchronous, blocking = (inspect.signature(kind).parameters for kind in (af.Session, af.blocking.Session))
    assert asynchronous == blocking


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__}.{kind.__qualname__}")
@pytest.mark.parametrize(("argument", "field"), FIELDS, ids=lambda value: str(value))
def test_a_field_passed_as_an_argument_is_an_error_that_names_its_record(
    kind: Callable[..., Any], argument: str, field: str
) -> None:
    record = RECORDS[argument].__name__
    with pytest.raises(TypeError) as caught:
        kind(**{field: 1}, graph=af.Graph())
    assert f"no argument {field}" in str(caught.value)
    assert f"{argument}=af.{record}({field}=...)" in str(caught.value)


def test_several_fields_are_named_by_record() -> None:
    with pytest.raises(TypeError) as caught:
        af.Session(coalesce=False, jit=False, threads=1)  # type: ignore[call-arg]
    expected = "Session(options=af.PlanOptions(coalesce=..., jit=...), limits=af.SessionLimits(threads=...))"
    assert expected in str(caught.value)


def test_an_argument_of_no_record_is_pythons_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'deterministic'"):
        af.Session(deterministic=True)  # type: ignore[call-arg]


@pytest.mark.parametrize("record", RECORDS.values(), ids=lambda record: record.__name__)
def test_records_are_values(record: type[Any]) -> None:
    assert record() == record()
    assert hash(record()) == hash(record())
    with pytest.raises(FrozenInstanceError):
        setattr(record(), fields(record)[0].name, None)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"threads": 0}, "a kernel takes one thread or more"),
        ({"max_inflight_steps": 0}, "1 or more"),
        ({"max_queued_steps": -1}, "0 or more"),
        ({"max_waiting_steps": -1}, "0 or more"),
    ],
    ids=str,
)
def test_a_limit_that_is_too_small_is_refused(limit: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        af.SessionLimits(**limit)


@pytest.mark.parametrize(
    ("options", "folds", "fuses", "coalesces"),
    [
        (af.PlanOptions(), True, True, True),
        (af.PlanOptions(optimize=False), False, False, True),
        (af.PlanOptions(fuse=False), True, False, True),
        (af.PlanOptions(coalesce=False), True, True, False),
        (af.PlanOptions(check_numerics=True), False, False, False),
    ],
    ids=str,
)
def test_what_the_switches_mean_together(options: af.PlanOptions, folds: bool, fuses: bool, coalesces: bool) -> None:
    assert (options.folds, options.fuses, options.coalesces) == (folds, fuses, coalesces)
