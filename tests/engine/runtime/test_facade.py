"""Blocking facades have each coroutine method of their asynchronous class: its parameters, and its words without examples."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import actorflow as af

FACADES: dict[type, tuple[type, set[str]]] = {
    af.blocking.Session: (af.Session, set()),
    af.blocking.LocalCluster: (af.LocalCluster, {"aclose"}),  # `close` does that
    # `steps` gives the attempts, and `run` guards itself
    af.blocking.Supervisor: (af.Supervisor, {"attempt", "next_attempt", "guarded", "is_loss"}),
    af.blocking.Estimator: (af.estimator.Estimator, set()),
}


def coroutine_methods(kind: type) -> dict[str, Any]:
    return {
        name: member
        for name, member in inspect.getmembers(kind, callable)
        if not name.startswith("_") and inspect.iscoroutinefunction(inspect.unwrap(member))
    }


@pytest.mark.parametrize("facade", FACADES)
def test_a_facade_has_each_method_that_is_awaited(facade: type) -> None:
    asynchronous, left_out = FACADES[facade]
    for name, method in coroutine_methods(asynchronous).items():
        if name in left_out:
            continue
        blocking = getattr(facade, name)
        assert not inspect.iscoroutinefunction(blocking)
        wanted, has = (inspect.signature(each).parameters.values() for each in (method, blocking))
        assert [(p.name, p.kind, p.default) for p in has] == [(p.name, p.kind, p.default) for p in wanted], name


def test_a_method_has_the_words_of_its_model_without_the_example() -> None:
    model, method = inspect.getdoc(af.Session.partial_run), inspect.getdoc(af.blocking.Session.partial_run)
    assert model is not None and method is not None
    assert "await" in model and "await" not in method
    assert method.endswith("See `Session.partial_run`.")
    for section in ("Args:", "Raises:"):
        assert model.partition(section)[2] in method


def test_help_shows_the_parameters() -> None:
    assert list(inspect.signature(af.blocking.LocalCluster.restart).parameters) == ["self", "task", "epoch"]
    assert list(inspect.signature(af.blocking.Session).parameters)[:2] == ["target", "graph"]


@pytest.mark.parametrize("method", [af.blocking.Estimator.export_saved_model, af.blocking.Session.warmup])
def test_a_blocking_method_is_no_coroutine_function_however_it_is_asked(method: Any) -> None:
    """Wrappers look below decorators, as `functools.wraps` leaves them."""
    assert not inspect.iscoroutinefunction(method) and not inspect.iscoroutinefunction(inspect.unwrap(method))
