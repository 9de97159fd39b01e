"""Threads that do something again and again until their coordinator stops."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from patience import PATIENCE

import actorflow as af


def test_a_looper_calls_until_the_coordinator_stops() -> None:
    coord, calls, third = af.train.Coordinator(), [], threading.Event()

    def call(*args: Any, **kwargs: Any) -> None:
        calls.append((args, kwargs))
        if len(calls) == 3:
            third.set()

    looper = af.train.LooperThread.loop(coord, None, target=call, args=(1,), kwargs={"b": 2})
    assert looper.daemon and third.wait(PATIENCE)
    coord.request_stop()
    coord.join(stop_grace_period_secs=PATIENCE)
    assert not looper.is_alive() and set(map(repr, calls)) == {repr(((1,), {"b": 2}))}


def test_a_stop_ends_the_pause() -> None:
    coord, called = af.train.Coordinator(), threading.Event()
    looper = af.train.LooperThread.loop(coord, 3600, target=called.set)
    assert called.wait(PATIENCE), "the first call comes at once"
    coord.request_stop()
    coord.join([looper], stop_grace_period_secs=PATIENCE)


def test_an_error_stops_all_and_is_raised_where_they_are_joined() -> None:
    coord = af.train.Coordinator()

    def fail() -> None:
        raise KeyError("broken")

    af.train.LooperThread.loop(coord, 60, target=fail)
    with pytest.raises(KeyError, match="broken"):
        coord.join(stop_grace_period_secs=PATIENCE)


def test_a_subclass_begins_and_ends() -> None:
    coord, told = af.train.Coordinator(), []

    class Three(af.train.LooperThread):
        def start_loop(self) -> None:
            told.append("start")

        def run_loop(self) -> None:
            told.append("run")
            if len(told) == 4:
                self._coord.request_stop()

        def stop_loop(self) -> None:
            told.append("stop")

    Three(coord, 0).start()
    coord.join(stop_grace_period_secs=PATIENCE)
    assert told == ["start", "run", "run", "run", "stop"]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a Coordinator"):
        af.train.LooperThread(None, 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="require that you also pass 'target'"):
        af.train.LooperThread(af.train.Coordinator(), 1, args=(1,))
